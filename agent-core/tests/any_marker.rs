//! The check that the fuzz target of the exit marker makes.

#[path = "../../fuzz/checks/marker.rs"]
mod marker;

use proptest::prelude::*;

proptest! {
    #[test]
    fn any_output_with_any_marker_is_read_back(
        lines in prop::collection::vec("(\\[(exit [0-9]{1,3}|killed by SIG[A-Z]{2,4}|running|not run)(; output cut)?\\]|\\PC{0,9})(\\n|\\r\\n)?", 0..6),
        choice in any::<[u8; 6]>(),
    ) {
        marker::what_was_appended_is_parsed(&lines.concat(), choice);
    }
}
