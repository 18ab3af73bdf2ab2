#![no_main]

use servemark_fuzz_targets::connection;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| connection(bytes));
