//! What outlives a command, and the supervisor that can still end it.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::control::{Order, line};
use super::stray;

/// How long a supervisor may take to end everything. It needs half a second; the rest is for a machine under load. After
/// it the supervisor itself is taken for stopped or lost, and everything is killed from here.
pub(super) const END_LIMIT: Duration = Duration::from_secs(2);

/// Processes that outlived their command. They are ended by [`LeftRunning::end`], or when this is dropped.
#[derive(Debug)]
pub struct LeftRunning {
    count: usize,
    control: OwnedWriteHalf,
    supervisor: Supervisor,
    /// Ends with the last of them.
    drain: JoinHandle<()>,
}

impl LeftRunning {
    pub(super) fn new(
        count: usize,
        control: OwnedWriteHalf,
        supervisor: Supervisor,
        drain: JoinHandle<()>,
    ) -> Self {
        Self {
            count,
            control,
            supervisor,
            drain,
        }
    }

    /// How many there were when the command ended.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether they have all ended by themselves.
    pub fn is_over(&self) -> bool {
        self.drain.is_finished()
    }

    /// Ends them and waits until they are gone.
    pub async fn end(mut self) {
        // A supervisor that is gone cannot be asked; what it left is found by its mark.
        let asked = send(&mut self.control, &Order::End).await;
        let in_order = asked.is_ok() && timeout(END_LIMIT, &mut self.drain).await.is_ok();
        if !in_order {
            self.supervisor.kill_all().await;
        }
    }
}

/// The supervisor's process, and the mark of everything below it.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) process: Child,
    pub(super) mark: String,
}

impl Supervisor {
    /// Kills it and everything that bears its mark: for a supervisor that does not do its work any more.
    pub(super) async fn kill_all(&mut self) {
        // It may be dead already; that is one reason to be here.
        let _ = self.process.start_kill();
        let mark = self.mark.clone();
        // Only a runtime that is going down does not run it, and then the control socket closes too.
        let _ = tokio::task::spawn_blocking(move || stray::kill_marked(&mark)).await;
    }
}

pub(super) async fn send(control: &mut OwnedWriteHalf, order: &Order) -> io::Result<()> {
    control.write_all(&line(order)?).await
}
