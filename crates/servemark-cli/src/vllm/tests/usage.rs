//! Command lines that were given to the peer's parser: what it refused, and what it read.

use serde_json::Value;

use super::{expected, mirror, value};
use crate::argparse::Flexible;
use crate::environment::Environment;
use crate::mirror::recorded;
use crate::vllm::parse;

struct Line {
    argv: Vec<String>,
    recorded: Value,
}

impl Line {
    fn all() -> Vec<Self> {
        let line = |recorded: &Value| {
            let argv = serde_json::from_value(recorded["argv"].clone()).unwrap();
            Self { argv, recorded: recorded.clone() }
        };
        recorded("vllm", "usage.json").as_array().unwrap().iter().map(line).collect()
    }

    fn shown(&self) -> String {
        self.argv.join(" ")
    }

    fn is_read(&self) -> bool {
        self.recorded["exit"] == 0
    }
}

#[test]
fn refusals_are_the_peers_word_for_word() {
    for line in Line::all().iter().filter(|line| !line.is_read()) {
        let args = line.argv.iter().map(Into::into);
        let refusal = parse("vllm bench serve", args, &Environment::default()).unwrap_err();
        assert_eq!(refusal.exit_code(), 2);
        let ours = format!("vllm bench serve: error: {}", refusal.cause().unwrap());
        assert_eq!(line.recorded["message"], ours.as_str(), "{}", line.shown());
    }
}

#[test]
fn values_are_read_as_the_peer_reads_them() {
    let mirror = mirror();
    for line in Line::all().iter().filter(|line| line.is_read()) {
        let flexible = Flexible::take_back(line.argv.clone()).unwrap();
        let matches = mirror.matches(&mirror.read(&flexible.args));
        for flag in &mirror.flags {
            let changed = line.recorded["changed"].get(flag["dest"].as_str().unwrap());
            let Some(changed) = changed else { continue };
            let ours = value(&mirror, &matches, flag);
            assert_eq!(ours, expected(flag, changed), "{}: {}", line.shown(), flag["name"]);
        }
    }
}
