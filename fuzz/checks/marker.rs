//! Whatever a command printed: its exit marker is read back as it was written, and the output with it.

use agent_core::shell::exit::Exit;
use agent_core::tool::exit_marker::{ExitMarker, MarkedCause, MarkedEnd, append, parse};

/// Appends a marker that `choice` makes up to `body` and panics unless both are read back.
pub fn what_was_appended_is_parsed(body: &str, choice: [u8; 6]) {
    let marker = made_up(choice);
    let content = append(body, &marker);
    assert_eq!(parse(&content), Some((body, marker)));
    // Whatever is read is what would be written.
    if let Some((output, marker)) = parse(body) {
        let again = append(output, &marker);
        assert!(again == body || body == format!("\n{again}"));
    }
}

fn made_up([kind, exit, code, cause, left, flags]: [u8; 6]) -> ExitMarker {
    match kind % 8 {
        0 => return ExitMarker::NotRun,
        1 => {
            return ExitMarker::Running {
                waiting: flags % 2 == 0,
            };
        }
        _ => {}
    }
    ExitMarker::Ended(MarkedEnd {
        cause: match cause % 4 {
            0 => MarkedCause::Itself,
            1 => MarkedCause::Cancelled,
            2 => MarkedCause::Stopped,
            _ => MarkedCause::TimedOut(u64::from(cause)),
        },
        exit: match exit % 3 {
            0 => Exit::from_numbers(Some(i32::from(code)), None),
            1 => Exit::from_numbers(None, Some(i32::from(code % 64) + 1)),
            _ => Exit::Unknown,
        },
        was_waiting: flags & 1 > 0,
        left_running: usize::from(left),
        output_cut: flags & 2 > 0,
    })
}
