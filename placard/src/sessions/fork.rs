//! `placard sessions fork`.

use agent_core::Agent;
use agent_core::session::SessionId;
use serde_json::json;

use super::{Answer, json};
use crate::error::ProgramError;

/// Copies a session, and tells the id of the copy.
pub(crate) async fn fork(
    agent: &Agent,
    id: &SessionId,
    as_json: bool,
) -> Result<Answer, ProgramError> {
    let copy = agent.copy_session(id).await?;
    Ok(Answer::text(if as_json {
        json::line(&json!({"id": copy, "forked_from": id}))
    } else {
        format!("{copy}\n")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::shelf::tests::{Shelf, id, said, surroundings};
    use agent_core::store::SessionStore;
    use pretty_assertions::assert_eq;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_copy_has_an_id_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let store = Arc::new(Shelf::with(&[("1", said("one"))]).await.store);
        let agent = Agent::with_store(surroundings(home.path()), store.clone());
        let answer = fork(&agent, &id("1"), false).await.unwrap();
        let copy = id(answer.text.trim_end());
        let summary = store.summary(&copy).await.unwrap().unwrap();
        assert_eq!(
            (summary.header.forked_from, summary.title, summary.events),
            (Some(id("1")), Some("one".into()), 4)
        );
        let answer = fork(&agent, &copy, true).await.unwrap();
        let told: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(told["forked_from"], copy.as_str());
        assert!(store.has(&id(told["id"].as_str().unwrap())).await.unwrap());
    }
}
