//! What differs between systems: one file for each, with the same functions. Everything else of this crate is the same wherever
//! there are pseudo-terminals and signals.
//!
//! What each system lacks is listed in `docs/platforms.md`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub(crate) use macos::*;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod windows;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) use windows::*;

/// What a look at a terminal found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Look {
    /// A process in the foreground waits for input.
    pub(crate) reading: bool,
    /// The terminal hands out lines, so a control character can end the input.
    pub(crate) by_line: bool,
}
