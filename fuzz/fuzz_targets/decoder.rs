//! `cargo fuzz run decoder`

#![no_main]

#[path = "../checks/decoder.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (lengths, bytes) = data.split_at(data.len().min(4));
    check::the_same_text_whatever_the_cuts(bytes, lengths);
});
