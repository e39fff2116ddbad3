//! Listing the stored sessions.

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    ListSessionsRequest, ListSessionsResponse, SessionId, SessionInfo,
};
use agent_client_protocol::{Error, ErrorCode};
use agent_core::store::{Cursor, Damage, ListRequest, SessionPage, SessionSummary};
use serde_json::{Map, Value, json};

use crate::failure;
use crate::moment::iso_8601;
use crate::sessions::Sessions;

/// Sessions on a page: more than fit on a screen.
const PAGE: usize = 50;

impl Sessions {
    /// A page of the sessions that are stored, newest change first.
    pub(crate) fn list(
        &self,
        request: ListSessionsRequest,
        responder: Responder<ListSessionsResponse>,
    ) {
        let sessions = self.clone();
        tokio::spawn(async move {
            let withdrawn = responder.cancellation();
            let page = withdrawn.run_until_cancelled(sessions.page(request));
            if responder.respond_with_result(page.await).is_err() {
                tracing::debug!("the client was gone before its list was read");
            }
        });
    }

    async fn page(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let request = read(request)?;
        let store = self.agent().store().await;
        let store = store.map_err(|error| failure::store(&error))?;
        let page = store.list(&request).await;
        let page = page.map_err(|error| failure::store(&error))?;
        Ok(listed(page))
    }
}

fn read(request: ListSessionsRequest) -> Result<ListRequest, Error> {
    let wrong = |message: &str| Error::new(ErrorCode::INVALID_PARAMS, message);
    if request.cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
        return Err(wrong(
            "the folder to list sessions of is not absolute; give the whole path from /",
        ));
    }
    // The cursor is not repeated: it may be anything.
    let after = request.cursor.map(|cursor| cursor.parse::<Cursor>());
    let after = after.transpose().map_err(|_| {
        wrong("the cursor is not one that session/list gave; begin again without one")
    })?;
    Ok(ListRequest {
        cwd: request.cwd,
        archived: false,
        after,
        limit: PAGE,
    })
}

fn listed(page: SessionPage) -> ListSessionsResponse {
    let SessionPage {
        sessions,
        next,
        damaged,
    } = page;
    ListSessionsResponse::new(sessions.into_iter().map(info).collect())
        .next_cursor(next.map(|next| next.to_string()))
        .meta(damaged_meta(&damaged))
}

fn info(session: SessionSummary) -> SessionInfo {
    let SessionSummary {
        header,
        title,
        updated_at,
        ..
    } = session;
    SessionInfo::new(SessionId::new(header.id.as_str()), header.cwd)
        .additional_directories(header.additional_directories)
        .title(title)
        .updated_at(iso_8601(updated_at))
}

/// Sessions that cannot stand in a list, for whoever looks for them there.
fn damaged_meta(damaged: &[Damage]) -> Option<Map<String, Value>> {
    let words: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    (!words.is_empty()).then(|| Map::from_iter([("placard".to_owned(), json!({"damaged": words}))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_core::session::{SessionHeader, SessionId as StoredId};
    use agent_core::store::DamagedAt;
    use pretty_assertions::assert_eq;

    fn request(params: Value) -> Result<ListRequest, (i32, String)> {
        read(serde_json::from_value(params).unwrap())
            .map_err(|error| (i32::from(error.code), error.message))
    }

    #[test]
    fn a_request_is_read_or_told_what_is_wrong() {
        let after = Cursor {
            updated_at: 7,
            id: StoredId::from("a.b".to_owned()),
        };
        assert_eq!(
            request(json!({"cwd": "/a", "cursor": "7.a.b"})),
            Ok(ListRequest {
                cwd: Some("/a".into()),
                archived: false,
                after: Some(after),
                limit: PAGE,
            })
        );
        let cursor = "the cursor is not one that session/list gave; begin again without one";
        for wrong in ["", "7", "7.", "-7.a", "secret"] {
            assert_eq!(
                request(json!({"cursor": wrong})),
                Err((-32602, cursor.to_owned())),
                "{wrong}"
            );
        }
        let folder = "the folder to list sessions of is not absolute; give the whole path from /";
        assert_eq!(
            request(json!({"cwd": "a"})),
            Err((-32602, folder.to_owned()))
        );
    }

    #[test]
    fn a_page_tells_what_is_known_and_what_is_damaged() {
        let summary = SessionSummary {
            title: Some("Fix the parser".to_owned()),
            updated_at: 1_790_000_000_123,
            ..SessionSummary::new(SessionHeader {
                id: StoredId::from("s".to_owned()),
                cwd: "/a".into(),
                additional_directories: vec!["/b".into()],
                created_at: 0,
                program_version: "0".to_owned(),
                model: "offline".to_owned(),
                schema_version: 1,
                forked_from: None,
            })
        };
        let page = SessionPage {
            next: Some(summary.cursor()),
            sessions: vec![summary],
            damaged: vec![Damage {
                place: "/d/x.jsonl".to_owned(),
                at: Some(DamagedAt::Line(1)),
                reason: "not a header".to_owned(),
            }],
        };
        assert_eq!(
            serde_json::to_value(listed(page)).unwrap(),
            json!({
                "sessions": [{
                    "sessionId": "s",
                    "cwd": "/a",
                    "additionalDirectories": ["/b"],
                    "title": "Fix the parser",
                    "updatedAt": "2026-09-21T14:13:20.123Z",
                }],
                "nextCursor": "1790000000123.s",
                "_meta": {"placard": {"damaged": ["/d/x.jsonl, line 1: not a header"]}},
            })
        );
        assert_eq!(
            serde_json::to_value(listed(SessionPage::default())).unwrap(),
            json!({"sessions": []})
        );
    }
}
