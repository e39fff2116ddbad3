//! Opening the file: private, never a newer build's, brought to this build's schema after a copy was kept.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, SqliteConnection};

use super::before;
use super::fault::{BUSY, fault, migration_fault, system_fault};
use super::schema::{Found, SCHEMA, look};
use crate::store::{StoreError, folder};

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");

/// Connections at most: one of them writes, the others read.
const CONNECTIONS: u32 = 4;

/// What a write-ahead log that grew large is cut to when it begins anew, in bytes.
const LOG_SIZE: &str = "16777216";

/// Opens the file, creates it where it is missing, and brings it to this build's schema.
pub(super) async fn open(path: &Path) -> Result<SqlitePool, StoreError> {
    if look_at(path).await? != Found::Schema(SCHEMA) {
        let own = path.to_owned();
        // Programs that start together would each find the schema missing and make it.
        let _turn = apart(path, move || prepare(&own).and_then(|()| take_turn(&own))).await?;
        if look_at(path).await? != Found::Schema(SCHEMA) {
            migrate(path).await?;
        }
    }
    let opening = |error| fault(path, "opened", &error);
    let pool = SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(BUSY)
        // They do not break while they wait, as those of a server do.
        .test_before_acquire(false)
        .connect_with(options(path))
        .await
        .map_err(opening)?;
    // A newer build may have come between the look and this connection.
    let schema: i64 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&pool)
        .await
        .map_err(opening)?;
    refuse_newer(path, u32::try_from(schema).unwrap_or(u32::MAX))?;
    Ok(pool)
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY)
        .pragma("journal_size_limit", LOG_SIZE)
        .row_buffer_size(256)
}

/// What the file is; an error where this build must not touch it.
async fn look_at(path: &Path) -> Result<Found, StoreError> {
    let own = path.to_owned();
    let found = apart(path, move || look(&own)).await?;
    match found {
        Found::Schema(schema) => refuse_newer(path, schema)?,
        Found::Foreign => {
            return Err(StoreError::Corrupt {
                path: path.to_owned(),
                reason: "it is no SQLite database, or its beginning was overwritten".to_owned(),
            });
        }
        Found::Empty => {}
    }
    Ok(found)
}

/// Whether there is anything, found out without changing it.
pub(super) async fn is_made(path: &Path) -> Result<bool, StoreError> {
    Ok(look_at(path).await? != Found::Empty)
}

fn refuse_newer(path: &Path, found: u32) -> Result<(), StoreError> {
    if found <= SCHEMA {
        return Ok(());
    }
    Err(StoreError::Newer {
        path: path.to_owned(),
        found,
        known: SCHEMA,
    })
}

/// Brings a file to this schema. What it holds so far is kept in a copy.
async fn migrate(path: &Path) -> Result<(), StoreError> {
    let opening = |error| fault(path, "opened", &error);
    // As it is: a database that is not ours must not even become one with a write-ahead log.
    let plain = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY);
    let mut connection = SqliteConnection::connect_with(&plain)
        .await
        .map_err(opening)?;
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table'")
            .fetch_all(&mut connection)
            .await
            .map_err(opening)?;
    if tables.iter().any(|table| table == "sessions") {
        keep_copy(path, &mut connection).await?;
    } else if tables.iter().any(|table| table != "_sqlx_migrations") {
        return Err(StoreError::Corrupt {
            path: path.to_owned(),
            reason: "it is the database of another program".to_owned(),
        });
    }
    connection.close().await.map_err(opening)?;

    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options(path))
        .await
        .map_err(opening)?;
    let migrated = MIGRATIONS.run(&pool).await;
    pool.close().await;
    migrated.map_err(|error| migration_fault(path, &error))
}

async fn keep_copy(path: &Path, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let opening = |error| fault(path, "opened", &error);
    // So that the copy is one file, as far as others let it.
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut *connection)
        .await
        .map_err(opening)?;
    // Nobody writes meanwhile. The connection's end is the transaction's.
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut *connection)
        .await
        .map_err(opening)?;
    let own = path.to_owned();
    let kept = tokio::task::spawn_blocking(move || before::keep(&own, SCHEMA)).await;
    let kept = kept
        .map_err(io::Error::other)
        .flatten()
        .map_err(|error| StoreError::File {
            path: path.to_owned(),
            attempted: "copied before they are brought to the schema of this build",
            reason: format!("{error}; nothing was changed"),
        })?;
    tracing::info!(copy = %kept.display(), "the sessions are of an older schema; a copy was kept");
    sqlx::query("ROLLBACK")
        .execute(&mut *connection)
        .await
        .map_err(opening)?;
    Ok(())
}

/// Does what waits for the disk on a thread that may.
async fn apart<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)
        .flatten()
        .map_err(|error| system_fault(path, "opened", &error))
}

/// The folder, and the file with mode 0600 before SQLite would make it with the person's umask.
fn prepare(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        folder::make_durable(above)?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    Ok(())
}

/// Waits until no other program brings the file to its schema, and keeps others waiting while the result lives. Its end,
/// however it comes, lets go of the lock.
fn take_turn(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path.with_extension("sqlite.lock"))?;
    file.lock()?;
    Ok(file)
}
