//! Replays recorded command lines of the peers' clients with this program.
//!
//! Each recording in `fixtures/command_lines/` was made by `cargo xtask command-lines` from the
//! peer's real client. A difference fails the test unless its kind is listed as argued in
//! `docs/compat/`; the number beside a kind is the number of lines with such a difference.

use std::path::Path;

use servemark_command_lines::{Own, from_name, read_lines, replay};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// Larger than the number of cores of machines that run tests, because a line spends most of its
/// time waiting.
const JOBS: usize = 12;

#[track_caller]
fn check(peer: &str, argued: &[(&'static str, usize)]) {
    check_file(peer, peer, argued);
}

#[track_caller]
fn check_file(file: &str, peer: &str, argued: &[(&'static str, usize)]) {
    let fixtures = Path::new(FIXTURES);
    let lines = read_lines(&fixtures.join(format!("command_lines/{file}.jsonl.gz"))).unwrap();
    let own = Own::new(Path::new(env!("CARGO_BIN_EXE_servemark")), fixtures).unwrap();
    let tally = replay(&lines, &own, from_name(peer).unwrap(), JOBS).unwrap();
    if let Err(faults) = tally.check(argued) {
        panic!("{faults}");
    }
}

#[test]
fn sglang() {
    check("sglang", &[("counters-of-another-server", 1)]);
}

#[test]
fn vllm() {
    check("vllm", &[("no-json-number", 4)]);
}

/// Speech from the bytes of a hub's table, which none of the drawn lines above sends.
#[test]
fn vllm_speech() {
    check_file("vllm_speech", "vllm", &[]);
}

#[test]
fn evalscope() {
    check(
        "evalscope",
        &[
            ("negative length", 1),
            ("no duration", 1),
            ("nothing to send", 4),
            ("pairs of a text API", 1),
            ("several conversations at once", 1),
            ("whole numbers of 64 bits", 1),
            ("words", 62),
        ],
    );
}

#[test]
fn aisbench() {
    let argued = [("tokenizer of the first model", 1), ("words", 5)];
    check("aisbench", &argued);
}
