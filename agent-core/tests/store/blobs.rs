//! What is too large for a log lies beside it.

use agent_core::store::{Blob, BlobId};
use pretty_assertions::assert_eq;

use crate::place::Place;
use crate::samples::*;

every_store!(
    blobs_come_back,
    a_blob_that_is_not_kept_is_none,
    a_refused_append_keeps_no_blob,
    a_blob_may_come_again,
    sessions_share_a_blob_and_part_with_it_alone,
);

async fn blobs_come_back(place: &dyn Place) {
    let one = place.open().await;
    let header = header("blobs");
    let every_byte: Vec<u8> = (0..=255).collect();
    let blobs = [
        Blob::new([]),
        Blob::new(every_byte.clone()),
        Blob::new(every_byte.repeat(4096)),
    ];
    let events: Vec<_> = (0..)
        .zip(&blobs)
        .map(|(seq, blob)| printed(seq, &format!("call-{seq}"), blob))
        .collect();
    store_with(&*one, &header, &events, &blobs).await;
    let two = place.open().await;
    assert_eq!(whole(&*two, &header.id).await, events);
    for blob in &blobs {
        let back = two.blob(&header.id, blob.id()).await.unwrap();
        assert!(back.as_deref() == Some(blob.bytes()), "{blob:?}");
    }
    // Several at once, those that are not kept left out.
    let wanted = [blobs[1].id(), &BlobId::of(b"never stored"), blobs[0].id()].map(Clone::clone);
    let back = two.blobs(&header.id, &wanted).await.unwrap();
    let expected = [&blobs[0], &blobs[1]];
    assert_eq!(
        back,
        expected
            .map(|blob| (blob.id().clone(), blob.bytes().to_owned()))
            .into()
    );
}

async fn a_blob_that_is_not_kept_is_none(place: &dyn Place) {
    let one = place.open().await;
    let blob = BlobId::of(b"never stored");
    assert_eq!(one.blob(&id("nobody"), &blob).await.unwrap(), None);
    store(&*one, &header("somebody"), &prompts(0, 1)).await;
    assert_eq!(one.blob(&id("somebody"), &blob).await.unwrap(), None);
}

async fn a_refused_append_keeps_no_blob(place: &dyn Place) {
    let one = place.open().await;
    let header = header("refused");
    let blob = Blob::new(*b"refused bytes");
    let mut writer = writer(&*one, &header.id).await;
    writer
        .append(
            &header,
            &[printed(1, "call", &blob)],
            std::slice::from_ref(&blob),
        )
        .await
        .unwrap_err();
    assert_eq!(one.blob(&header.id, blob.id()).await.unwrap(), None);
    writer.append(&header, &prompts(0, 1), &[]).await.unwrap();
    assert_eq!(one.blob(&header.id, blob.id()).await.unwrap(), None);
}

async fn a_blob_may_come_again(place: &dyn Place) {
    let one = place.open().await;
    let header = header("twice");
    let blob = Blob::new(*b"the same bytes");
    let mut writer = writer(&*one, &header.id).await;
    for seq in 0..3 {
        let events = [printed(seq, &format!("call-{seq}"), &blob)];
        let blobs = [blob.clone(), blob.clone()];
        writer.append(&header, &events, &blobs).await.unwrap();
        writer.append(&header, &events, &blobs).await.unwrap();
    }
    // Or be referred to again without coming.
    let events = [printed(3, "call-3", &blob)];
    writer.append(&header, &events, &[]).await.unwrap();
    let back = one.blob(&header.id, blob.id()).await.unwrap();
    assert_eq!(back.as_deref(), Some(blob.bytes()));
}

async fn sessions_share_a_blob_and_part_with_it_alone(place: &dyn Place) {
    let one = place.open().await;
    let shared = Blob::new(*b"in both");
    let own = Blob::new(*b"in the first alone");
    let events = [printed(0, "a", &shared), printed(1, "b", &own)];
    store_with(
        &*one,
        &header("first"),
        &events,
        &[shared.clone(), own.clone()],
    )
    .await;
    store_with(
        &*one,
        &header("second"),
        &events[..1],
        std::slice::from_ref(&shared),
    )
    .await;
    assert!(one.delete(&id("first")).await.unwrap());
    let two = place.open().await;
    let kept = |session: &'static str, blob: &Blob| {
        let (two, blob) = (&two, blob.id().clone());
        async move { two.blob(&id(session), &blob).await.unwrap() }
    };
    assert_eq!(kept("first", &shared).await, None);
    assert_eq!(kept("first", &own).await, None);
    assert_eq!(
        kept("second", &shared).await.as_deref(),
        Some(shared.bytes())
    );
    assert!(two.delete(&id("second")).await.unwrap());
    assert_eq!(kept("second", &shared).await, None);

    // Who refers to bytes that went brings them again.
    store_with(
        &*one,
        &header("second"),
        &events[..1],
        std::slice::from_ref(&shared),
    )
    .await;
    assert_eq!(
        kept("second", &shared).await.as_deref(),
        Some(shared.bytes())
    );
}
