//! How many requests failed, why, and in whose words.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use servemark_core::{ErrorKind, RequestError, RunLog};

/// The failures of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FailureGroup {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// How many there were.
    pub count: usize,
    /// The most common messages, most common first.
    pub messages: Vec<FailureMessage>,
}

/// One message and how often it was met.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FailureMessage {
    /// What happened.
    pub message: String,
    /// How often.
    pub count: usize,
}

/// The failures of a run's measurement by kind, most common first.
pub(crate) fn failures(log: &RunLog) -> Vec<FailureGroup> {
    let mut kinds = BTreeMap::<ErrorKind, BTreeMap<&str, usize>>::new();
    for RequestError { kind, message, .. } in
        log.measured().filter_map(|record| record.outcome.as_ref().err())
    {
        *kinds.entry(*kind).or_default().entry(message).or_default() += 1;
    }
    let mut groups: Vec<_> = kinds.into_iter().map(group).collect();
    groups.sort_by_key(|group| Reverse(group.count));
    groups
}

fn group((kind, messages): (ErrorKind, BTreeMap<&str, usize>)) -> FailureGroup {
    let count = messages.values().sum();
    let mut messages: Vec<_> = messages
        .into_iter()
        .map(|(message, count)| FailureMessage { message: message.to_owned(), count })
        .collect();
    messages.sort_by_key(|message| Reverse(message.count));
    messages.truncate(MESSAGES_KEPT);
    FailureGroup { kind, count, messages }
}

/// Messages often carry a request id, so most runs have as many as failures.
const MESSAGES_KEPT: usize = 3;
