//! What somebody else did to the tables is told, and left as it is.

use agent_core::store::{
    Blob, Damage, DamagedAt, ListRequest, Salvage, SessionPage, SessionStore, StoreError,
};
use pretty_assertions::assert_eq;
use test_postgres::Cluster;

use super::open;
use crate::samples::*;

const EVENTS: &str = "the table of events";

fn missing(seq: u64) -> Damage {
    Damage {
        place: EVENTS.to_owned(),
        at: Some(DamagedAt::Event(seq)),
        reason: "it is missing".to_owned(),
    }
}

fn damage(error: StoreError) -> Damage {
    match error {
        StoreError::Damaged { damage, .. } => damage,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_missing_is_told_by_whoever_asks() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    let hole = header("hole");
    store(&one, &hole, &prompts(0, 5)).await;
    database.tell("DELETE FROM placard.events WHERE seq IN (1, 4)");

    let whole_log = Damage {
        place: EVENTS.to_owned(),
        at: None,
        reason: "5 events were stored, and 3 of them are there".to_owned(),
    };
    assert_eq!(damage(one.writer(&hole.id).await.unwrap_err()), whole_log);
    let copy = one.fork(&hole.id, &header("copy")).await;
    assert_eq!(damage(copy.unwrap_err()), whole_log);
    for (from, limit, expected) in [
        (0, 10, Err(1)),
        (0, 1, Ok(0..1)),
        (2, 2, Ok(2..4)),
        (2, 3, Err(4)),
        (4, 1, Err(4)),
        (5, 1, Ok(5..5)),
    ] {
        let read = one.read(&hole.id, from, limit).await.map_err(damage);
        let expected = expected
            .map(|range: std::ops::Range<u64>| prompts(range.start, range.end - range.start))
            .map_err(missing);
        assert_eq!(read, expected, "{limit} from {from}");
    }
    let events = [prompts(0, 1), prompts(2, 2)].concat();
    assert_eq!(
        one.salvage(&hole.id).await.unwrap(),
        Salvage {
            header: Some(hole),
            events,
            damage: vec![missing(1), missing(4)],
        }
    );
    // The right to write was given back with the refusal.
    assert_eq!(database.tell("SELECT count(*) FROM placard.leases"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_cannot_be_read_is_told_and_the_others_are_salvaged() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    let torn = header("torn");
    store(&one, &torn, &prompts(0, 3)).await;
    database.tell("UPDATE placard.events SET what = left(what, 20) WHERE seq = 1");

    let told = damage(one.read(&torn.id, 0, 10).await.unwrap_err());
    assert_eq!(told.place, EVENTS);
    assert_eq!(told.at, Some(DamagedAt::Event(1)));
    let salvage = one.salvage(&torn.id).await.unwrap();
    let events = [prompts(0, 1), prompts(2, 1)].concat();
    assert_eq!(
        (salvage.events, salvage.damage),
        (events, vec![told.clone()])
    );
    assert_eq!(
        database.tell("SELECT length(what) FROM placard.events WHERE seq = 1"),
        "20"
    );
    // Others are found all the same.
    store(&one, &header("well"), &prompts(0, 1)).await;
    let request = agent_core::store::SearchRequest {
        query: "prompt".to_owned(),
        cwd: None,
        session: None,
        limit: 10,
    };
    assert_eq!(one.search(&request).await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_without_a_readable_header_hides_no_other() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    for name in ["a", "b", "c", "d", "e"] {
        store(&one, &header(name), &prompts(0, 1)).await;
    }
    database.tell("UPDATE placard.sessions SET header = 'nonsense' WHERE id = 'a'");
    database.tell("UPDATE placard.sessions SET config = '[]' WHERE id = 'c'");
    let other = "UPDATE placard.sessions SET header = replace(header, '\"id\":\"e\"', '\"id\":\"x\"') WHERE id = 'e'";
    database.tell(other);

    let first = ListRequest {
        limit: 2,
        ..ListRequest::default()
    };
    let page = one.list(&first).await.unwrap();
    let places = |page: &SessionPage| {
        let damages = page.damaged.iter();
        damages
            .map(|damage| damage.place.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        places(&page),
        [
            "the table of sessions, header of a",
            "the table of sessions, config of c",
            "the table of sessions, header of e"
        ]
    );
    let mut listed = Vec::new();
    let mut next = Some(first);
    while let Some(request) = next.take() {
        let page = one.list(&request).await.unwrap();
        assert_eq!(page.damaged.is_empty(), request.after.is_some());
        listed.extend(page.sessions.iter().map(|it| it.header.id.to_string()));
        next = page.next.map(|after| ListRequest {
            after: Some(after),
            ..request
        });
    }
    assert_eq!(listed, ["d", "b"]);
    for name in ["a", "c", "e"] {
        damage(one.summary(&id(name)).await.unwrap_err());
        let salvage = one.salvage(&id(name)).await.unwrap();
        assert_eq!((salvage.events, salvage.damage.len()), (prompts(0, 1), 1));
        let left = match name {
            "c" => Some(header("c")),
            "e" => Some(header("x")),
            _ => None,
        };
        assert_eq!(salvage.header, left);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_not_what_their_name_says_are_not_given() {
    let database = Cluster::shared().database();
    let one = open(&database).await;
    let output = Blob::new(*b"printed bytes");
    let events = [printed(0, "call", &output)];
    store_with(
        &one,
        &header("bytes"),
        &events,
        std::slice::from_ref(&output),
    )
    .await;
    database.tell("UPDATE placard.blobs SET bytes = 'other bytes'");
    let expected = Damage {
        place: format!("the blob {}", output.id()),
        at: None,
        reason: "it does not hold the bytes that it is named by".to_owned(),
    };
    let single = one.blob(&id("bytes"), output.id()).await;
    assert_eq!(damage(single.unwrap_err()), expected);
    let several = one.blobs(&id("bytes"), &[output.id().clone()]).await;
    assert_eq!(damage(several.unwrap_err()), expected);
}
