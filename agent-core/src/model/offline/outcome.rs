//! What came of a command, as its result tells.

use crate::model::ToolResultMessage;

/// What came of a command, in a few plain words.
pub(super) fn outcome(result: &ToolResultMessage) -> String {
    match marker(&result.content) {
        Some(words) => words,
        None if result.is_error => "failed".to_owned(),
        None => "done".to_owned(),
    }
}

/// What the marker at the end of a result says.
fn marker(content: &str) -> Option<String> {
    let last = content.trim_end().lines().next_back()?;
    let inner = last.strip_prefix('[')?.strip_suffix(']')?;
    Some(match inner {
        "exit 0" => "ok".to_owned(),
        other => other.to_owned(),
    })
}
