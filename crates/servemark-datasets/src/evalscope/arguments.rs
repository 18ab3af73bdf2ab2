//! What `--dataset-args` says. Each data set takes its own keys and refuses every other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use servemark_core::JsonObject;

use super::{
    EvalscopeData, EvalscopeName, EvalscopeSweSmithSpec, EvalscopeTexts, EvalscopeWorkloadSpec,
    LengthRange, PrefixRole, ShortTexts, TargetLength,
};
use crate::SpecError;

impl EvalscopeData {
    /// The same data set with what `--dataset-args` says.
    pub fn with_arguments(mut self, arguments: &JsonObject) -> Result<Self, SpecError> {
        let name = self.name();
        let told = Told { name, arguments };
        match &mut self {
            Self::Texts(spec) if spec.texts != EvalscopeTexts::Custom => {
                spec.target =
                    told.read::<TextArguments>()?.target().map_err(|why| told.bad(why))?;
            }
            Self::SweSmith(spec) => told.read::<TurnArguments>()?.tell(spec),
            Self::Workload(spec) => {
                told.read::<WorkloadArguments>()?.tell(spec).map_err(|why| told.bad(why))?;
            }
            _ => {
                told.read::<NoArguments>()?;
            }
        }
        Ok(self)
    }
}

/// Arguments and the data set that they are told.
struct Told<'a> {
    name: EvalscopeName,
    arguments: &'a JsonObject,
}

impl Told<'_> {
    fn read<T: DeserializeOwned>(&self) -> Result<T, SpecError> {
        let read = serde_json::from_value(self.arguments.clone().into());
        read.map_err(|error| self.bad(error.to_string()))
    }

    fn bad(&self, reason: impl Into<String>) -> SpecError {
        SpecError::Arguments { dataset: self.name.as_str(), reason: reason.into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextArguments {
    target_input_len: Option<u32>,
    #[serde(default)]
    input_len_mode: ShortTexts,
    prefix_file: Option<PathBuf>,
    #[serde(default)]
    prefix_role: PrefixRole,
}

impl TextArguments {
    fn target(self) -> Result<Option<TargetLength>, &'static str> {
        let Self { target_input_len, input_len_mode, prefix_file, prefix_role } = self;
        let Some(tokens) = target_input_len else {
            let is_whole = prefix_file.is_none();
            return if is_whole { Ok(None) } else { Err("prefix_file needs target_input_len") };
        };
        if tokens == 0 {
            return Err("target_input_len must be above 0");
        }
        if prefix_file.is_some() && input_len_mode == ShortTexts::Drop {
            return Err("prefix_file fills prompts that input_len_mode \"drop\" leaves out; take \
                        \"cap\"");
        }
        Ok(Some(TargetLength { tokens, short: input_len_mode, prefix_file, prefix_role }))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnArguments {
    first_turn_length: Option<LengthRange>,
    subsequent_turn_length: Option<LengthRange>,
    chars_per_token: Option<f64>,
}

impl TurnArguments {
    fn tell(self, spec: &mut EvalscopeSweSmithSpec) {
        spec.first_turn = self.first_turn_length.unwrap_or(spec.first_turn);
        spec.later_turns = self.subsequent_turn_length.unwrap_or(spec.later_turns);
        spec.chars_per_token = self.chars_per_token.unwrap_or(spec.chars_per_token);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadArguments {
    speed: Option<f64>,
    model_override: Option<String>,
    model_mapping: Option<BTreeMap<String, String>>,
    #[serde(default)]
    match_output_length: bool,
}

impl WorkloadArguments {
    fn tell(self, spec: &mut EvalscopeWorkloadSpec) -> Result<(), String> {
        spec.speed = self.speed.unwrap_or(1.0);
        spec.model = self.model_override;
        spec.models = self.model_mapping.unwrap_or_default();
        spec.matches_outputs = self.match_output_length;
        if spec.speed > 0.0 {
            Ok(())
        } else {
            Err(format!("speed must be above 0, not {}", spec.speed))
        }
    }
}
