#![no_main]

use servemark_fuzz_targets::configs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| configs(bytes));
