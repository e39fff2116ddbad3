//! Builds the program again when the page that it embeds was built again.

fn main() {
    // While ui/dist does not exist, cargo takes it as changed at every build: so it is found once it is there.
    println!("cargo::rerun-if-changed=../ui/dist");
    println!("cargo::rerun-if-changed=build.rs");
}
