//! Bringing a database to this build's schema, once, whoever comes first.

use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::connections::Connections;
use super::fault::Fault;
use crate::store::StoreError;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/postgres");

/// Makes the database ready. One of a newer build is refused and not touched.
pub(super) async fn prepare(connections: &Connections) -> Result<(), StoreError> {
    let opening = |fault: Fault| connections.error("opened", fault);
    let mut connection = connections.connect().await.map_err(opening)?;
    if found(connections, &mut connection).await? == Some(known()) {
        return Ok(());
    }
    let found = connections
        .answered(migrate(&mut connection))
        .await
        .map_err(opening)?;
    refuse_newer(connections, found)
}

/// Whether there is a store, and what a person may want to know of the server.
pub(super) async fn look(connections: &Connections) -> Result<(bool, Vec<String>), StoreError> {
    let opening = |fault: Fault| connections.error("opened", fault);
    let mut connection = connections.connect().await.map_err(opening)?;
    let found = found(connections, &mut connection).await?;
    let asked = sqlx::query_as(
        "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name",
    );
    let settings: Vec<(String, String)> = connections
        .answered(asked.fetch_all(&mut connection))
        .await
        .map_err(opening)?;
    let notes = settings.into_iter().map(|(name, setting)| {
        format!("{name} is {setting} on the server: a power cut there can destroy its sessions")
    });
    Ok((found.is_some(), notes.collect()))
}

/// The database's schema; none before the first migration. An error where this build must not touch it.
async fn found(
    connections: &Connections,
    connection: &mut PgConnection,
) -> Result<Option<u32>, StoreError> {
    let opening = |fault: Fault| connections.error("opened", fault);
    let encoding: String = connections
        .answered(sqlx::query_scalar("SHOW server_encoding").fetch_one(&mut *connection))
        .await
        .map_err(opening)?;
    if encoding != "UTF8" {
        let reason =
            format!("the database is encoded as {encoding}; create one with ENCODING 'UTF8'");
        return Err(connections.refusal("opened", reason));
    }
    let found = connections
        .answered(version(connection))
        .await
        .map_err(opening)?;
    refuse_newer(connections, found.unwrap_or_default())?;
    Ok(found)
}

fn refuse_newer(connections: &Connections, found: u32) -> Result<(), StoreError> {
    if found <= known() {
        return Ok(());
    }
    Err(StoreError::NewerOnServer {
        server: connections.server(),
        found,
        known: known(),
    })
}

/// The schema that this build writes.
fn known() -> u32 {
    let newest = MIGRATIONS.iter().map(|migration| migration.version).max();
    newest
        .and_then(|newest| u32::try_from(newest).ok())
        .unwrap_or_default()
}

/// The database's schema; none before the first migration.
async fn version(connection: &mut PgConnection) -> Result<Option<u32>, sqlx::Error> {
    let there: bool =
        sqlx::query_scalar("SELECT to_regclass('placard.schema_version') IS NOT NULL")
            .fetch_one(&mut *connection)
            .await?;
    if !there {
        return Ok(None);
    }
    let version: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM placard.schema_version")
            .fetch_one(&mut *connection)
            .await?;
    Ok(version.map(|version| u32::try_from(version).unwrap_or(u32::MAX)))
}

/// Brings the database to this build's schema, or to nothing: in one transaction. Programs that start together do it one after the
/// other, and all but the first find it done. Gives the version that it has then.
async fn migrate(connection: &mut PgConnection) -> Result<u32, sqlx::Error> {
    sqlx::query("SELECT set_config('lock_timeout', '60s', false)")
        .execute(&mut *connection)
        .await?;
    // Before the transaction and not in it: a transaction may go on with what it knew of the schema when it began. It is let go
    // with the connection.
    sqlx::query("SELECT pg_advisory_lock(hashtextextended('placard.schema', 0))")
        .execute(&mut *connection)
        .await?;
    let mut transaction = connection.begin().await?;
    let found = version(&mut transaction).await?;
    if found.is_none() {
        sqlx::raw_sql(
            "CREATE SCHEMA IF NOT EXISTS placard;
             CREATE TABLE placard.schema_version (version bigint NOT NULL PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
        )
        .execute(&mut *transaction)
        .await?;
    }
    let found = found.unwrap_or_default();
    let mut reached = found;
    for migration in MIGRATIONS.iter() {
        let version = u32::try_from(migration.version).unwrap_or(u32::MAX);
        if version <= found {
            continue;
        }
        // Our own files, put into the program when it was built.
        sqlx::raw_sql(AssertSqlSafe(migration.sql.as_str().to_owned()))
            .execute(&mut *transaction)
            .await?;
        sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
            .bind(migration.version)
            .execute(&mut *transaction)
            .await?;
        reached = version;
    }
    transaction.commit().await?;
    Ok(reached)
}
