//! Reads `tauri.conf.json`, which lies at the repository's root, and the permission files beside this one.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let attributes = tauri_build::Attributes::new().config_path("../tauri.conf.json");
    tauri_build::try_build(attributes).map_err(|fault| format!("{fault:#}").into())
}
