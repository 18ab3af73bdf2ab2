#![no_main]

use servemark_fuzz_targets::hub_listing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hub_listing(bytes));
