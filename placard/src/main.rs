//! placard
fn main() {}
