//! Which session is meant by the beginning of an id, and how much of an id says which.

use agent_core::session::SessionId;
use agent_core::store::{SessionStore, StoreError};

use crate::error::ProgramError;

/// So many of the sessions that an id fits are named, at most.
const NAMED: usize = 5;

/// Less of an id is never shown: it would look like a number.
const SHORTEST: usize = 8;

/// So many neighbours of a session are looked at to find out how much of its id is its own.
const NEIGHBOURS: usize = 32;

/// The session whose id this is, or the beginning of.
pub(crate) async fn find(
    store: &dyn SessionStore,
    beginning: &str,
) -> Result<SessionId, ProgramError> {
    let exact = SessionId::from(beginning.to_owned());
    match store.has(&exact).await {
        // It is there, in whatever state.
        Ok(true) | Err(StoreError::Damaged { .. }) => return Ok(exact),
        Ok(false) => {}
        Err(fault) => return Err(fault.into()),
    }
    let found = store.ids(beginning, NAMED + 1).await?;
    match <[SessionId; 1]>::try_from(found) {
        Ok([only]) => Ok(only),
        Err(none) if none.is_empty() => Err(StoreError::Missing { id: exact }.into()),
        Err(several) => Err(ProgramError::Ambiguous {
            beginning: beginning.to_owned(),
            ids: named(&several),
        }),
    }
}

fn named(several: &[SessionId]) -> String {
    let mut words: Vec<&str> = several.iter().take(NAMED).map(SessionId::as_str).collect();
    if several.len() > NAMED {
        words.push("…");
    }
    words.join(", ")
}

/// As much of each id as says which session it is.
pub(crate) async fn short_ids(
    store: &dyn SessionStore,
    ids: &[SessionId],
) -> Result<Vec<String>, StoreError> {
    let mut short = Vec::with_capacity(ids.len());
    for id in ids {
        short.push(short_id(store, id).await?);
    }
    Ok(short)
}

async fn short_id(store: &dyn SessionStore, id: &SessionId) -> Result<String, StoreError> {
    let text = id.as_str();
    let mut length = SHORTEST;
    loop {
        let Some(beginning) = text.get(..length).filter(|it| it.len() < text.len()) else {
            return Ok(text.to_owned());
        };
        let neighbours = store.ids(beginning, NEIGHBOURS).await?;
        if neighbours.len() < NEIGHBOURS {
            return Ok(own_beginning(text, &neighbours).to_owned());
        }
        // More than were asked for: the longer the beginning, the fewer there are.
        length += 1;
    }
}

/// The shortest beginning of an id that none of the others has.
fn own_beginning<'i>(id: &'i str, others: &[SessionId]) -> &'i str {
    let others: Vec<&str> = others.iter().map(SessionId::as_str).collect();
    let is_own = |beginning: &str| {
        let mut others = others.iter().filter(|other| **other != id);
        // An id that is the beginning of another is still the one that is meant by all of it.
        !others.any(|other| other.starts_with(beginning))
    };
    (SHORTEST..id.len())
        .filter_map(|length| id.get(..length))
        .find(|beginning| is_own(beginning))
        .map_or(id, |beginning| {
            // A dash at the end looks like a slip of the hand.
            match beginning.strip_suffix('-') {
                Some(_) => id.get(..=beginning.len()).unwrap_or(id),
                None => beginning,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::shelf::tests::{Shelf, said};
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn an_id_is_known_by_its_beginning() {
        let shelf = Shelf::with(&[
            ("0199aaaa-0001", said("one")),
            ("0199aaaa-0002", said("two")),
            ("0199bbbb-0001", said("three")),
            ("0199bbbb", said("four")),
        ])
        .await;
        let table = [
            ("0199aaaa-0001", Ok("0199aaaa-0001")),
            ("0199b", Err(("0199b", "0199bbbb, 0199bbbb-0001"))),
            ("0199bbbb", Ok("0199bbbb")),
            ("0199bbbb-", Ok("0199bbbb-0001")),
            ("0199a", Err(("0199a", "0199aaaa-0001, 0199aaaa-0002"))),
        ];
        for (beginning, expected) in table {
            let found = find(&shelf.store, beginning).await;
            let found = found.map(|id| id.to_string());
            let found = found.map_err(|error| error.to_string());
            let expected = expected.map(str::to_owned).map_err(|(beginning, ids)| {
                format!("{beginning} is the beginning of several ids: {ids}. Give more of one")
            });
            assert_eq!(found, expected, "{beginning}");
        }
        assert_eq!(
            find(&shelf.store, "7").await.map_err(|it| it.to_string()),
            Err(
                "there is no session 7; `placard sessions list` shows those that there are"
                    .to_owned()
            )
        );
    }

    #[tokio::test]
    async fn as_much_is_shown_as_says_which_it_is() {
        let mut ids = vec![
            ("0199aaaa-0001".to_owned(), said("one")),
            ("0199aaab-0001".to_owned(), said("two")),
            ("0199bbbb".to_owned(), said("three")),
            ("short".to_owned(), said("four")),
        ];
        // One moment, more of them than are looked at.
        ids.extend((0..40).map(|at| (format!("0199cccc-{at:04}"), said("many"))));
        let ids: Vec<_> = ids
            .iter()
            .map(|(id, it)| (id.as_str(), it.clone()))
            .collect();
        let shelf = Shelf::with(&ids).await;
        let table = [
            ("0199aaaa-0001", "0199aaaa"),
            ("0199aaab-0001", "0199aaab"),
            ("0199bbbb", "0199bbbb"),
            ("short", "short"),
            ("0199cccc-0007", "0199cccc-0007"),
            ("0199cccc-0039", "0199cccc-0039"),
        ];
        let asked: Vec<SessionId> = table
            .iter()
            .map(|(id, _)| SessionId::from((*id).to_owned()))
            .collect();
        let expected: Vec<&str> = table.iter().map(|(_, short)| *short).collect();
        assert_eq!(short_ids(&shelf.store, &asked).await.unwrap(), expected);
        let two = |text: &str| SessionId::from(text.to_owned());
        assert_eq!(
            own_beginning("0199dddd-11", &[two("0199dddd"), two("0199dddd-11")]),
            "0199dddd-1"
        );
    }
}
