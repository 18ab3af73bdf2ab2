//! A command line and the reproducible part of what a program did for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A command line and the reproducible part of what a program did for it. Addresses, folders, times
/// and random ids are replaced by placeholders in braces.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    /// Number of the line in its draw.
    pub n: u64,
    /// The peer's subcommand; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Arguments after the subcommand.
    pub argv: Vec<String>,
    /// Environment variables that the line sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Input files in its folder, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// Whether the order of its requests is deterministic.
    pub ordered: bool,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Exit code; `None` if the process was killed.
    pub exit: Option<i32>,
    /// Requests that the server received, in order.
    pub requests: Vec<SentRequest>,
    /// Result file that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultFile>,
    /// Labels of the table that was printed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Reason for which the command line was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Ended by an unexpected error: a traceback, a panic or a signal.
    Crashed,
    /// Exit code 0.
    Done,
    /// Any other exit code.
    Failed,
    /// Exit code 2.
    Refused,
    /// Still running at the time limit.
    Stuck,
}

impl Outcome {
    /// Returns whether the run did not come to an end of its own.
    pub(crate) fn is_lost(self) -> bool {
        matches!(self, Self::Crashed | Self::Stuck)
    }
}

/// A request that the server received.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SentRequest {
    /// HTTP method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers that describe the request, by lower-case name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body: a JSON value or text.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

/// A result file that was written.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ResultFile {
    /// Name of the file.
    pub file: String,
    /// Keys in order.
    pub keys: Vec<String>,
    /// Values that do not depend on times.
    pub values: Map<String, Value>,
}
