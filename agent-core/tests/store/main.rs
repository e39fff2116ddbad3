//! The contract of stores: a function for each rule, and a test for each rule and store.
//!
//! A new store gets a [`Place`](place::Place) and a line in [`every_store`].

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it as its body does"
)]

/// Makes a test of each rule for each store, named `theme::store::rule`.
macro_rules! every_store {
    ($($rule:ident),+ $(,)?) => {
        every_store!(@ [] memory, crate::place::Memory::new(); $($rule)+);
        every_store!(@ [] jsonl, crate::place::Jsonl::new(); $($rule)+);
        every_store!(@ [] sqlite, crate::place::Sqlite::new(); $($rule)+);
        every_store!(@ [] postgres, crate::place::Postgres::new(); $($rule)+);
    };
    (@ $attributes:tt $store:ident, $place:expr; $($rule:ident)+) => {
        mod $store {
            $(every_store!(@@ $attributes $place, $rule);)+
        }
    };
    (@@ [$($attribute:tt)*] $place:expr, $rule:ident) => {
        $($attribute)*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $rule() {
            super::$rule(&$place).await;
        }
    };
}

mod appending;
mod blobs;
mod copies;
mod interchange;
mod jsonl;
mod lists;
mod obstacles;
mod other;
mod place;
mod postgres;
mod processes;
mod samples;
mod searching;
mod small_disk;
mod sqlite;
mod together;
mod writers;
