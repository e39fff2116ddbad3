//! The store of many machines: a PostgreSQL server.

pub mod address;
