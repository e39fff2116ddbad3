//! A language model that says what a script tells it to.
//!
//! ```no_run
//! use inspector::{Answer, ModelServer, Script};
//!
//! # async fn example() -> std::io::Result<()> {
//! let server = ModelServer::start(
//!     Script::new()
//!         .then(Answer::new().text(["I look ", "around."]).call("call_1", "bash", [r#"{"comm"#, r#"and":"ls"}"#]))
//!         .then(Answer::new().text(["There is one file."])),
//! )?;
//! println!("OPENAI_BASE_URL={}", server.openai_base_url());
//! # Ok(())
//! # }
//! ```
//!
//! One request takes one [`Step`]. The same script serves `OpenAI`'s chat completions (`/v1/chat/completions`) and
//! Anthropic's messages (`/v1/messages`), streamed or whole. A request that a strict provider would refuse is refused
//! with the reason (`strict`), takes no step, and is recorded like the others.

mod anthropic;
mod gate;
mod openai;
mod request;
mod script;
mod server;
mod strict;

pub use gate::Gate;
pub use request::RecordedRequest;
pub use script::{Answer, Failure, Finish, Script, Step};
pub use server::ModelServer;
