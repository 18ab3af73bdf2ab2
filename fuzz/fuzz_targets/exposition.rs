#![no_main]

use servemark_fuzz_targets::exposition;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exposition(bytes));
