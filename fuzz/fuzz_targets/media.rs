#![no_main]

use servemark_fuzz_targets::media;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| media(bytes));
