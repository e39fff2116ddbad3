//! Options as GNU programs read them, against a list of those that are known.

use super::Argument;

/// The options that count as harmless for a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters, those with a value followed by a colon.
    pub(super) short: &'static str,
    /// Words apart by blanks: `name`, `name=` with a value, `name?` with a value that only `=` gives.
    pub(super) long: &'static str,
    /// A number is an option (`-20`).
    pub(super) number: bool,
}

/// What a program was given.
#[derive(Debug, Default)]
pub(super) struct Given<'w> {
    /// Letters or words with their values, in order; a number is the option `#`.
    pub(super) options: Vec<(&'w str, Option<&'w str>)>,
    /// The others.
    pub(super) operands: Vec<Argument<'w>>,
}

impl<'w> Given<'w> {
    /// The values of the options that have one of these names.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &'w str> {
        self.options
            .iter()
            .filter(move |(name, _)| names.contains(name))
            .filter_map(|(_, value)| *value)
    }

    /// Whether one of these options was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }
}

impl Options {
    /// Reads arguments; `None` where an option is not on the list, or its value is not known. Operands may stand before options.
    pub(super) fn read<'w>(&self, arguments: &[Argument<'w>]) -> Option<Given<'w>> {
        let mut given = Given::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let text = argument.text;
            if argument.is_pattern || text == "-" || !text.starts_with('-') {
                given.operands.push(*argument);
            } else if text == "--" {
                given.operands.extend(arguments.by_ref());
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let value = match (self.long_form(name)?, value) {
                    (Form::Alone | Form::MayHaveValue, None) => None,
                    (Form::Alone, Some(_)) => return None,
                    (Form::Value | Form::MayHaveValue, Some(value)) => Some(value),
                    (Form::Value, None) => Some(known(arguments.next()?)?),
                };
                given.options.push((name, value));
            } else if self.number && text[1..].chars().all(|c| c.is_ascii_digit()) {
                given.options.push(("#", Some(&text[1..])));
            } else {
                self.read_letters(&text[1..], &mut arguments, &mut given)?;
            }
        }
        Some(given)
    }

    fn read_letters<'w>(
        &self,
        letters: &'w str,
        arguments: &mut std::slice::Iter<'_, Argument<'w>>,
        given: &mut Given<'w>,
    ) -> Option<()> {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            let (name, after) = rest.split_at(letter.len_utf8());
            let at = self.short.find(letter).filter(|_| letter != ':')?;
            rest = after;
            if self.short[at + letter.len_utf8()..].starts_with(':') {
                let value = if rest.is_empty() {
                    known(arguments.next()?)?
                } else {
                    rest
                };
                given.options.push((name, Some(value)));
                return Some(());
            }
            given.options.push((name, None));
        }
        Some(())
    }

    fn long_form(&self, name: &str) -> Option<Form> {
        self.long.split_whitespace().find_map(|listed| {
            let (bare, form) = match listed.strip_suffix('=') {
                Some(bare) => (bare, Form::Value),
                None => match listed.strip_suffix('?') {
                    Some(bare) => (bare, Form::MayHaveValue),
                    None => (listed, Form::Alone),
                },
            };
            (bare == name).then_some(form)
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Alone,
    Value,
    MayHaveValue,
}

fn known<'w>(argument: &Argument<'w>) -> Option<&'w str> {
    (!argument.is_pattern).then_some(argument.text)
}
