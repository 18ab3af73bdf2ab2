//! `--simulate`: the bundled server, and a run against it that is worth looking at.
//!
//! What the user gives stands; the rest is chosen so that `--simulate` alone is over in about six
//! seconds and shows queueing, streaming and a spread of lengths.

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_mock::MockSpec;

use super::args::SglangArgs;
use super::given::Given;
use crate::python;

/// Reads `ttft=200ms,itl=20ms`: the keys of a [`MockSpec`], parted by commas.
pub(super) fn parse_simulator(text: &str) -> Result<MockSpec, String> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let object = pairs.map(pair).collect::<Result<JsonObject, String>>()?;
    serde_json::from_value(object.into()).map_err(|error| error.to_string())
}

fn pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        format!("expected KEY=VALUE, such as ttft=200ms, got {}", python::repr(text))
    })?;
    let is_bare = |value: &Value| value.is_number() || value.is_boolean();
    let bare = serde_json::from_str(value).ok().filter(is_bare);
    Ok((key.to_owned(), bare.unwrap_or_else(|| value.into())))
}

/// The simulator that was asked for, with its faults and under the model's name.
pub(super) fn simulator(args: &SglangArgs) -> Option<MockSpec> {
    let asked = args.simulator.simulate.as_ref()?;
    let mut spec = asked.clone().unwrap_or_default();
    spec.faults.extend(args.simulator.simulate_fault.iter().cloned());
    if let Some(model) = &args.target.model {
        spec.model.clone_from(model);
    }
    Some(spec)
}

/// Chooses what the user left open.
pub(super) fn choose_the_rest(args: &mut SglangArgs, given: &Given) {
    if args.simulator.simulate.is_none() {
        return;
    }
    let open = |flag: &str| !given.is(flag);
    if open("--dataset-name") && open("--dataset-path") {
        "random-ids".clone_into(&mut args.dataset.dataset_name);
    }
    if open("--num-prompts") {
        args.dataset.num_prompts = 256;
    }
    if open("--random-input-len") {
        args.dataset.random_input_len = 128;
    }
    if open("--random-output-len") {
        args.dataset.random_output_len = 128;
    }
    if open("--random-range-ratio") {
        args.dataset.random_range_ratio = 0.5;
    }
    if open("--request-rate") {
        args.load.request_rate = 64.0;
    }
    args.own.include_usage = true;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pairs_are_the_keys_of_the_simulator() {
        let spec = parse_simulator("ttft=200ms, itl=20,tokens_per_chunk=4,model=tiny,spin=true");
        let spec = spec.unwrap();
        assert_eq!(spec.ttft, Duration::from_millis(200));
        assert_eq!(spec.itl, Duration::from_millis(20));
        assert_eq!((spec.tokens_per_chunk.get(), spec.model.as_str()), (4, "tiny"));
        assert!(spec.spin);
    }

    #[test]
    fn a_mistake_is_named() {
        let error = parse_simulator("tftt=1").unwrap_err();
        assert!(error.contains("tftt") && error.contains("ttft"), "{error}");
        let error = parse_simulator("200ms").unwrap_err();
        assert_eq!(error, "expected KEY=VALUE, such as ttft=200ms, got '200ms'");
        let error = parse_simulator("itl=soon").unwrap_err();
        assert!(error.contains("\"soon\" is not a duration"), "{error}");
    }
}
