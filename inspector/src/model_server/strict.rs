//! What strict providers refuse, and with which reason.
//!
//! The rules are those that providers document or enforce: each tool call is followed by its result, roles take turns,
//! a tool is described by its documented fields and nothing else. Where providers differ the stricter one counts.

mod anthropic;
mod openai;

use serde_json::{Map, Value};

pub(super) use anthropic::check as anthropic;
pub(super) use openai::check as openai;

/// Why a request is refused.
type Refusal = String;

fn object<'v>(value: &'v Value, place: &str) -> Result<&'v Map<String, Value>, Refusal> {
    value
        .as_object()
        .ok_or_else(|| format!("{place}: an object is expected"))
}

fn array<'v>(value: Option<&'v Value>, place: &str) -> Result<&'v Vec<Value>, Refusal> {
    value
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty())
        .ok_or_else(|| format!("{place}: a list that is not empty is expected"))
}

fn text<'v>(value: Option<&'v Value>, place: &str) -> Result<&'v str, Refusal> {
    value
        .and_then(Value::as_str)
        .filter(|text| !text.trim().is_empty())
        .ok_or_else(|| format!("{place}: a text that is not empty is expected"))
}

/// Refuses fields that are not among the `known` ones.
fn known_fields(map: &Map<String, Value>, known: &[&str], place: &str) -> Result<(), Refusal> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{place}: unknown field `{key}`")),
        None => Ok(()),
    }
}

/// A tool's name and schema, under whatever names the format gives the fields.
fn tool_parts(tool: &Map<String, Value>, schema: &str, place: &str) -> Result<String, Refusal> {
    let name = text(tool.get("name"), &format!("{place}.name"))?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > 64 || !name.chars().all(fits) {
        return Err(format!(
            "{place}.name: only letters, digits, `_` and `-`, and at most 64 of them"
        ));
    }
    text(tool.get("description"), &format!("{place}.description"))?;
    let kind = tool.get(schema).and_then(|schema| schema.get("type"));
    if kind != Some(&Value::from("object")) {
        return Err(format!(
            "{place}.{schema}: a JSON schema of type `object` is expected"
        ));
    }
    Ok(name.to_owned())
}

/// Refuses two of the same.
fn distinct(names: &[String], what: &str) -> Result<(), Refusal> {
    let twice = names
        .iter()
        .enumerate()
        .find(|(index, name)| names.iter().take(*index).any(|other| other == *name));
    match twice {
        Some((_, name)) => Err(format!("{what} `{name}` is there twice")),
        None => Ok(()),
    }
}

/// Refuses results that are not exactly those of the calls.
fn answered(calls: &[String], results: &[String], place: &str) -> Result<(), Refusal> {
    distinct(results, "the result of tool call")?;
    if let Some(missing) = calls.iter().find(|call| !results.contains(call)) {
        return Err(format!(
            "{place}: tool call `{missing}` is not followed by its result"
        ));
    }
    match results.iter().find(|result| !calls.contains(result)) {
        Some(result) => Err(format!(
            "{place}: there is no tool call `{result}` in the message before"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
