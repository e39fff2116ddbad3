//! What was found, for people and for programs.

use std::fmt::Write;

use serde::Serialize;

/// Everything that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What it is about, in a word or two.
    pub(crate) topic: &'static str,
    pub(crate) state: State,
    /// One sentence.
    pub(crate) text: String,
    /// Names and paths that belong to it.
    pub(crate) details: Vec<String>,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// As it should be.
    Ok,
    /// It works, and a person may want to know.
    Note,
    /// It does not work.
    Wrong,
}

impl Finding {
    pub(crate) fn new(topic: &'static str, state: State, text: impl Into<String>) -> Self {
        Self {
            topic,
            state,
            text: text.into(),
            details: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Report {
    /// Whether nothing is wrong.
    pub(crate) fn works(&self) -> bool {
        self.wrong() == 0
    }

    fn wrong(&self) -> usize {
        let wrong = |finding: &&Finding| finding.state == State::Wrong;
        self.findings.iter().filter(wrong).count()
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("placard {VERSION}\n");
        for finding in &self.findings {
            let state = match finding.state {
                State::Ok => "ok",
                State::Note => "note",
                State::Wrong => "WRONG",
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{state:<6}{:<14}{}", finding.topic, finding.text);
            for detail in &finding.details {
                let _ = writeln!(text, "{:20}{detail}", "");
            }
        }
        let _ = match self.wrong() {
            0 => text.write_str("Everything works.\n"),
            1 => text.write_str("One thing does not work.\n"),
            more => writeln!(text, "{more} things do not work."),
        };
        text
    }

    /// For programs: one line of JSON.
    pub(crate) fn json(&self) -> String {
        let json = serde_json::json!({
            "version": VERSION,
            "works": self.works(),
            "findings": self.findings,
        });
        format!("{json}\n")
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn report() -> Report {
        Report {
            findings: vec![
                Finding::new("bash", State::Ok, "/bin/bash"),
                Finding::new("model", State::Wrong, "no key"),
                Finding::new("variables", State::Note, "1 passes").with(["PATH".to_owned()]),
            ],
        }
    }

    #[test]
    fn people_read_lines() {
        let expected = format!(
            "placard {VERSION}\n\
             ok    bash          /bin/bash\n\
             WRONG model         no key\n\
             note  variables     1 passes\n                    PATH\n\
             One thing does not work.\n"
        );
        assert_eq!(report().text(), expected);
    }

    #[test]
    fn programs_read_json() {
        let expected = format!(
            r#"{{"version":"{VERSION}","works":false,"findings":[{{"topic":"bash","state":"ok","text":"/bin/bash","details":[]}},{{"topic":"model","state":"wrong","text":"no key","details":[]}},{{"topic":"variables","state":"note","text":"1 passes","details":["PATH"]}}]}}"#
        );
        assert_eq!(report().json(), expected + "\n");
    }
}
