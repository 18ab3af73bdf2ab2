#![no_main]

use servemark_fuzz_targets::decoders;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| decoders(bytes));
