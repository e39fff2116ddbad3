//! `cargo fuzz run marker`

#![no_main]

#[path = "../checks/marker.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some((choice, body)) = data.split_first_chunk() {
        check::what_was_appended_is_parsed(&String::from_utf8_lossy(body), *choice);
    }
});
