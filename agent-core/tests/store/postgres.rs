//! What is PostgreSQL's own: leases, servers that go away, schemas, damage, long texts.

mod damage;
mod index;
mod lease;
mod owner;
mod schema;
mod server;

use agent_core::store::postgres::PostgresStore;
use agent_core::store::postgres::address::ServerAddress;
use test_postgres::Database;

/// The store in a database, opened anew.
async fn open(database: &Database<'_>) -> PostgresStore {
    PostgresStore::open(&address(database)).await.unwrap()
}

fn address(database: &Database<'_>) -> ServerAddress {
    ServerAddress::parse(&database.url()).unwrap()
}
