//! The mirror of the flags, held against what SGLang 0.5.23's own parser says.

mod abbreviations;
mod mirror;
mod usage;

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value, json};
use servemark_metrics::Slo;

use super::args::SglangArgs;

/// A recording of the peer.
fn recorded(name: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/");
    let text = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn command() -> Command {
    SglangArgs::whole_command("serving")
}

fn arg<'a>(command: &'a Command, flag: &str) -> &'a Arg {
    let long = flag.strip_prefix("--");
    command.get_arguments().find(|arg| arg.get_long() == long).unwrap()
}

/// What a flag's value is, in the form of the recording. Panics if its type is not the peer's.
fn value(matches: &ArgMatches, arg: &Arg, recorded: &Value) -> Value {
    let id = arg.get_id().as_str();
    let is_list = !recorded["nargs"].is_null();
    match recorded["type"].as_str() {
        None if recorded["kind"] == "store_true" => json!(matches.get_flag(id)),
        Some("int") => listed(matches.get_many::<i64>(id), is_list, |number| json!(number)),
        Some("float" | "_finite_positive_float") => {
            listed(matches.get_many::<f64>(id), is_list, |number| float(*number))
        }
        Some("_goodput_slo") => {
            let pair = |slo: &Slo| json!([slo.metric.name(), slo.limit_ms]);
            listed(matches.get_many::<Slo>(id), is_list, pair)
        }
        _ => listed(matches.get_many::<String>(id), is_list, |text| json!(text)),
    }
}

fn listed<'a, T: 'a>(
    values: Option<impl Iterator<Item = &'a T>>,
    is_list: bool,
    show: impl Fn(&'a T) -> Value,
) -> Value {
    let values = values.map(|values| values.map(show).collect::<Vec<_>>());
    match values {
        None => Value::Null,
        Some(values) if is_list => values.into(),
        Some(values) => values.into_iter().next_back().unwrap_or_default(),
    }
}

/// JSON has no infinity; the recordings write it as text.
fn float(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { json!(number.to_string()) }
}
