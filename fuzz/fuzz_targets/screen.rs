//! `cargo fuzz run screen`

#![no_main]

#[path = "../checks/screen.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let [rows, columns, bytes @ ..] = data {
        check::any_bytes_leave_a_whole_screen(bytes, *rows, *columns);
    }
});
