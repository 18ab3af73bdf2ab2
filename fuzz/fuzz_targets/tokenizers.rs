#![no_main]

use servemark_fuzz_targets::tokenizers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokenizers(bytes));
