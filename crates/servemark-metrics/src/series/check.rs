//! Compares what a server counted with what this client counted.

use serde::Serialize;
use servemark_core::{Phase, RequestRecord, RunLog, Stamp, Usage};

use super::{Replayed, replay};

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
        let Some((began, ended)) = span(log) else { return Vec::new() };
        let telemetry = log.telemetry();
        let mut counters: Vec<Counter> = vec![Counter::default(); telemetry.series.len()];
        replay(telemetry, |event| {
            if let Replayed::Reading { id, requested, at, value, before, .. } = event {
                counters[id].add((requested, at), value, before.is_some(), (began, ended));
            }
        });
        let mut all = Vec::new();
        for (index, source) in telemetry.sources.iter().enumerate() {
            let Some(since) = last_reading(log, index, began) else { continue };
            for (name, ours) in [
                ("requests", Some(requests(log, since))),
                ("prompt_tokens", tokens(log, since, |usage| usage.prompt_tokens)),
                ("generated_tokens", tokens(log, since, |usage| usage.completion_tokens)),
            ] {
                let of_name = telemetry.series.iter().zip(&counters);
                let of_name = of_name.filter(|(head, _)| head.source == index && head.name == name);
                let grown: Option<Vec<f64>> =
                    of_name.map(|(_, counter)| counter.increase_until(ended)).collect();
                let Some(grown) = grown.filter(|grown| !grown.is_empty()) else { continue };
                let Some(ours) = ours else { continue };
                let (source, server) = (source.name.clone(), grown.iter().sum());
                all.push(Self { source, name, server, ours });
            }
        }
        all
    }

    /// Returns whether the two counts are the same.
    pub fn agrees(&self) -> bool {
        (self.server - self.ours).abs() < 0.5
    }
}

/// The readings of a counter around the measurement.
#[derive(Clone, Debug, Default)]
struct Counter {
    before: Option<f64>,
    /// The reading after the last request or, until there is one, the latest: when it was requested,
    /// and its value.
    last: Option<(Stamp, f64)>,
    is_broken: bool,
}

impl Counter {
    /// Adds a reading that was requested and that arrived at these times. A server may have counted at
    /// any time between.
    fn add(
        &mut self,
        (requested, at): (Stamp, Stamp),
        value: f64,
        follows: bool,
        (began, ended): (Stamp, Stamp),
    ) {
        if at <= began {
            self.before = Some(value);
        } else if self.last.is_none_or(|(last, _)| last < ended) {
            let earlier = self.last.map(|(_, value)| value).or(self.before);
            // The first reading of a counter that appears meanwhile counts from zero.
            let fell = earlier.is_some_and(|earlier| value < earlier);
            self.is_broken |= fell || (earlier.is_some() && !follows);
            self.last = Some((requested, value));
        }
    }

    fn increase_until(&self, ended: Stamp) -> Option<f64> {
        let (requested, last) = self.last.filter(|_| !self.is_broken)?;
        (requested >= ended).then(|| last - self.before.unwrap_or_default())
    }
}

/// Returns whether requests of a phase are sent while the measurement goes on.
fn is_within(phase: Phase) -> bool {
    !matches!(phase, Phase::Warmup | Phase::CacheCold | Phase::CacheWarm)
}

/// Returns when the first request of the measurement was sent, and when the last one ended.
fn span(log: &RunLog) -> Option<(Stamp, Stamp)> {
    let measured = || log.records().iter().filter(|record| is_within(record.phase));
    let began = measured().filter_map(|record| record.sent).min()?;
    Some((began, measured().map(|record| record.ended).max()?))
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
