//! By how much a server's counters grew during the measurement.

use servemark_core::{Phase, RunLog, SeriesHead, Stamp};

use super::{Replayed, replay};

/// The increase of each counter from the last reading before the measurement to the first one that
/// was requested after its last request had ended. It counts all clients of the server.
pub(crate) struct Increases<'a> {
    heads: &'a [SeriesHead],
    counters: Vec<Counter>,
    /// When the first request of the measurement was sent.
    pub(crate) began: Stamp,
    /// When its last request ended.
    ended: Stamp,
}

impl<'a> Increases<'a> {
    /// Returns the increases of a run; `None` if nothing was measured.
    pub(crate) fn of(log: &'a RunLog) -> Option<Self> {
        let (began, ended) = span(log)?;
        let telemetry = log.telemetry();
        let mut counters: Vec<Counter> = vec![Counter::default(); telemetry.series.len()];
        replay(telemetry, |event| {
            if let Replayed::Reading { id, requested, at, value, before, .. } = event {
                counters[id].add((requested, at), value, before.is_some(), (began, ended));
            }
        });
        Some(Self { heads: &telemetry.series, counters, began, ended })
    }

    /// Returns the sum over a source's counters of a name; `None` if it has none, if the server
    /// restarted meanwhile, or if no reading was requested after the last request.
    pub(crate) fn of_source(&self, source: usize, name: &str) -> Option<f64> {
        let of_name = self.heads.iter().zip(&self.counters);
        let of_name = of_name.filter(|(head, _)| head.source == source && head.name == name);
        let grown: Option<Vec<f64>> =
            of_name.map(|(_, counter)| counter.increase_until(self.ended)).collect();
        Some(grown.filter(|grown| !grown.is_empty())?.iter().sum())
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
pub(super) fn is_within(phase: Phase) -> bool {
    !matches!(phase, Phase::Warmup | Phase::CacheCold | Phase::CacheWarm)
}

/// Returns when the first request of the measurement was sent, and when the last one ended.
fn span(log: &RunLog) -> Option<(Stamp, Stamp)> {
    let measured = || log.records().iter().filter(|record| is_within(record.phase));
    let began = measured().filter_map(|record| record.sent).min()?;
    Some((began, measured().map(|record| record.ended).max()?))
}
