//! A conversation that came to its end: what the others are compared with.

use serde_json::Value;

use crate::conversation::{Aftermath, Sabotage, converse};
use crate::library::Order;
use crate::store::Kept;
use crate::survey::Remains;
use crate::trace::{self, Operation};

/// A conversation that came to its end, and what it left.
#[derive(Debug)]
pub struct Undisturbed {
    pub aftermath: Aftermath,
    /// Everything that it can be killed at.
    pub operations: Vec<Operation>,
    /// Its log without what differs from run to run.
    pub log: Vec<Value>,
}

impl Undisturbed {
    pub async fn of(kept: Kept) -> Self {
        let aftermath = converse(kept, &Sabotage::Order(Order::Nothing)).await;
        assert!(
            aftermath.finished,
            "{}",
            String::from_utf8_lossy(&aftermath.said)
        );
        let operations = trace::changes(aftermath.watch.operations());
        let remains = Remains::of(kept, &aftermath);
        let found = remains.survey(&[]).await.unwrap();
        assert_eq!(found.left, found.repaired, "nothing is to be repaired");
        let log = remains.plain(&found.left);
        Self {
            aftermath,
            operations,
            log,
        }
    }
}
