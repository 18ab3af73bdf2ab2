//! Recorded requests, sent when they were.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Recorded requests, one JSON object a line, sent when they were.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeWorkloadSpec {
    /// The file.
    pub path: Option<PathBuf>,
    /// How many times as fast as they came they are sent (`speed`).
    pub speed: f64,
    /// The model that all of them ask for (`model_override`).
    pub model: Option<String>,
    /// What stands for a recorded model; this wins (`model_mapping`).
    pub models: BTreeMap<String, String>,
    /// Whether answers are made as long as the recorded ones (`match_output_length`).
    pub matches_outputs: bool,
    /// Names of headers that the run itself sends, so that recorded ones do not replace them.
    pub own_headers: Vec<String>,
}

impl Default for EvalscopeWorkloadSpec {
    fn default() -> Self {
        Self {
            path: None,
            speed: 1.0,
            model: None,
            models: BTreeMap::new(),
            matches_outputs: false,
            own_headers: Vec::new(),
        }
    }
}
