//! A file that others use is waited for, and no longer than is said.

use std::time::{Duration, Instant};

use agent_core::store::{ListRequest, SessionStore as _, StoreError};
use pretty_assertions::assert_eq;
use sqlx::Connection as _;

use super::{File, execute};
use crate::samples::*;

#[tokio::test]
async fn readers_wait_for_nobody_and_a_writer_until_the_other_is_done() {
    let file = File::new();
    let one = file.open().await;
    store(&one, &header("read"), &prompts(0, 3)).await;
    let mut other = file.raw().await;
    execute(&mut other, "BEGIN EXCLUSIVE").await;
    execute(&mut other, "DELETE FROM events").await;

    assert_eq!(whole(&one, &id("read")).await, prompts(0, 3));
    let everything = ListRequest {
        limit: 9,
        ..ListRequest::default()
    };
    assert_eq!(one.list(&everything).await.unwrap().sessions.len(), 1);
    let mut writer = writer(&one, &id("written")).await;
    let append = tokio::spawn(async move {
        writer
            .append(&header("written"), &prompts(0, 1), &[])
            .await
            .unwrap();
        writer.release().await;
    });
    assert_eq!(whole(&one, &id("read")).await, prompts(0, 3));
    assert!(!one.has(&id("written")).await.unwrap());
    execute(&mut other, "ROLLBACK").await;
    append.await.unwrap();
    assert_eq!(whole(&one, &id("written")).await, prompts(0, 1));
}

#[tokio::test]
async fn a_file_that_stays_busy_is_told_by_name() {
    let file = File::new();
    let one = file.open().await;
    store(&one, &header("kept"), &prompts(0, 1)).await;
    let mut other = file.raw().await;
    execute(&mut other, "BEGIN IMMEDIATE").await;
    let begun = Instant::now();
    let mut writers = Vec::new();
    for name in ["kept", "new", "newer"] {
        writers.push((header(name), writer(&one, &id(name)).await));
    }
    // All of them together wait no longer than one.
    let appending = writers.iter_mut().map(async |(header, writer)| {
        let seq = u64::from(header.id == id("kept"));
        writer.append(header, &prompts(seq, 1), &[]).await
    });
    for refused in futures::future::join_all(appending).await {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
        let text = error.to_string();
        assert!(!text.contains("database is locked"), "{text}");
    }
    assert!(begun.elapsed() >= Duration::from_secs(5));
    execute(&mut other, "ROLLBACK").await;
    other.close().await.unwrap();
    for (header, writer) in &mut writers {
        let seq = u64::from(header.id == id("kept"));
        writer.append(header, &prompts(seq, 1), &[]).await.unwrap();
    }
    assert_eq!(whole(&one, &id("kept")).await, prompts(0, 2));
    assert_eq!(whole(&one, &id("newer")).await, prompts(0, 1));
}
