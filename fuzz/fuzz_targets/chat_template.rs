#![no_main]

use servemark_fuzz_targets::chat_template;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chat_template(bytes));
