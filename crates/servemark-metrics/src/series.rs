//! Series of servers and their machines on the run's own time axis.
//!
//! A run log has raw readings. Counters become rates and histograms become quantiles here, by
//! simple rules: a counter that fell was started again and counts from zero, and no rate is formed
//! over a gap.

mod check;
mod histogram;
mod increases;
mod replay;
mod summary;

use std::collections::BTreeMap;

use serde::Serialize;
use servemark_core::{RunLog, SeriesHead, SeriesKind, Stamp};

pub use self::check::CountedTwice;
use self::histogram::Window;
pub use self::histogram::{HistogramSummary, histogram_quantile};
pub(crate) use self::increases::Increases;
pub(crate) use self::replay::{Replayed, replay};
pub use self::summary::SeriesSummary;

/// One series of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// Address of the source, without anything secret.
    pub source: String,
    /// Name of the quantity; a known quantity has one name for all engines.
    pub name: String,
    /// Unit of the values; empty for a count or a share.
    pub unit: String,
    /// Labels that distinguish series of one name; a quantile has the label `quantile`.
    pub labels: BTreeMap<String, String>,
    /// Pairs of the seconds since the first due time and the value.
    pub points: Vec<(f64, f64)>,
}

/// A period in which a source could not be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SeriesGap {
    /// Address of the source, without anything secret.
    pub source: String,
    /// Time of the first failed reading, in seconds since the first due time.
    pub from_s: f64,
    /// Time of the next reading, in seconds since the first due time; absent if there is none.
    pub to_s: Option<f64>,
    /// Why the source could not be read.
    pub reason: String,
}

/// All series of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunSeries {
    /// The series, by source.
    pub series: Vec<Series>,
    /// The gaps, in the order in which they began.
    pub gaps: Vec<SeriesGap>,
}

impl RunSeries {
    /// Reads the series of a run from its log.
    pub fn of(log: &RunLog) -> Self {
        let axis = Axis::of(log);
        let telemetry = log.telemetry();
        let source = |index: usize| {
            telemetry.sources.get(index).map_or_else(String::new, |source| source.name.clone())
        };
        let mut all: Vec<PlotSeries> = telemetry.series.iter().map(PlotSeries::of).collect();
        let mut gaps: Vec<(usize, SeriesGap)> = Vec::new();
        replay(telemetry, |event| match event {
            Replayed::Gap { source: index, at, reason } => {
                let (from_s, to_s) = (axis.seconds(at), None);
                let gap = SeriesGap { source: source(index), from_s, to_s, reason: reason.into() };
                gaps.push((index, gap));
            }
            Replayed::Reading { id, at, value, before, histogram, .. } => {
                let now = axis.seconds(at);
                let index = telemetry.series[id].source;
                let open = gaps.iter_mut().filter(|(of, gap)| *of == index && gap.to_s.is_none());
                open.for_each(|(_, gap)| gap.to_s = Some(now));
                all[id].add(
                    now,
                    value,
                    before.map(|(at, value)| (axis.seconds(at), value)),
                    histogram,
                );
            }
        });
        let drawn = all.into_iter().zip(&telemetry.series);
        let series = drawn.flat_map(|(drawn, head)| drawn.series(head, &source(head.source)));
        let mut series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
        let derived = derived(&series);
        series.extend(derived);
        Self { series, gaps: gaps.into_iter().map(|(_, gap)| gap).collect() }
    }

    /// Returns whether there is neither a series nor a gap.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty() && self.gaps.is_empty()
    }
}

/// The run's time axis, which begins at the first due time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    zero: Stamp,
}

impl Axis {
    pub(crate) fn of(log: &RunLog) -> Self {
        let began = || log.footer().and_then(|footer| footer.began);
        let first = log.measured().map(|record| record.scheduled).min();
        Self { zero: first.or_else(began).unwrap_or_default() }
    }

    pub(crate) fn seconds(self, at: Stamp) -> f64 {
        (at.as_nanos() as f64 - self.zero.as_nanos() as f64) / 1e9
    }
}

/// Points of a series, collected while a log is replayed.
#[derive(Debug)]
struct PlotSeries {
    kind: SeriesKind,
    points: Vec<(f64, f64)>,
    window: Window,
}

impl PlotSeries {
    fn of(head: &SeriesHead) -> Self {
        Self { kind: head.kind, points: Vec::new(), window: Window::of(head.bounds.clone()) }
    }

