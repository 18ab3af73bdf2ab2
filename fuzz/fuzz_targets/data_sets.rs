#![no_main]

use servemark_fuzz_targets::data_sets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| data_sets(bytes));
