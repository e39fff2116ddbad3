//! The reference client's workshop.
//!
//! Today it holds one piece: [`model_server`], a language model that says what a script tells it to. It speaks the two
//! wire formats that matter, over real HTTP on the loopback interface, and it is as strict about requests as providers
//! are, so that whatever talks to models is tested with its own provider code and not with a stand-in for it.

pub mod model_server;

pub use model_server::{Answer, Failure, Finish, Gate, ModelServer, RecordedRequest, Script, Step};
