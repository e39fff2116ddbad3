//! Windows and every other system: nothing yet.
//!
//! A port needs a pseudo-console (ConPTY), a job object in place of the supervisor's adoption (it ends everything in it when its last handle is
//! closed, which is what rule W7 and field reports F13 and F17 ask for), and a sandbox (a restricted token or AppContainer). The rest of
//! this crate asks for the functions that `linux.rs` has.

compile_error!("Placard runs on Linux; docs/platforms.md says what a port to this system needs");
