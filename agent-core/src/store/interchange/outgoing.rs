//! From a store to lines.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::{BlobLine, Carried, InterchangeError, referred};
use crate::session::SessionId;
use crate::session::event::Event;
use crate::store::{SessionStore, StoreError};

/// How many events are read at a time.
const PAGE: usize = 256;

/// Writes a session as lines, as far as it is stored when this is called; it may be at work. A session that is damaged is an
/// error: `placard sessions recover` makes a whole one of it.
pub async fn export(
    store: &dyn SessionStore,
    id: &SessionId,
    sink: &mut (dyn AsyncWrite + Send + Unpin),
) -> Result<Carried, InterchangeError> {
    let missing = || StoreError::Missing { id: id.clone() };
    let summary = store.summary(id).await?.ok_or_else(missing)?;
    write(sink, &summary).await?;
    let mut carried = Carried {
        id: id.clone(),
        events: 0,
        blobs: 0,
        missing: BTreeSet::new(),
    };
    let mut told = BTreeSet::new();
    while carried.events < summary.events {
        let left = usize::try_from(summary.events - carried.events).unwrap_or(PAGE);
        let events = store.read(id, carried.events, left.min(PAGE)).await?;
        if events.is_empty() {
            // It was deleted, and perhaps begun anew, in the middle.
            return Err(missing().into());
        }
        for event in events {
            for blob in referred(&event) {
                if !told.insert(blob.clone()) {
                    continue;
                }
                let bytes = store.blob(id, &blob).await?;
                match bytes {
                    Some(_) => carried.blobs += 1,
                    None => _ = carried.missing.insert(blob.clone()),
                }
                let base64 = bytes.map(|bytes| STANDARD.encode(bytes));
                write(sink, &BlobLine { blob, base64 }).await?;
            }
            write::<Event>(sink, &event).await?;
            carried.events += 1;
        }
    }
    // A summary counts what can be read. What is damaged behind it shows itself here.
    store.read(id, carried.events, 1).await?;
    sink.flush().await.map_err(InterchangeError::Write)?;
    Ok(carried)
}

async fn write<T: Serialize>(
    sink: &mut (dyn AsyncWrite + Send + Unpin),
    line: &T,
) -> Result<(), InterchangeError> {
    let mut text = serde_json::to_vec(line)
        .map_err(|error| InterchangeError::Write(std::io::Error::other(error)))?;
    text.push(b'\n');
    sink.write_all(&text).await.map_err(InterchangeError::Write)
}
