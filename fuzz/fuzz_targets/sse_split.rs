#![no_main]

use servemark_fuzz_targets::sse_split;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sse_split(bytes));
