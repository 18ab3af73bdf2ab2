//! Faults of a plan that are known on this machine, before anything is sent.

use std::fs;

use serde_json::Value;
use servemark_client::{Credentials, Target};
use servemark_core::DatasetError;
use servemark_plan::{BenchPlan, ServerSpec};
use servemark_tokenizer::TokenizerSpec;

use crate::{ExecuteError, Outputs};

/// Returns the faults that would stop a run and that this machine can find by itself: settings that
/// do not go together, outputs that cannot be written, missing inputs, and an invalid target.
/// Nothing is sent.
pub fn local_faults(plan: &BenchPlan) -> Vec<ExecuteError> {
    let mut faults: Vec<ExecuteError> = Vec::new();
    faults.extend(plan.check().err().map(ExecuteError::from));
    faults.extend(Outputs::of(plan).check().err().map(ExecuteError::from));
    missing_files(&plan.to_json()["workload"]["dataset"], &mut faults);
    faults.extend(plan.workload.dataset.check_layout().err().map(ExecuteError::from));
    faults.extend(tokenizer(plan));
    if let ServerSpec::At(target) = &plan.server {
        let target = Target::new(target, Credentials::new());
        faults.extend(target.err().map(ExecuteError::Target));
    }
    faults
}

/// Returns what is wrong with a tokenizer on this machine: it is missing, or has no chat template
/// and the data set needs one.
fn tokenizer(plan: &BenchPlan) -> Option<ExecuteError> {
    let is_here = |spec: &&TokenizerSpec| spec.hub_name().is_none() && !spec.source().is_empty();
    let spec = plan.model.tokenizer.as_ref().filter(is_here)?;
    if plan.model.untokenized {
        return None;
    }
    let Some(without_template) = plan.workload.dataset.without_chat_template() else {
        return spec.find().err().map(ExecuteError::from);
    };
    match spec.has_chat_template() {
        Ok(true) => None,
        Ok(false) => Some(without_template.into()),
        Err(error) => Some(error.into()),
    }
}

/// Adds a fault for each file of a data set that does not exist. A path of a data set of the hub
/// may be its name there.
fn missing_files(dataset: &Value, faults: &mut Vec<ExecuteError>) {
    for item in dataset.as_array().into_iter().flatten() {
        missing_files(item, faults);
    }
    let Value::Object(fields) = dataset else { return };
    if fields.get("kind").is_some_and(|kind| kind == "hub") {
        return;
    }
    for (key, value) in fields {
        match value {
            Value::String(path) if FILES.contains(&key.as_str()) => {
                if let Err(source) = fs::metadata(path) {
                    faults.push(DatasetError::Read { path: path.into(), source }.into());
                }
            }
            inner => missing_files(inner, faults),
        }
    }
}

/// Keys of data sets that are paths of files.
const FILES: [&str; 5] = ["corpus", "meta", "path", "prefix_file", "trajectories"];
