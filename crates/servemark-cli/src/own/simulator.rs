//! Flags about `--simulate`, the bundled server.

use clap::{ArgAction, Args};
use serde_json::Value;
use servemark_core::JsonObject;
use servemark_mock::{Fault, MockSpec};
use servemark_plan::ModelSpec;
use servemark_tokenizer::TokenizerSpec;

use crate::argparse::Limit::Needs;
use crate::argparse::{Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: simulator")]
#[expect(clippy::option_option, reason = "clap's form of a flag with an optional value")]
pub(crate) struct SimulatorArgs {
    /// Measure a bundled server whose true latencies are known, and choose a short run; KEY=VALUE
    /// pairs say how it behaves:
    /// ttft=200ms,itl=20ms,jitter=1ms,tokens_per_chunk=4,output_tokens=64,
    /// accept_length=2.5,model=NAME,seed=1, pieces_per_write=64,threads=2,spin=true,places=8,
    /// frontend=3ms,kv_transfer=2ms,network=1ms,prefill_per_token=0.1ms, server_times=llama.cpp,
    /// clock_skew_ms=5000,kv_blocks=500, cache_blocks=1000,hides_cached=true
    #[arg(long, value_name = "SPEC", num_args = 0..=1, value_parser = parse_simulator)]
    pub(crate) simulate: Option<Option<MockSpec>>,
    /// A fault of the bundled server: a name, then, where they apply, @CHUNK, :ARGUMENT and /EVERY:
    /// status:503/10, cut@5/3, stall@5:2s, preempt@5:2s/3, reset/100, close-after:0.1ms; may be given
    /// several times
    #[arg(long, value_name = "FAULT", action = ArgAction::Append)]
    simulate_fault: Vec<Fault>,
}

flags! { SimulatorArgs {
    SIMULATE = "--simulate";
    SIMULATE_FAULT = "--simulate-fault" => [Needs(Self::SIMULATE)];
}}

/// Limit of flags that say where the server is.
pub(crate) const NOT_SIMULATED: Limit =
    Limit::UnlessSince(SimulatorArgs::SIMULATE, "which starts a server of its own");

/// The model's names and its tokenizer, as a peer's flags give them.
pub(crate) struct ModelNames<'a> {
    pub(crate) model: &'a Option<String>,
    pub(crate) served: &'a Option<String>,
    pub(crate) tokenizer: &'a Option<String>,
}

impl SimulatorArgs {
    /// Returns the model's names and its tokenizer. The name of a simulator's model is known
    /// without asking the simulator.
    pub(crate) fn model(&self, names: &ModelNames<'_>) -> ModelSpec {
        let simulated = self.spec(names.model.as_deref()).map(|simulator| simulator.model);
        let mut spec =
            ModelSpec { name: simulated.or_else(|| names.model.clone()), ..ModelSpec::default() };
        spec.served_name.clone_from(names.served);
        spec.tokenizer = names.tokenizer.as_ref().map(TokenizerSpec::new);
        spec
    }

    /// Returns the simulator that was asked for, with its faults and under the model's name; `None`
    /// without `--simulate`.
    pub(crate) fn spec(&self, model: Option<&str>) -> Option<MockSpec> {
        let mut spec = self.simulate.as_ref()?.clone().unwrap_or_default();
        spec.faults.extend(self.simulate_fault.iter().cloned());
        // No command shows the requests that its simulator received.
        spec.keep_requests = 0;
        if let Some(model) = model {
            model.clone_into(&mut spec.model);
        }
        Some(spec)
    }
}

/// Parses `ttft=200ms,itl=20ms`: the keys of a [`MockSpec`] with their values, separated by commas.
fn parse_simulator(text: &str) -> Result<MockSpec, String> {
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
