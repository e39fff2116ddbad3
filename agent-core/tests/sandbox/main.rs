//! Real commands in real sandboxes: what they can still do, and what they cannot, on the kernel that runs the tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it as its body does"
)]

mod exits;
mod files;
mod network;
mod room;
mod swaps;
mod tools;
