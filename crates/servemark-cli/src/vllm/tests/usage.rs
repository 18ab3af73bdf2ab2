//! Compares the reading of command lines with a recording of vLLM's parser: what it refused, and
//! which values it read.

use super::{expected, mirror, value};
use crate::argparse::Flexible;
use crate::environment::Environment;
use crate::mirror::RecordedLine;
use crate::vllm::parse;

fn lines() -> Vec<RecordedLine> {
    RecordedLine::all("vllm", "usage.json")
}

#[test]
fn refusals_are_the_peers_word_for_word() {
    for line in lines().iter().filter(|line| !line.is_read()) {
        let refusal = parse("vllm bench serve", line.args(), &Environment::default()).unwrap_err();
        assert_eq!(refusal.exit_code(), 2);
        let ours = format!("vllm bench serve: error: {}", refusal.cause().unwrap());
        assert_eq!(line.recorded["message"], ours.as_str(), "{}", line.command_line());
    }
}

#[test]
fn values_are_read_as_the_peer_reads_them() {
    let mirror = mirror();
    for line in lines().iter().filter(|line| line.is_read()) {
        let flexible = Flexible::take_back(line.argv.clone()).unwrap();
        let matches = mirror.matches(&mirror.read(&flexible.args));
        for flag in &mirror.flags {
            let changed = line.recorded["changed"].get(flag["dest"].as_str().unwrap());
            let Some(changed) = changed else { continue };
            let ours = value(&mirror, &matches, flag);
            assert_eq!(ours, expected(flag, changed), "{}: {}", line.command_line(), flag["name"]);
        }
    }
}
