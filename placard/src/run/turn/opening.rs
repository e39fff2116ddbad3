//! The session of a turn: a new one, or one that is there already.

use serde_json::{Value, json};

use super::{Outcome, Turn, error_words};
use crate::last_words::tell;
use crate::run::resume::{Beginning, Stored, none_here};

/// What an agent offers for sessions that are there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    /// `session/list`.
    pub(crate) list: bool,
    /// `session/resume`: to go on in silence.
    pub(crate) resume: bool,
    /// `session/load`: the past is told first.
    pub(crate) load: bool,
}

impl Offers {
    /// As an answer to `initialize` tells.
    fn of(answer: &Value) -> Self {
        let capabilities = &answer["agentCapabilities"];
        let offered = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        let sessions = &capabilities["sessionCapabilities"];
        Self {
            list: offered(&sessions["list"]),
            resume: offered(&sessions["resume"]),
            load: offered(&capabilities["loadSession"]),
        }
    }

    /// Whether a session can be gone on with at all.
    pub(crate) fn goes_on(self) -> bool {
        self.resume || self.load
    }
}

impl Turn {
    /// Opens the session that the turn is in; its id.
    pub(super) async fn open(
        &mut self,
        cwd: &str,
        beginning: Beginning,
    ) -> Result<String, Outcome> {
        self.offers = self.ask_for_offers().await?;
        if beginning == Beginning::New {
            return self.begin(cwd).await;
        }
        // Nothing of what was said before is shown again.
        let painting = self.painting.take();
        let opened = self.go_on(cwd, beginning).await;
        self.painting = painting;
        let Stored { id, words } = opened?;
        tell(&words);
        Ok(id)
    }

    /// The agent has answered the hub; the hub answers us from that.
    async fn ask_for_offers(&mut self) -> Result<Offers, Outcome> {
        let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let asked = self.conversation.request("initialize", params).await;
        let (_, answer) = self.wait_for_answer(asked).await?;
        Ok(Offers::of(&answer.unwrap_or_default()))
    }

    async fn begin(&mut self, cwd: &str) -> Result<String, Outcome> {
        let params = json!({"cwd": cwd, "mcpServers": []});
        let new = self.conversation.request("session/new", params).await;
        let (_, answer) = self.wait_for_answer(new).await?;
        let refused = |words: String| Outcome::NotStarted(words);
        let result = answer.map_err(|error| {
            let words = error_words(&error);
            refused(format!("the agent gave no session: {words}"))
        })?;
        let id = result["sessionId"].as_str().map(str::to_owned);
        id.ok_or_else(|| refused("the agent gave a session without an id".to_owned()))
    }

    async fn go_on(&mut self, cwd: &str, beginning: Beginning) -> Result<Stored, Outcome> {
        let method = match self.offers {
            Offers { resume: true, .. } => "session/resume",
            Offers { load: true, .. } => "session/load",
            _ => {
                let words = "the agent cannot go on with sessions: it offers neither session/resume nor session/load";
                return Err(Outcome::NotStarted(words.to_owned()));
            }
        };
        let stored = match beginning {
            Beginning::Stored(stored) => stored,
            Beginning::New | Beginning::Newest => self.newest(cwd).await?,
        };
        let params = json!({"sessionId": stored.id, "cwd": cwd, "mcpServers": []});
        let opening = self.conversation.request(method, params).await;
        let (_, answer) = self.wait_for_answer(opening).await?;
        match answer {
            Ok(_) => Ok(stored),
            Err(error) => Err(Outcome::NotStarted(error_words(&error))),
        }
    }

    async fn newest(&mut self, cwd: &str) -> Result<Stored, Outcome> {
        if !self.offers.list {
            let words = "the agent cannot list its sessions, so --continue finds none; give one with --resume";
            return Err(Outcome::NotStarted(words.to_owned()));
        }
        let asked = self
            .conversation
            .request("session/list", json!({ "cwd": cwd }))
            .await;
        let (_, answer) = self.wait_for_answer(asked).await?;
        let page = answer.map_err(|error| {
            let words = error_words(&error);
            Outcome::NotStarted(format!("the agent did not list its sessions: {words}"))
        })?;
        newest_of(&page, cwd).ok_or_else(|| none_here(cwd))
    }
}

/// The session of a page of this folder that was changed last; the first one, where the page tells no times.
fn newest_of(page: &Value, cwd: &str) -> Option<Stored> {
    let sessions = page["sessions"].as_array()?;
    let here = sessions.iter().filter(|session| session["cwd"] == cwd);
    // Of the same time the first counts, and `max_by` gives the last. Such times sort as text.
    let newest = here
        .rev()
        .max_by_key(|session| session["updatedAt"].as_str().unwrap_or_default())?;
    Some(Stored::new(
        newest["sessionId"].as_str()?,
        newest["title"].as_str(),
        newest["updatedAt"].as_str(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_an_agent_offers() {
        let all = Offers {
            list: true,
            resume: true,
            load: true,
        };
        let table = [
            (json!({"protocolVersion": 1}), Offers::default()),
            (
                json!({"agentCapabilities": {"loadSession": true, "sessionCapabilities": {"list": {}, "resume": {}}}}),
                all,
            ),
            (
                json!({"agentCapabilities": {"loadSession": false, "sessionCapabilities": {"list": null}}}),
                Offers::default(),
            ),
        ];
        for (answer, offers) in table {
            assert_eq!(Offers::of(&answer), offers, "{answer}");
        }
    }

    #[test]
    fn the_newest_session_of_a_page() {
        let session = |id: &str, cwd: &str, at: &str| json!({"sessionId": id, "cwd": cwd, "title": "t", "updatedAt": at});
        let page = json!({"sessions": [
            session("a", "/a", "2026-01-01T00:00:00Z"),
            session("b", "/a", "2026-02-01T00:00:00Z"),
            session("c", "/b", "2026-03-01T00:00:00Z"),
        ]});
        assert_eq!(
            newest_of(&page, "/a"),
            Some(Stored::new("b", Some("t"), Some("2026-02-01T00:00:00Z")))
        );
        assert_eq!(newest_of(&page, "/"), None);
        let bare =
            json!({"sessions": [{"sessionId": "a", "cwd": "/a"}, {"sessionId": "b", "cwd": "/a"}]});
        assert_eq!(newest_of(&bare, "/a"), Some(Stored::new("a", None, None)));
        assert_eq!(newest_of(&json!({}), "/a"), None);
    }
}
