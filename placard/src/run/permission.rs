//! Answers to the agent's requests for permission.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{QueueSelector, tcflush};
use serde_json::{Value, json};

use crate::arguments::Permission;

/// How the agent's requests for permission are answered in a turn.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// The answer.
    pub(crate) answer: Permission,
    /// Nobody has wished for it: there is just nobody to ask.
    unattended: bool,
    refused: Arc<AtomicBool>,
}

impl Rule {
    /// What is wished for; else a person is asked, and where there is none, it is no.
    pub(crate) fn new(wished: Option<Permission>, person: bool) -> Self {
        let otherwise = if person {
            Permission::Ask
        } else {
            Permission::Reject
        };
        Self {
            answer: wished.unwrap_or(otherwise),
            unattended: wished.is_none() && !person,
            refused: Arc::default(),
        }
    }

    /// Something was refused.
    pub(crate) fn note_refusal(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    /// Why something was refused, where nobody has said that it should be.
    pub(crate) fn words(&self) -> Option<&'static str> {
        let unexpected = self.unattended && self.refused.load(Ordering::Relaxed);
        unexpected.then_some(
            "the agent asked for permission and there is no terminal to ask you on, so it was refused. \
             To let it do what it asks for: --permission allow",
        )
    }
}

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
    let asked = terminal.and_then(|terminal| {
        let forget = || Ok(tcflush(&terminal, QueueSelector::IFlush)?);
        ask_on(&terminal, forget, &terminal, subject, choices)
    });
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

/// Asks until the answer is one. What was typed before the question was there is no answer to it: `forget` is called to
/// lose it, before the line that asks.
fn ask_on(
    input: impl io::Read,
    mut forget: impl FnMut() -> io::Result<()>,
    mut output: impl Write,
    subject: &str,
    choices: &[Choice],
) -> io::Result<Option<Choice>> {
    let (yes, no) = (once(choices, "allow_once"), once(choices, "reject_once"));
    let mut answers = format!("1-{}", choices.len());
    for (word, choice) in [("y", yes), ("n", no)] {
        if choice.is_some() {
            let _ = write!(answers, ", {word}");
        }
    }
    output.write_all(question(subject, choices).as_bytes())?;
    let mut lines = BufReader::new(input).lines();
    loop {
        output.flush()?;
        forget()?;
        write!(output, "Your choice ({answers}): ")?;
        output.flush()?;
        let Some(line) = lines.next().transpose()? else {
            return Ok(None);
        };
        let choice = match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => yes,
            "n" | "no" => no,
            number => number
                .parse::<usize>()
                .ok()
                .and_then(|number| choices.get(number.checked_sub(1)?)),
        };
        if let Some(choice) = choice {
            return Ok(Some(choice.clone()));
        }
    }
}

/// What a short word picks: never more than what is asked for now.
fn once<'a>(choices: &'a [Choice], kind: &str) -> Option<&'a Choice> {
    choices.iter().find(|choice| choice.kind == kind)
}

fn question(subject: &str, choices: &[Choice]) -> String {
    let mut text = format!(
        "\nThe agent asks for permission: {}\n",
        crate::ink::harmless(subject)
    );
    for (index, choice) in choices.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {}  {}",
            index + 1,
            crate::ink::harmless(&choice.name)
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
            let mut forgotten = 0;
            let forget = || {
                forgotten += 1;
                Ok(())
            };
            let choice =
                ask_on(typed.as_bytes(), forget, &mut shown, "rm -r x", &offered()).unwrap();
            let shown = String::from_utf8(shown).unwrap();
            assert_eq!(shown.matches("Your choice").count(), forgotten);
            (choice.map(|choice| choice.id), shown)
        };
        let question = "\nThe agent asks for permission: rm -r x\n  1  Always allow\n  2  Allow\n  3  Rej[2Ject\n";
        let prompt = "Your choice (1-3, y, n): ";
        assert_eq!(
            ask_with("2\n"),
            (Some("yes".into()), format!("{question}{prompt}"))
        );
        assert_eq!(
            ask_with("maybe\n0\n4\n3\n"),
            (
                Some("no".into()),
                format!("{question}{prompt}{prompt}{prompt}{prompt}")
            )
        );
        for (typed, id) in [
            ("y\n", "yes"),
            (" YES \n", "yes"),
            ("n\n", "no"),
            ("no\n", "no"),
        ] {
            assert_eq!(
                ask_with(typed),
                (Some(id.into()), format!("{question}{prompt}"))
            );
        }
        assert_eq!(ask_with(""), (None, format!("{question}{prompt}")));
    }

    #[test]
    fn a_short_word_never_means_always() {
        let always = choices(&json!({"options": [{"optionId": "a", "kind": "allow_always"}]}));
        let mut shown = Vec::new();
        let choice = ask_on(&b"y\n1\n"[..], || Ok(()), &mut shown, "rm", &always).unwrap();
        assert_eq!(choice.as_ref(), always.first());
        assert_eq!(
            String::from_utf8(shown).unwrap(),
            "\nThe agent asks for permission: rm\n  1  a\nYour choice (1-1): Your choice (1-1): "
        );
    }

    #[test]
    fn a_refusal_that_nobody_wished_for_is_explained() {
        let explained = |wished, person| {
            let rule = Rule::new(wished, person);
            assert_eq!(rule.words(), None);
            rule.note_refusal();
            (rule.answer, rule.words().is_some())
        };
        let table = [
            (None, true, (Permission::Ask, false)),
            (None, false, (Permission::Reject, true)),
            (Some(Permission::Reject), false, (Permission::Reject, false)),
            (Some(Permission::Allow), false, (Permission::Allow, false)),
        ];
        for (wished, person, expected) in table {
            assert_eq!(explained(wished, person), expected, "{wished:?} {person}");
        }
    }
}
