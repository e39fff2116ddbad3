//! Which store sessions go to, and whether it opens.

use std::path::Path;

use agent_core::config::Config;
use agent_core::store::opening::StorePlace;

use super::finding::{Finding, State};

/// Looks at the store that the configuration names. It is not made, and not brought to another schema.
pub(super) async fn open(config: &Config, data_dir: &Path) -> Finding {
    let topic = "store";
    let place = StorePlace::of(&config.store, data_dir);
    match place.look().await {
        Ok(found) => {
            let state = if found.notes.is_empty() {
                State::Ok
            } else {
                State::Note
            };
            let text = if found.made {
                format!("{place}; it opens")
            } else {
                format!("{place}, which the first session makes")
            };
            Finding::new(topic, state, text).with(found.notes)
        }
        Err(error) => Finding::new(topic, State::Wrong, error.to_string()),
    }
}
