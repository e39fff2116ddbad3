//! Answers to the agent's requests for permission.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::arguments::Permission;

/// An option that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The id to answer with.
    pub(crate) id: String,
    /// What it is called.
    pub(crate) name: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or something newer.
    pub(crate) kind: String,
}

impl Choice {
    /// True when it lets the agent go on.
    pub(crate) fn allows(&self) -> bool {
        self.kind.starts_with("allow")
    }
}

/// Reads the options of a `session/request_permission`; what has no id is no option.
pub(crate) fn choices(params: &Value) -> Vec<Choice> {
    let text = |option: &Value, field: &str| option[field].as_str().map(str::to_owned);
    params["options"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|option| {
            let id = text(option, "optionId")?;
            let name = text(option, "name").unwrap_or_else(|| id.clone());
            Some(Choice {
                id,
                name,
                kind: text(option, "kind").unwrap_or_default(),
            })
        })
        .collect()
}

/// The option that fits `wish` best: once rather than always. None fits when a person is to be asked.
pub(crate) fn decide(choices: &[Choice], wish: Permission) -> Option<&Choice> {
    let kinds = match wish {
        Permission::Ask => return None,
        Permission::Allow => ["allow_once", "allow_always"],
        Permission::Reject => ["reject_once", "reject_always"],
    };
    kinds
        .iter()
        .find_map(|kind| choices.iter().find(|choice| choice.kind == *kind))
}

/// The answer that picks an option; without one, that nothing was decided.
pub(crate) fn answer(choice: Option<&Choice>) -> Value {
    match choice {
        Some(choice) => json!({"outcome": {"outcome": "selected", "optionId": choice.id}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

/// Asks the person at the terminal; waits for as long as they think. `None` when there is no terminal, or no more
/// input from it.
pub(crate) fn ask(subject: &str, choices: &[Choice]) -> Option<Choice> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let asked = terminal.and_then(|terminal| ask_on(&terminal, &terminal, subject, choices));
    match asked {
        Ok(choice) => choice,
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "placard: nobody can be asked for permission, so it is refused: {error}. \
                 Use --permission allow or reject without a terminal."
            );
            None
        }
    }
}

fn ask_on(
    input: impl io::Read,
    mut output: impl Write,
    subject: &str,
    choices: &[Choice],
) -> io::Result<Option<Choice>> {
    output.write_all(question(subject, choices).as_bytes())?;
    let mut lines = BufReader::new(input).lines();
    loop {
        write!(output, "Your choice (1-{}): ", choices.len())?;
        output.flush()?;
        let Some(line) = lines.next().transpose()? else {
            return Ok(None);
        };
        let number: Option<usize> = line.trim().parse().ok();
        if let Some(choice) = number.and_then(|number| choices.get(number.checked_sub(1)?)) {
            return Ok(Some(choice.clone()));
        }
    }
}

fn question(subject: &str, choices: &[Choice]) -> String {
    let mut text = format!(
        "\nThe agent asks for permission: {}\n",
        super::painting::harmless(subject)
    );
    for (index, choice) in choices.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {}  {}",
            index + 1,
            super::painting::harmless(&choice.name)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn offered() -> Vec<Choice> {
        choices(&json!({"options": [
            {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"name": "no id", "kind": "allow_once"},
            {"optionId": "no", "name": "Rej\u{1b}[2Ject", "kind": "reject_once"},
        ]}))
    }

    #[test]
    fn once_is_preferred_to_always() {
        let decided = |wish| decide(&offered(), wish).map(|choice| choice.id.clone());
        assert_eq!(
            [Permission::Allow, Permission::Reject, Permission::Ask].map(decided),
            [Some("yes".to_owned()), Some("no".to_owned()), None]
        );
        let only_always = choices(&json!({"options": [{"optionId": "a", "kind": "allow_always"}]}));
        assert_eq!(decide(&only_always, Permission::Allow), only_always.first());
        assert_eq!(decide(&only_always, Permission::Reject), None);
        assert_eq!(answer(None), json!({"outcome": {"outcome": "cancelled"}}));
    }

    #[test]
    fn a_person_is_asked_until_the_answer_is_one() {
        let ask_with = |typed: &str| {
            let mut shown = Vec::new();
            let choice = ask_on(typed.as_bytes(), &mut shown, "rm -r x", &offered()).unwrap();
            (
                choice.map(|choice| choice.id),
                String::from_utf8(shown).unwrap(),
            )
        };
        let question = "\nThe agent asks for permission: rm -r x\n  1  Always allow\n  2  Allow\n  3  Rej[2Ject\n";
        let prompt = "Your choice (1-3): ";
        assert_eq!(
            ask_with("2\n"),
            (Some("yes".into()), format!("{question}{prompt}"))
        );
        assert_eq!(
            ask_with("yes\n0\n4\n3\n"),
            (
                Some("no".into()),
                format!("{question}{prompt}{prompt}{prompt}{prompt}")
            )
        );
        assert_eq!(ask_with(""), (None, format!("{question}{prompt}")));
    }
}