    fn add(
        &mut self,
        now: f64,
        value: f64,
        before: Option<(f64, f64)>,
        histogram: Option<&servemark_core::HistogramReading>,
    ) {
        match self.kind {
            SeriesKind::Histogram => {
                if let Some(reading) = histogram {
                    self.window.add(now, reading, before.is_none());
                }
            }
            SeriesKind::Counter => {
                let Some((then, earlier)) = before.filter(|(then, _)| now > *then) else { return };
                self.points.push((now, increase(earlier, value) / (now - then)));
            }
            _ => self.points.push((now, value)),
        }
    }

    fn series(self, head: &SeriesHead, source: &str) -> Vec<Series> {
        let series = |unit: String, labels: BTreeMap<String, String>, points| Series {
            source: source.to_owned(),
            name: head.name.clone(),
            unit,
            labels,
            points,
        };
        match head.kind {
            SeriesKind::Histogram => {
                let quantiles = self.window.points.into_iter();
                let quantiles = quantiles.map(|(quantile, points)| {
                    let mut labels = head.labels.clone();
                    labels.insert("quantile".to_owned(), quantile.to_owned());
                    series(head.unit.clone(), labels, points)
                });
                quantiles.collect()
            }
            SeriesKind::Counter => {
                let unit = match head.unit.as_str() {
                    "" => "1/s".to_owned(),
                    // Energy over time is power.
                    "J" => "W".to_owned(),
                    unit => format!("{unit}/s"),
                };
                vec![series(unit, head.labels.clone(), self.points)]
            }
            _ => vec![series(head.unit.clone(), head.labels.clone(), self.points)],
        }
    }
}

/// Returns by how much a counter grew. A counter that fell began again at zero.
pub(crate) fn increase(earlier: f64, later: f64) -> f64 {
    if later < earlier { later } else { later - earlier }
}

/// Returns by how much counters of this name grew from the last reading before the measurement to
/// the first one after it.
pub(crate) fn counter_increase(log: &RunLog, name: &str) -> f64 {
    let (axis, end_s, telemetry) = (Axis::of(log), end_s(log), log.telemetry());
    let mut sum = 0.0;
    replay(telemetry, |event| {
        if let Replayed::Reading { id, at, value, before: Some((then, earlier)), .. } = event
            && telemetry.series[id].name == name
            && axis.seconds(at) > 0.0
            && axis.seconds(then) < end_s
        {
            sum += increase(earlier, value);
        }
    });
    sum
}

/// Returns the seconds from the first due time to the end of the measurement.
pub(crate) fn end_s(log: &RunLog) -> f64 {
    let first = log.measured().map(|record| record.scheduled).min().unwrap_or_default();
    let last = log.measured().map(|record| record.ended).max().unwrap_or_default();
    last.since(first).as_secs_f64()
}

/// Ratios of two rates, for engines that report the two and not their ratio: name, numerator,
/// denominator, and what is added.
const RATIOS: [(&str, &str, &str, f64); 3] = [
    ("prefix_hit_rate", "prefix_hits", "prefix_queries", 0.0),
    ("prefix_hit_rate", "cached_tokens", "prompt_tokens", 0.0),
    ("accept_length", "accepted_tokens", "drafts", 1.0),
];

/// Returns the ratios that no source reports itself.
fn derived(series: &[Series]) -> Vec<Series> {
    let mut sources: Vec<&str> = series.iter().map(|series| series.source.as_str()).collect();
    sources.dedup();
    let mut derived: Vec<Series> = Vec::new();
    for source in sources {
        for (name, numerator, denominator, added) in RATIOS {
            let has = |name: &str| {
                let all = series.iter().chain(&derived);
                all.filter(|series| series.source == source).any(|series| series.name == name)
            };
            if has(name) || !has(numerator) || !has(denominator) {
                continue;
            }
            let of_source = |name: &str| {
                summed(series.iter().filter(|it| it.source == source && it.name == name))
            };
            let (above, below) = (of_source(numerator), of_source(denominator));
            let ratio = |(at, below): (u64, f64)| {
                let above = above.get(&at)?;
                (below > 0.0).then(|| (f64::from_bits(at), above / below + added))
            };
            let mut points: Vec<(f64, f64)> = below.into_iter().filter_map(ratio).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            if !points.is_empty() {
                let (source, name) = (source.to_owned(), name.to_owned());
                let (unit, labels) = (String::new(), BTreeMap::new());
                derived.push(Series { source, name, unit, labels, points });
            }
        }
    }
    derived
}

/// Returns the sums of series, by the bits of their time.
pub(crate) fn summed<'a>(series: impl Iterator<Item = &'a Series>) -> BTreeMap<u64, f64> {
    let mut sums = BTreeMap::new();
    for (at, value) in series.flat_map(|series| &series.points) {
        *sums.entry(at.to_bits()).or_insert(0.0) += value;
    }
    sums
}
