#![no_main]

use servemark_fuzz_targets::run_log;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| run_log(bytes));
