//! Compares what a server counted with what this client counted.

use serde::Serialize;
use servemark_core::{Phase, RequestRecord, RunLog, Stamp, Usage};

use super::increases::{Increases, is_within};

/// A quantity that a server and this client both counted during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CountedTwice {
    /// Address of the server's metrics, without anything secret.
    pub source: String,
    /// What was counted: `requests`, `prompt_tokens` or `generated_tokens`.
    pub name: &'static str,
    /// The server's count, for all of its clients.
    pub server: f64,
    /// This client's count.
    pub ours: f64,
}

impl CountedTwice {
    /// Compares the counters of a run's servers with the records. A counter is left out if the
    /// server restarted meanwhile, if no reading was requested after the last request, or if some
    /// answers were not counted.
    pub fn of(log: &RunLog) -> Vec<Self> {
        let Some(increases) = Increases::of(log) else { return Vec::new() };
        let mut all = Vec::new();
        for (index, source) in log.telemetry().sources.iter().enumerate() {
            let Some(since) = last_reading(log, index, increases.began) else { continue };
            for (name, ours) in [
                ("requests", Some(requests(log, since))),
                ("prompt_tokens", tokens(log, since, |usage| usage.prompt_tokens)),
                ("generated_tokens", tokens(log, since, |usage| usage.completion_tokens)),
            ] {
                let Some((server, ours)) = increases.of_source(index, name).zip(ours) else {
                    continue;
                };
                all.push(Self { source: source.name.clone(), name, server, ours });
            }
        }
        all
    }

    /// Returns whether the two counts are the same.
    pub fn agrees(&self) -> bool {
        (self.server - self.ours).abs() < 0.5
    }
}

/// Returns when a source was read last before the measurement.
fn last_reading(log: &RunLog, source: usize, began: Stamp) -> Option<Stamp> {
    let samples = log.telemetry().samples.iter().filter(|sample| sample.source == source);
    let before = samples.filter(|sample| sample.error.is_none() && sample.at <= began);
    before.map(|sample| sample.at).max()
}

/// Returns the requests that ended after a reading, those of the warm-up too.
fn ended_after(log: &RunLog, since: Stamp) -> impl Iterator<Item = &RequestRecord> {
    let is_counted = move |record: &&RequestRecord| {
        record.ended > since && (record.phase == Phase::Warmup || is_within(record.phase))
    };
    log.records().iter().filter(is_counted)
}

fn requests(log: &RunLog, since: Stamp) -> f64 {
    ended_after(log, since).filter(|record| record.is_success()).count() as f64
}

/// Returns the sum of a count over all answers, if every request succeeded and has it, and none was
/// under way at the reading. A request that failed may have been computed in part.
fn tokens(log: &RunLog, since: Stamp, of: fn(Usage) -> Option<u32>) -> Option<f64> {
    let all = ended_after(log, since).map(|record| {
        let is_whole = record.is_success() && record.sent > Some(since);
        of(record.usage.filter(|_| is_whole)?).map(f64::from)
    });
    all.sum()
}
