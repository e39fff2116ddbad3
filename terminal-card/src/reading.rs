//! Reading the fields of an update without trusting them to be there, or to be what they should.

use serde_json::Value;

use crate::TerminalExit;
use crate::card::CardStatus;
use crate::console::console_text;

/// A member under its proper name or, as some agents write it, in camelCase.
pub(crate) fn member<'v>(fields: &'v Value, snake: &str, camel: &str) -> Option<&'v Value> {
    fields.get(snake).or_else(|| fields.get(camel))
}

fn text_of<'v>(fields: &'v Value, key: &str) -> Option<&'v str> {
    fields
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// What one `tool_call` or `tool_call_update` says. A field that is absent, null or malformed says nothing.
#[derive(Debug)]
pub(crate) struct CallUpdate<'v> {
    pub(crate) tool_call_id: &'v str,
    pub(crate) title: Option<&'v str>,
    pub(crate) kind: Option<&'v str>,
    pub(crate) status: Option<CardStatus>,
    pub(crate) command: Option<String>,
    pub(crate) cwd: Option<&'v str>,
    pub(crate) content: Option<Content<'v>>,
    pub(crate) result: Option<CallResult>,
    pub(crate) info: Option<TerminalInfo<'v>>,
    pub(crate) output: Option<TerminalOutput<'v>>,
    pub(crate) exit: Option<(Option<&'v str>, TerminalExit)>,
}

/// A call's content collection, which replaces the one before.
#[derive(Debug)]
pub(crate) struct Content<'v> {
    pub(crate) terminals: Vec<&'v str>,
    /// What of it is a command's output; none where its texts are addressed to somebody.
    pub(crate) text: Option<String>,
}

/// A call's `rawOutput`.
#[derive(Debug)]
pub(crate) struct CallResult {
    pub(crate) text: Option<String>,
    pub(crate) exit_code: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct TerminalInfo<'v> {
    pub(crate) terminal_id: Option<&'v str>,
    pub(crate) cwd: Option<&'v str>,
}

#[derive(Debug)]
pub(crate) struct TerminalOutput<'v> {
    pub(crate) terminal_id: Option<&'v str>,
    pub(crate) data: &'v str,
}

impl<'v> CallUpdate<'v> {
    /// Reads an update; none without the id of a call, which says nothing about any card.
    pub(crate) fn read(update: &'v Value) -> Option<Self> {
        let meta = update.get("_meta").unwrap_or(&Value::Null);
        let input = update.get("rawInput").unwrap_or(&Value::Null);
        let terminal_exit = meta.get("terminal_exit").filter(|exit| exit.is_object());
        Some(Self {
            tool_call_id: text_of(update, "toolCallId")?,
            title: text_of(update, "title"),
            kind: text_of(update, "kind"),
            status: text_of(update, "status").and_then(CardStatus::read),
            command: input
                .get("command")
                .and_then(command_line)
                .or_else(|| input.get("cmd").and_then(command_line)),
            cwd: text_of(input, "cwd"),
            content: update
                .get("content")
                .and_then(Value::as_array)
                .map(|blocks| read_content(blocks)),
            result: update
                .get("rawOutput")
                .filter(|output| !output.is_null())
                .map(read_result),
            info: meta
                .get("terminal_info")
                .filter(|info| info.is_object())
                .map(|info| TerminalInfo {
                    terminal_id: terminal_id(info),
                    cwd: text_of(info, "cwd"),
                }),
            output: read_output(meta),
            exit: terminal_exit.map(|exit| (terminal_id(exit), TerminalExit::read(exit))),
        })
    }
}

fn terminal_id(fields: &Value) -> Option<&str> {
    member(fields, "terminal_id", "terminalId")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty())
}

/// Where an update has both keys the delta counts, or the text would be doubled.
fn read_output(meta: &Value) -> Option<TerminalOutput<'_>> {
    ["terminal_output_delta", "terminal_output"]
        .iter()
        .find_map(|key| {
            let fields = meta.get(key)?;
            let data = fields.get("data")?.as_str()?;
            Some(TerminalOutput {
                terminal_id: terminal_id(fields),
                data,
            })
        })
}

/// A command as a line: a string as it is; of an array that calls a shell for a script the script, else its words.
fn command_line(command: &Value) -> Option<String> {
    let line = match command {
        Value::String(line) => line.clone(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words[..] {
                [_, "-c" | "-lc", script] => script.to_owned(),
                _ => words.join(" "),
            }
        }
        _ => return None,
    };
    (!line.is_empty()).then_some(line)
}

/// A content collection. A `console` block is output, and then nothing else in it is. Prose beside a terminal describes the command;
/// where there is neither, agents without cards put the output itself.
fn read_content(blocks: &[Value]) -> Content<'_> {
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    let terminals: Vec<&str> = blocks
        .iter()
        .filter(|block| is(block, "terminal"))
        .filter_map(terminal_id)
        .collect();
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| is(block, "content"))
        .filter_map(|block| block.get("content").filter(|content| is(content, "text")))
        .filter_map(|content| text_of(content, "text"))
        .collect();
    let console: Vec<&str> = texts.iter().copied().filter_map(console_text).collect();
    let text = if !console.is_empty() {
        console.join("\n")
    } else if terminals.is_empty() {
        texts.join("\n")
    } else {
        String::new()
    };
    Content {
        terminals,
        text: Some(text),
    }
}

fn read_result(output: &Value) -> CallResult {
    let exit_code = member(output, "exit_code", "exitCode")
        .or_else(|| output.pointer("/metadata/exit"))
        .and_then(Value::as_i64);
    CallResult {
        text: result_text(output),
        exit_code,
    }
}

fn result_text(output: &Value) -> Option<String> {
    if let Some(text) = output.as_str() {
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let whole = ["formatted_output", "aggregated_output", "output"]
        .iter()
        .find_map(|key| text_of(output, key));
    if let Some(text) = whole {
        return Some(text.to_owned());
    }
    let content = match output.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| text_of(block, "text"))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    };
    if !content.is_empty() {
        return Some(content);
    }
    let streams = [text_of(output, "stdout"), text_of(output, "stderr")];
    let both: String = streams.into_iter().flatten().collect();
    (!both.is_empty()).then_some(both)
}
