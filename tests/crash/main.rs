//! What a crash leaves of sessions: the real program is killed at its operations on files, power is cut in the traces of these,
//! and operations fail. README.md says how to read a failing point and how to run it again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it as its body does"
)]

mod balance;
mod client;
mod conversation;
mod disk;
mod kills;
mod library;
mod parallel;
mod power;
mod repairs;
mod store;
mod survey;
mod told;
mod trace;
mod undisturbed;
