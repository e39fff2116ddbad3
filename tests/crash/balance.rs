//! Whether a log is closed.

use std::collections::BTreeSet;

use agent_core::session::event::{Event, EventKind};

/// Every turn, step and call is closed once, and nothing else is; so is every command.
pub fn balance(log: &[Event]) -> Result<(), String> {
    let mut turn = false;
    let mut step = false;
    let mut calls: BTreeSet<&str> = BTreeSet::new();
    let mut commands: BTreeSet<&str> = BTreeSet::new();
    for event in log {
        let Some(kind) = event.what.known() else {
            continue;
        };
        let fits = match kind {
            EventKind::TurnStart { .. } => !std::mem::replace(&mut turn, true),
            EventKind::TurnEnd { .. } => std::mem::replace(&mut turn, false) && !step,
            EventKind::StepStart => turn && !std::mem::replace(&mut step, true),
            EventKind::StepEnd => std::mem::replace(&mut step, false) && calls.is_empty(),
            EventKind::ToolCall { call_id, .. } => {
                commands.insert(call_id);
                step && calls.insert(call_id)
            }
            EventKind::TerminalExit { call_id, .. } => commands.remove(call_id.as_str()),
            EventKind::ToolResult { call_id, .. } => calls.remove(call_id.as_str()),
            _ => true,
        };
        if !fits {
            return Err(format!("event {} does not fit: {kind:?}", event.seq));
        }
    }
    if turn || step || !calls.is_empty() || !commands.is_empty() {
        return Err(format!(
            "left open: turn {turn}, step {step}, calls {calls:?}, commands {commands:?}"
        ));
    }
    Ok(())
}
