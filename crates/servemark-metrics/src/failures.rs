//! Groups failed requests by kind, HTTP status and message.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use servemark_core::{ErrorKind, RequestError, RequestRecord, RunLog};

use crate::Metrics;

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FailureGroup {
    /// Kind of failure.
    pub kind: ErrorKind,
    /// Number of failures.
    pub count: usize,
    /// Counts of the HTTP statuses other than 200, for failures by status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<u16, usize>,
    /// The most common messages, most common first.
    pub messages: Vec<FailureMessage>,
}

/// An error message and its count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FailureMessage {
    /// Text of the message.
    pub message: String,
    /// Number of failures with this message.
    pub count: usize,
}

/// Number of failed requests of one or several runs, by class. It displays as a line such as `10 of
/// 100 requests failed: 7 http status 500, 3 no connection`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FailureTally {
    requests: usize,
    classes: BTreeMap<String, usize>,
}

impl FailureTally {
    /// Adds the measured requests of a run.
    pub fn add_run(&mut self, log: &RunLog) {
        log.measured().for_each(|record| self.add_record(record));
    }

    /// Adds a request.
    pub fn add_record(&mut self, record: &RequestRecord) {
        self.requests += 1;
        if let Err(RequestError { kind, .. }) = &record.outcome {
            let status = record.status.filter(|_| *kind == ErrorKind::Status);
            let class = status.map_or_else(|| class(*kind), status_class);
            *self.classes.entry(class).or_default() += 1;
        }
    }

    /// Adds the requests of a run of which only the metrics are known.
    pub fn add_metrics(&mut self, metrics: &Metrics) {
        self.requests += metrics.requests.completed + metrics.requests.failed;
        for group in &metrics.failures {
            for (status, count) in &group.statuses {
                *self.classes.entry(status_class(*status)).or_default() += count;
            }
            let others = group.count - group.statuses.values().sum::<usize>();
            if others > 0 {
                *self.classes.entry(class(group.kind)).or_default() += others;
            }
        }
    }

    /// Returns the number of failed requests.
    pub fn failed(&self) -> usize {
        self.classes.values().sum()
    }
}

impl fmt::Display for FailureTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} requests failed", self.failed(), self.requests)?;
        let mut classes: Vec<(&String, &usize)> = self.classes.iter().collect();
        classes.sort_by_key(|(_, count)| Reverse(**count));
        classes.iter().enumerate().try_for_each(|(index, (class, count))| {
            write!(f, "{} {count} {class}", if index == 0 { ":" } else { "," })
        })
    }
}

fn status_class(status: u16) -> String {
    format!("http status {status}")
}

/// Returns a description of a kind of failure that can follow a number.
fn class(kind: ErrorKind) -> String {
    let words = match kind {
        ErrorKind::Encode => "could not be encoded",
        ErrorKind::Connect => "no connection",
        ErrorKind::Tls => "TLS",
        ErrorKind::Status => "refused by status",
        ErrorKind::InStream => "error in the answer",
        ErrorKind::Decode => "answer not understood",
        ErrorKind::Empty => "empty answer",
        ErrorKind::Truncated => "answer cut short",
        other => return other.to_string(),
    };
    words.to_owned()
}

/// Returns the failures of a run's measurement by kind, most common first.
pub(crate) fn failures(log: &RunLog) -> Vec<FailureGroup> {
    let mut kinds = BTreeMap::<ErrorKind, Vec<&RequestRecord>>::new();
    for record in log.measured() {
        if let Err(RequestError { kind, .. }) = &record.outcome {
            kinds.entry(*kind).or_default().push(record);
        }
    }
    let mut groups: Vec<_> = kinds.into_iter().map(group).collect();
    groups.sort_by_key(|group| Reverse(group.count));
    groups
}

fn group((kind, records): (ErrorKind, Vec<&RequestRecord>)) -> FailureGroup {
    let count = records.len();
    let (mut statuses, mut messages) = (BTreeMap::new(), BTreeMap::<&str, usize>::new());
    for record in records {
        if let Some(status) = record.status.filter(|_| kind == ErrorKind::Status) {
            *statuses.entry(status).or_default() += 1;
        }
        if let Err(error) = &record.outcome {
            *messages.entry(&error.message).or_default() += 1;
        }
    }
    let mut messages: Vec<_> = messages
        .into_iter()
        .map(|(message, count)| FailureMessage { message: message.to_owned(), count })
        .collect();
    messages.sort_by_key(|message| Reverse(message.count));
    messages.truncate(MESSAGES_KEPT);
    FailureGroup { kind, count, statuses, messages }
}

/// Number of messages kept for each kind. Messages often carry a request id, so most runs have as
/// many different messages as failures.
const MESSAGES_KEPT: usize = 3;
