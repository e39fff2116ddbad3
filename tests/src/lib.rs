//! What the black-box tests share: where the real binaries are, a home of its own for each test, programs that end
//! with their test, and the real window on a display of its own.
//!
//! A test starts with a [`Home`]: temporary folders, and the environment that points a program at them. Everything
//! started with that environment can be found again by it, however deep its descendants are, so a test can ask
//! [`Home::left_running`] whether anything outlived its program, and whatever did is ended with the home.
//!
//! ```no_run
//! # async fn test() {
//! use placard_tests::{Home, Program, SOON, binary};
//!
//! let home = Home::new();
//! let mut agent = Program::start(&home, &binary("placard"), &["acp"]);
//! agent.send_line(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#).await;
//! let answer = agent.next_line(SOON).await;
//! agent.close_stdin();
//! agent.ended(SOON).await;
//! home.quiet(SOON).await;
//! # }
//! ```
//!
//! The binaries are those of the folder that the test itself was built into; `make test` builds them first.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test harness reports a fault by failing its test: every function here panics when the system under test does not do its part"
)]

mod binaries;
mod desktop;
mod display;
mod home;
mod patience;
mod processes;
mod program;

pub use binaries::{binary, repository, screenshots};
pub use desktop::{Desktop, ENTER, ESCAPE};
pub use home::Home;
pub use patience::{SOON, eventually, until};
pub use processes::Process;
pub use program::Program;
