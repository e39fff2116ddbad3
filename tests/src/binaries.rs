//! Where the real programs, the repository and the screenshots' folder are.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the build profile that this test was built into, as `target/debug`.
fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the test knows its own path");
    // target/debug/deps/window-0123456789abcdef
    let folder = test
        .parent()
        .and_then(Path::parent)
        .expect("a test lies two folders deep");
    folder.to_owned()
}

/// The path of a program of ours: `placard` or `placard-desktop`.
///
/// # Panics
/// When it was not built: Cargo does not build the binaries of other packages for a test.
pub fn binary(name: &str) -> PathBuf {
    let path = profile_folder().join(name);
    assert!(
        path.is_file(),
        "{} is missing. Build the programs first: `make build`, or `make test` for everything",
        path.display()
    );
    path
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the repository")
        .to_owned()
}

/// `target/screenshots`, made where it is missing.
pub fn screenshots() -> PathBuf {
    let folder = profile_folder()
        .parent()
        .expect("a profile lies in the target folder")
        .join("screenshots");
    fs::create_dir_all(&folder)
        .unwrap_or_else(|fault| panic!("cannot make {}: {fault}", folder.display()));
    folder
}
