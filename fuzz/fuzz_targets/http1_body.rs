#![no_main]

use servemark_fuzz_targets::http1_body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| http1_body(bytes));
