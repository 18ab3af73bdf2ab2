#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| servemark_fuzz_targets::run("tokenizers", bytes));
