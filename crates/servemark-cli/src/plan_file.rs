//! Plans as files: TOML, YAML or JSON.

#[cfg(feature = "commands")]
mod read;
#[cfg(feature = "commands")]
mod set;
mod toml;
mod yaml;

use std::ffi::OsString;
use std::path::Path;

use clap::ValueEnum;
use serde_json::Value;
use servemark_plan::{BenchPlan, DocumentFault, FaultyDocument};

#[cfg(feature = "commands")]
pub(crate) use self::read::read;
#[cfg(feature = "commands")]
pub(crate) use self::set::Setting;
use crate::nearest::did_you_mean;

/// Language of a plan's file.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum PlanFormat {
    /// JSON, as run logs have it.
    Json,
    /// TOML, in which keys without a value are left out.
    Toml,
    /// YAML, with lists in JSON's form.
    Yaml,
}

impl PlanFormat {
    /// Returns the language that the ending of a file's name tells.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// Returns a plan as the text of a file, which [`BenchPlan::from_document`] reads back.
    ///
    /// # Errors
    ///
    /// Returns a message if the language cannot hold the plan.
    pub fn write(self, plan: &BenchPlan) -> Result<String, String> {
        let document = plan.to_json();
        match self {
            Self::Json => Ok(format!("{document:#}\n")),
            Self::Yaml => Ok(yaml::to_text(&document)),
            Self::Toml => {
                let text = toml::to_text(&document);
                let read = toml::read(&text).map(|document| plan_of(&document));
                match read {
                    Ok(Ok(same)) if same == *plan => Ok(text),
                    _ => Err("TOML has no null, and this plan needs one; use --as yaml".to_owned()),
                }
            }
        }
    }
}

/// Returns the arguments with `--plan-format` in place of `--as`, if they ask for a plan in a
/// language. Elsewhere `--as` is a layout of tables, or the beginning of a flag of vLLM's.
pub(crate) fn with_plan_format(args: Vec<OsString>) -> Vec<OsString> {
    if !args.iter().any(|arg| arg == "--plan-only") {
        return args;
    }
    let is_language = |name: &str| PlanFormat::from_str(name, false).is_ok();
    let next = args.iter().skip(1).map(|arg| arg.to_str()).chain([None]);
    let renamed = args.iter().zip(next).map(|(arg, next)| match (arg.to_str(), next) {
        (Some("--as"), Some(language)) if is_language(language) => "--plan-format".into(),
        (Some(arg), _) => match arg.strip_prefix("--as=") {
            Some(language) if is_language(language) => format!("--plan-format={language}").into(),
            _ => arg.into(),
        },
        (None, _) => arg.clone(),
    });
    renamed.collect()
}

/// Places of the values that a peer's result file repeats.
const ECHOES: [&str; 2] = ["/echo", "/warm_up/echo"];

/// Returns the plan of a document, or a line about each fault.
pub(crate) fn plan_of(document: &Value) -> Result<BenchPlan, FaultyFile> {
    let mut document = document.clone();
    // TOML has no null, so a TOML file holds `echo`, whose values may be null, as JSON text.
    for path in ECHOES {
        if let Some(echo) = document.pointer_mut(path)
            && let Value::String(text) = echo
        {
            *echo = serde_json::from_str(text).map_err(|error| FaultyFile {
                faults: vec![format!("{}: is no JSON object: {error}", &path[1..])],
                rest: None,
            })?;
        }
    }
    BenchPlan::from_document(&document).map_err(|FaultyDocument { faults, rest }| FaultyFile {
        faults: faults.iter().map(fault_message).collect(),
        rest,
    })
}

/// A file that is no plan.
#[derive(Debug)]
pub(crate) struct FaultyFile {
    /// Its faults, a line each.
    pub(crate) faults: Vec<String>,
    /// The plan without the faulty keys, if the rest is one.
    pub(crate) rest: Option<Box<BenchPlan>>,
}

fn fault_message(fault: &DocumentFault) -> String {
    match fault {
        DocumentFault::UnknownKey { path, known } => {
            let key = path.rsplit('.').next().unwrap_or(path);
            let nearest = did_you_mean(key, known.iter().map(String::as_str));
            let listed = || match known.as_slice() {
                [] => String::new(),
                known => format!("; there are {}", known.join(", ")),
            };
            let hint = if nearest.is_empty() { listed() } else { nearest };
            format!("{path}: there is no such key{hint}")
        }
        DocumentFault::Value { path, reason } if path.is_empty() => reason.clone(),
        DocumentFault::Value { path, reason } => format!("{path}: {reason}"),
    }
}

#[cfg(feature = "commands")]
#[cfg(test)]
mod tests;
