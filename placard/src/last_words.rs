//! What is told on stderr when everything else is over, or has not begun.

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

/// A reader that takes nothing is not waited for any longer: no signal would be heard meanwhile.
const LIMIT: Duration = Duration::from_secs(1);

/// Tells it on stderr, whoever reads that or not.
pub(crate) fn tell(words: &impl Display) {
    let line = format!("placard: {words}\n");
    let (done, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = std::io::stderr().write_all(line.as_bytes());
        let _ = done.send(());
    });
    let _ = told.recv_timeout(LIMIT);
}
