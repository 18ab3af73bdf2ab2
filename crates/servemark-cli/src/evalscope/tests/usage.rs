//! Tests with command lines that were given to evalscope: its refusals, and the arguments that it
//! made of them.

use serde_json::{Value, json};
use servemark_core::JsonObject;

use crate::environment::Environment;
use crate::error::UsageError;
use crate::evalscope::parse;
use crate::mirror::{RecordedLine, recorded};

fn lines() -> Vec<RecordedLine> {
    RecordedLine::all("evalscope", "usage.json")
}

/// Returns the arguments that the result of the first run repeats.
fn echo(line: &RecordedLine) -> Result<JsonObject, UsageError> {
    parse("evalscope perf", line.args(), &Environment::default()).map(|runs| runs.first.plan.echo)
}

#[test]
fn refusals_are_the_peers_word_for_word() {
    for line in lines().iter().filter(|line| !line.is_read()) {
        let theirs = line.recorded["message"].as_str().unwrap();
        if theirs.starts_with(BY_TYPE) {
            continue;
        }
        let refusal = echo(line).unwrap_err();
        assert_eq!(refusal.exit_code(), 2);
        let ours = format!("evalscope perf: error: {}", refusal.cause().unwrap());
        let theirs = match theirs.strip_prefix("Value error, ") {
            // For invalid JSON, Python's parser gives other reasons than ours.
            Some(message) => {
                let message = message.split(": Expecting").next().unwrap();
                format!("evalscope perf: error: {message}")
            }
            None => theirs.replace(", None)", ")"),
        };
        assert!(ours.starts_with(&theirs), "{}: {ours}\n{theirs}", line.command_line());
    }
}

/// Start of the refusals by the types of evalscope's model, which do not name the flag.
const BY_TYPE: &str = "Input should be";

#[test]
fn arguments_are_what_the_peer_makes_of_them() {
    let known: JsonObject = serde_json::from_value(recorded("evalscope", "defaults.json")).unwrap();
    for line in lines().iter().filter(|line| line.is_read()) {
        let mut expected = known.clone();
        for (key, value) in line.recorded["changed"].as_object().unwrap() {
            expected.insert(key.clone(), value.clone());
        }
        match echo(line) {
            Ok(echo) => {
                let ours = Value::Object(comparable(echo));
                let theirs = Value::Object(comparable(expected));
                assert_eq!(ours.to_string(), theirs.to_string(), "{}", line.command_line());
            }
            Err(refusal) => {
                assert!(
                    REFUSED.iter().any(|flag| line.argv.iter().any(|arg| arg == flag)),
                    "{refusal}"
                );
            }
        }
    }
}

/// Makes arguments comparable: lists of a sweep become the values of the first run, and the values
/// of headers are hidden.
fn comparable(mut arguments: JsonObject) -> JsonObject {
    for key in ["number", "parallel", "rate"] {
        if let Some(Value::Array(list)) = arguments.get(key).cloned() {
            arguments.insert(key.to_owned(), list[0].clone());
        }
    }
    let headers = arguments["headers"].as_object().unwrap().keys();
    let hidden: JsonObject = headers.map(|key| (key.clone(), json!("**********"))).collect();
    arguments.insert("headers".to_owned(), hidden.into());
    arguments.insert("outputs_dir".to_owned(), Value::Null);
    if arguments["sla_auto_tune"] == true {
        // A search sets the number of requests of each run itself.
        arguments.insert("number".to_owned(), Value::Null);
    }
    arguments
}

/// Arguments of command lines that evalscope reads and that are refused here: what is not built,
/// and what evalscope refuses only when it runs.
const REFUSED: [&str; 6] =
    ["local", "systemone", "autotrust", "workload_trace", "--multi-turn-args", "--sla-params"];
