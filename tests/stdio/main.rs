//! The headless agent as a black box: the real `placard acp` over real pipes, spoken to as an editor does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it as its body does"
)]

mod cancel;
mod cards;
mod editor;
mod extensions;
mod faults;
mod idle;
mod models;
mod permission;
mod slow_reader;
mod store;
