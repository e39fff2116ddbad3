//! `--json`: the wire, line by line, for programs and for records.

use std::time::{Duration, Instant};

use acp_client::{WireSide, WireTap};

use super::printer::Printer;

/// A tap that prints every line of the wire with its time, from now on, and its direction.
pub(crate) fn printing_tap(printer: Printer) -> WireTap {
    let start = Instant::now();
    WireTap::new(move |side, raw| printer.print(&line(start.elapsed(), side, raw)))
}

fn line(since_start: Duration, side: WireSide, raw: &str) -> String {
    let dir = match side {
        WireSide::ToAgent => "c2a",
        WireSide::FromAgent => "a2c",
        WireSide::Stderr => "stderr",
        WireSide::Note => "note",
    };
    let raw = serde_json::Value::from(raw);
    format!(
        "{{\"t\": {:.4}, \"dir\": \"{dir}\", \"raw\": {raw}}}\n",
        since_start.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_line_has_time_direction_and_the_exact_text() {
        assert_eq!(
            line(
                Duration::from_micros(1_234_567),
                WireSide::FromAgent,
                "{\"a\": \"é\\n\"}"
            ),
            "{\"t\": 1.2346, \"dir\": \"a2c\", \"raw\": \"{\\\"a\\\": \\\"é\\\\n\\\"}\"}\n"
        );
        assert_eq!(
            line(Duration::ZERO, WireSide::Note, "x"),
            "{\"t\": 0.0000, \"dir\": \"note\", \"raw\": \"x\"}\n"
        );
    }
}
