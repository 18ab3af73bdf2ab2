//! The settings of a data set (`--dataset-args`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_datasets::{LengthRange, PrefixRole, ShortTexts};

use super::args::{DatasetArgs, EvalscopeArgs};
use crate::error::CliError;

/// Returns the settings of the old flag `--multi-turn-args`, without unknown keys.
pub(super) fn old(args: &EvalscopeArgs) -> Result<JsonObject, CliError> {
    let Some(text) = &args.turns.multi_turn_args else { return Ok(JsonObject::new()) };
    let refuse =
        |why: String| CliError::Peer(format!("Failed to parse --multi-turn-args JSON: {why}"));
    let object = serde_json::from_str::<JsonObject>(text);
    let object = object.map_err(|error| refuse(error.to_string()))?;
    Ok(object.into_iter().filter(|(key, _)| OLD.contains(&key.as_str())).collect())
}

/// Keys that the old flag may set.
const OLD: [&str; 3] = ["first_turn_length", "subsequent_turn_length", "chars_per_token"];

/// Returns the settings of the old flag, with defaults for those that it does not set.
pub(super) fn whole(args: &EvalscopeArgs) -> Result<JsonObject, CliError> {
    let (mut known, usual) = (old(args)?, [json!(65_000), json!(500), json!(3.0)]);
    let pairs = OLD.into_iter().zip(usual);
    let mut whole: JsonObject = pairs
        .map(|(key, usual)| (key.to_owned(), known.shift_remove(key).unwrap_or(usual)))
        .collect();
    whole.insert("num_workers".to_owned(), json!(4));
    Ok(whole)
}

/// Returns the settings of `--dataset-args`, with those of the old flag where they are absent. The
/// number of processes that make prompts (`num_workers`) is no longer a setting and is left out.
pub(super) fn merged(
    args: &EvalscopeArgs,
    old: JsonObject,
    warnings: &mut Vec<String>,
) -> Result<Option<JsonObject>, CliError> {
    let mut settings = match &args.dataset.dataset_args {
        None | Some(Value::Null) => None,
        Some(Value::Object(object)) => Some(object.clone()),
        Some(_) => {
            let why = "must be a JSON object, such as {\"target_input_len\": 2048}";
            return Err(CliError::setting(DatasetArgs::DATASET_ARGS, why));
        }
    };
    if !old.is_empty() {
        warnings.push("--multi-turn-args is deprecated; use --dataset-args".to_owned());
        let settings = settings.get_or_insert_default();
        for (key, value) in old {
            settings.entry(key).or_insert(value);
        }
    }
    if let Some(settings) = &mut settings {
        settings.shift_remove("num_workers");
    }
    Ok(settings)
}

/// Converts settings into the type of a data set's settings. The error names a key that is not one
/// of them.
pub(super) fn read<T: for<'a> Deserialize<'a>>(
    settings: Option<&JsonObject>,
) -> Result<T, CliError> {
    let object = settings.cloned().unwrap_or_default();
    serde_json::from_value(Value::Object(object)).map_err(|error| {
        CliError::setting(DatasetArgs::DATASET_ARGS, format!("cannot be used: {error}"))
    })
}

/// Settings of data sets without settings: every key is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoSettings {}

/// Settings of data sets of texts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextSettings {
    pub(super) target_input_len: Option<u32>,
    #[serde(default)]
    pub(super) input_len_mode: ShortTexts,
    pub(super) prefix_file: Option<String>,
    #[serde(default)]
    pub(super) prefix_role: PrefixRole,
}

/// Settings of data sets of conversations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnSettings {
    pub(super) first_turn_length: Option<LengthRange>,
    pub(super) subsequent_turn_length: Option<LengthRange>,
    pub(super) chars_per_token: Option<f64>,
}

/// Settings of data sets of recorded requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadSettings {
    pub(super) speed: Option<f64>,
    pub(super) model_override: Option<String>,
    pub(super) model_mapping: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) match_output_length: bool,
}
