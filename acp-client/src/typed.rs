//! What a person types into a command may be a password: it goes to the agent and nowhere else.

use crate::frame::{Frame, Kind};

const TERMINAL_INPUT: &str = "_placard/terminal_input";

/// The line of a page's frame as the spool keeps it and every page sees it: `data` that was typed is an empty string.
pub(crate) fn without_typed(frame: &Frame, line: String) -> String {
    let (Kind::Request { method, .. } | Kind::Notification { method }) = frame.kind() else {
        return line;
    };
    if method != TERMINAL_INPUT {
        return line;
    }
    let Some(sent) = Frame::parse(&line) else {
        return line;
    };
    let params = sent
        .get("params")
        .and_then(|params| Frame::parse(params.get()))
        .map(|params| params.with("data", r#""""#).to_line());
    // Params of another shape hold what nobody knows.
    sent.with("params", params.as_deref().unwrap_or("null"))
        .to_line()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_what_is_typed_is_left_out() {
        let kept = |line: &str| without_typed(&Frame::parse(line).unwrap(), line.to_owned());
        let table = [
            (
                r#"{"id":1,"method":"_placard/terminal_input","params":{"sessionId":"s","data":"hunter2\r"}}"#,
                r#"{"id":1,"method":"_placard/terminal_input","params":{"sessionId":"s","data":""}}"#,
            ),
            (
                r#"{"id":1,"method":"_placard/terminal_input","params":["hunter2"]}"#,
                r#"{"id":1,"method":"_placard/terminal_input","params":null}"#,
            ),
            (
                r#"{"method":"_placard/terminal_input","params":{"data":{"x":"hunter2"},"eof":true}}"#,
                r#"{"method":"_placard/terminal_input","params":{"data":"","eof":true}}"#,
            ),
            (
                r#"{"id":1,"method":"session/prompt","params":{"data":"kept"}}"#,
                r#"{"id":1,"method":"session/prompt","params":{"data":"kept"}}"#,
            ),
        ];
        for (line, expected) in table {
            assert_eq!(kept(line), expected);
        }
    }
}
