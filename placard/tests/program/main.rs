//! The program as a person meets it.

// The lints know only test functions as tests, not what serves them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod doctor;
mod home;
mod interrupt;
mod person;
mod resume;
mod sessions;
mod sessions_faults;
mod words;
