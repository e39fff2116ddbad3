//! The headless agent as a black box: the real `placard acp` over real pipes, spoken to as an editor does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it as its body does"
)]

mod cancel;
mod cards;
mod classified;
mod closed_once;
mod command;
mod editor;
mod ending;
mod extensions;
mod fallback;
mod faults;
mod field_output;
mod field_pagers;
mod field_processes;
mod fifty;
mod idle;
mod images;
mod isolation;
mod left_out;
mod listing;
mod long_past;
mod models;
mod opening;
mod permission;
mod replayed;
mod scripted;
mod seen;
mod slow_reader;
mod store;
