//! Tokens, gaps between tokens, and requests over the time of a run.

use serde_json::{Value, json};
use servemark_core::RunLog;
use servemark_metrics::{Latency, Metrics, RequestScore};

use super::bins::{Bins, whole};
use super::times::{Times, warm_up};
use crate::pack::{pack, pack_seconds, rounded};
use crate::series::{Panel, Scales};

/// Output tokens by time, gaps between tokens, and the longest gap of each request.
#[derive(Debug)]
pub(crate) struct Flow {
    tokens: Bins,
    output: Vec<f64>,
    gaps: Option<GapTable>,
    /// Start and length of the longest gap of each request, in seconds; zero without a gap.
    pub(crate) longest: Vec<(f64, f64)>,
}

impl Flow {
    pub(crate) fn of(times: &Times, metrics: &Metrics, scores: &[RequestScore<'_>]) -> Self {
        let output = metrics.tokens.output.unwrap_or_default() as usize;
        let tokens = Bins::of(times.span(), (output / 40).clamp(10, 300));
        let mut flow = Self {
            tokens,
            output: vec![0.0; tokens.count],
            gaps: GapTable::of(times, metrics),
            longest: Vec::with_capacity(scores.len()),
        };
        let mut pieces = Vec::new();
        for score in scores {
            pieces.clear();
            pieces.extend(score.token_times().map(|time| time - times.zero));
            flow.add(score, &pieces, times.zero);
        }
        flow
    }

    fn add(&mut self, score: &RequestScore<'_>, pieces: &[f64], zero: f64) {
        let mut longest = (0.0, 0.0);
        for pair in pieces.windows(2) {
            let gap = pair[1] - pair[0];
            if gap > longest.1 {
                longest = (pair[0], gap);
            }
            if let Some(gaps) = self.gaps.as_mut().filter(|_| score.success) {
                gaps.add(pair[1], gap * 1e3);
            }
        }
        self.longest.push(longest);
        if !score.success {
            return;
        }
        let tokens = score.output_token_count() as f64;
        let mut count = |time: f64, amount: f64| {
            if let Some(place) = self.tokens.place(time) {
                self.output[place] += amount;
            }
        };
        if pieces.is_empty() {
            // An answer that came whole counts at its end.
            count(score.end_s() - zero, tokens);
        }
        for time in pieces {
            count(*time, tokens / pieces.len() as f64);
        }
    }

    /// Returns the panel of output tokens per second; absent if no output was counted.
    pub(crate) fn tokens(&self) -> Option<Panel> {
        if self.output.iter().all(|count| *count == 0.0) {
            return None;
        }
        let mut panel = Panel::new("tokens", "Output tokens", "per second", Scales::Linear);
        panel.about = format!("Output tokens per second, in steps of {} s.", self.tokens.step);
        panel.line("output tokens/s", 2, self.tokens.rates(&self.output));
        Some(panel)
    }

    /// Returns the panels of the gaps between tokens: percentiles, and how often each length
    /// occurred.
    pub(crate) fn gaps(&self) -> Vec<Panel> {
        self.gaps.as_ref().filter(|gaps| gaps.count > 0).map_or_else(Vec::new, GapTable::panels)
    }
}

/// Number of gaps by time and length. Lengths have logarithmic classes.
#[derive(Debug)]
struct GapTable {
    bins: Bins,
    low_ms: f64,
    high_ms: f64,
    /// Number of classes in a unit of the natural logarithm.
    classes_per_log: f64,
    counts: Vec<u32>,
    largest: Vec<f64>,
    count: usize,
}

impl GapTable {
    fn of(times: &Times, metrics: &Metrics) -> Option<Self> {
        let itl = &metrics.latencies.itl;
        let (least, most) = (itl.min_ms?, itl.max_ms?);
        let high_ms = most.max(1e-3) * 1.001;
        // Tokens of one packet have next to no gap; all lengths that small are one class.
        let usual = itl.median_ms.filter(|median| *median > 0.0).unwrap_or(high_ms) / SMALL;
        let low_ms = least.max(usual) * 0.999;
        let bins = Bins::of(times.span(), (itl.samples / 60).clamp(8, 240));
        Some(Self {
            bins,
            low_ms,
            high_ms,
            classes_per_log: CLASSES as f64 / (high_ms / low_ms).ln(),
            counts: vec![0; bins.count * CLASSES],
            largest: vec![f64::NAN; bins.count],
            count: 0,
        })
    }

    fn add(&mut self, time: f64, gap_ms: f64) {
        let Some(place) = self.bins.place(time) else { return };
        let class = whole((gap_ms.max(self.low_ms) / self.low_ms).ln() * self.classes_per_log);
        let cell = &mut self.counts[place * CLASSES + class.min(CLASSES - 1)];
        *cell = cell.saturating_add(1);
        self.largest[place] = self.largest[place].max(gap_ms);
        self.count += 1;
    }

    /// Returns the lower end of a class in milliseconds.
    fn edge(&self, class: f64) -> f64 {
        self.low_ms * (class / self.classes_per_log).exp()
    }

    /// Returns a percentile of each part of the time, interpolated within its class.
    fn percentiles(&self, share: f64) -> Vec<f64> {
        let of = |counts: &[u32]| {
            let all: f64 = counts.iter().map(|count| f64::from(*count)).sum();
            let (wanted, mut below) = (share * all, 0.0);
            for (class, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let count = f64::from(*count);
                if below + count >= wanted {
                    return self.edge(class as f64 + ((wanted - below) / count).clamp(0.0, 1.0));
                }
                below += count;
            }
            f64::NAN
        };
        self.counts.chunks(CLASSES).map(of).collect()
    }

    fn panels(&self) -> Vec<Panel> {
        let mut lines = Panel::new("itl", "Inter-token latency", "ms", Scales::LogOrLinear);
        lines.about = format!(
            "Gaps between output tokens by the time of their end, in steps of {} s.",
            self.bins.step
        );
        let series = |share| self.bins.series(&self.percentiles(share));
        lines.band("p10 to p90", 0, [series(0.1), series(0.9)]);
        lines.points("largest", 5, self.bins.series(&self.largest));
        if self.count / self.bins.count >= FEW_FOR_P99 {
            lines.line("p99", 1, series(0.99));
        }
        lines.line("median", 0, series(0.5));
        vec![lines, self.heat()]
    }

    fn heat(&self) -> Panel {
        let used = |class: &usize| {
            self.counts.iter().skip(*class).step_by(CLASSES).any(|count| *count > 0)
        };
        let first = (0..CLASSES).find(used).unwrap_or_default();
        let last = (0..CLASSES).rev().find(used).unwrap_or(CLASSES - 1);
        let merged = (last + 1 - first).div_ceil(ROWS).max(1);
        let rows = (last + 1 - first).div_ceil(merged);
        let cell = |counts: &[u32], row: usize| {
            let from = first + row * merged;
            let classes = counts.iter().skip(from).take(merged.min(CLASSES - from));
            Some(classes.map(|count| i64::from(*count)).sum())
        };
        let cells = self.counts.chunks(CLASSES);
        let cells = cells.flat_map(|counts| (0..rows).map(move |row| cell(counts, row)));
        let mut panel = Panel::new("itl-heat", "Inter-token latency", "ms, heat map", Scales::Log);
        panel.height = 200;
        panel.about.push_str("Number of gaps between output tokens by time and length.");
        panel.layers.push(json!({
            "look": "heat", "from": self.bins.from, "step": self.bins.step,
            "low": rounded(self.edge(first as f64)),
            "ratio": rounded((merged as f64 / self.classes_per_log).exp()),
            "rows": rows, "counts": pack(cells), "unit": "ms",
        }));
        debug_assert!(self.high_ms > self.low_ms, "the classes have a width");
        panel
    }
}

/// Number of classes of lengths.
const CLASSES: usize = 960;
/// Number of rows of the heat map.
const ROWS: usize = 44;
/// Divisor of the median gap: gaps shorter than the quotient share the lowest class.
const SMALL: f64 = 20.0;
/// Mean number of gaps in a time step from which on the 99th percentile is drawn.
const FEW_FOR_P99: usize = 200;

/// Returns the panel of requests per second: sent and ended.
pub(crate) fn requests(times: &Times, scores: &[RequestScore<'_>]) -> Panel {
    let bins = Bins::of(times.span(), (scores.len() / 8).clamp(8, 300));
    let counted = |moments: &mut dyn Iterator<Item = f64>| {
        let mut counts = vec![0.0; bins.count];
        for place in moments.filter_map(|moment| bins.place(moment - times.zero)) {
            counts[place] += 1.0;
        }
        bins.rates(&counts)
    };
    let mut panel = Panel::new("requests-rate", "Requests", "per second", Scales::Linear);
    panel.about = format!("Requests per second, in steps of {} s.", bins.step);
    panel.line("sent", 5, counted(&mut scores.iter().map(|score| score.start_s)));
    panel.line("ended", 0, counted(&mut scores.iter().map(RequestScore::end_s)));
    panel
}

/// Returns the panel of requests in flight, those of the warm-up included.
pub(crate) fn in_flight(times: &Times, log: &RunLog, scores: &[RequestScore<'_>]) -> Panel {
    let measured =
        scores.iter().map(|score| (score.start_s - times.zero, score.end_s() - times.zero));
    let before = warm_up(log).map(|record| (times.at(record.started()), times.at(record.ended)));
    let mut events: Vec<(f64, f64)> =
        measured.chain(before).flat_map(|(start, end)| [(start, 1.0), (end, -1.0)]).collect();
    events.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let bins = Bins::of(times.span(), 500);
    let [mut low, mut high] =
        [vec![f64::INFINITY; bins.count], vec![f64::NEG_INFINITY; bins.count]];
    let mut area = vec![0.0; bins.count];
    let (mut open, mut since) = (0.0, bins.from);
    let mut advance = |until: f64, open: f64, since: f64| {
        let (first, last) = (bins.place(since).unwrap_or(0), bins.place(until).unwrap_or(0));
        for place in first..=last {
            let start = bins.from + place as f64 * bins.step;
            let part = until.min(start + bins.step) - since.max(start);
            if part > 0.0 {
                area[place] += part * open;
                low[place] = low[place].min(open);
                high[place] = high[place].max(open);
            }
        }
    };
    for (time, step) in events.into_iter().chain([(times.to, 0.0)]) {
        let until = time.clamp(bins.from, times.to);
        advance(until, open, since);
        (open, since) = (open + step, until);
    }
    let mean: Vec<f64> =
        area.iter().enumerate().map(|(place, area)| area / bins.seconds(place)).collect();
    let mut panel = Panel::new("in-flight", "In flight", "requests", Scales::Linear);
    panel.about = format!("Requests in flight, in steps of {} s.", bins.step);
    panel.band("least to most", 3, [bins.steps(&low), bins.steps(&high)]);
    panel.line("mean", 3, bins.steps(&mean));
    panel
}

/// Returns the times of failures, at most one in each of a thousand parts of the run.
pub(crate) fn failures(times: &Times, scores: &[RequestScore<'_>]) -> Option<Value> {
    let bins = Bins::of(times.span(), 1000);
    let mut first = vec![None; bins.count];
    for score in scores.iter().filter(|score| !score.success) {
        let end = score.end_s() - times.zero;
        if let Some(place) = bins.place(end) {
            first[place] = first[place].map_or(Some(end), |known: f64| Some(known.min(end)));
        }
    }
    let found: Vec<f64> = first.into_iter().flatten().collect();
    (!found.is_empty()).then(|| pack_seconds(found).into())
}

/// Returns the panel of a latency of requests by the time of their start.
pub(crate) fn latency(
    latency: Latency,
    title: &str,
    times: &Times,
    metrics: &Metrics,
    scores: &[RequestScore<'_>],
) -> Option<Panel> {
    let sampled = latency.sampled(&metrics.policy, scores);
    let value = |score: &&RequestScore<'_>| {
        let value = latency.values(score, metrics.policy.tpot).next()?;
        Some((score.start_s - times.zero, value * 1e3))
    };
    let mut timed: Vec<(f64, f64)> = sampled.iter().filter_map(value).collect();
    timed.sort_by(|one, other| one.0.total_cmp(&other.0));
    if timed.is_empty() {
        return None;
    }
    let mut panel = Panel::new(latency.name(), title, "ms", scales(&timed));
    panel.about = format!("{title} of requests by the time at which they were sent.");
    let bins = Bins::of(times.span(), (timed.len() / 12).clamp(6, 300));
    let parts = bins.sorted(&timed);
    let series = |percent| bins.series(&super::bins::percentiles(&parts, percent));
    panel.band("p10 to p90", 0, [series(10.0), series(90.0)]);
    let visible = sample(&timed, times, MOST_POINTS);
    let key = if visible.len() < timed.len() {
        "requests, a sample with all extremes"
    } else {
        "requests"
    };
    let (at, values): (Vec<f64>, Vec<f64>) = visible.into_iter().unzip();
    panel.points(key, 5, crate::series::timed(&at, &values));
    if timed.len() >= 1000 {
        let wide = Bins::of(times.span(), (timed.len() / 100).min(300));
        let parts = wide.sorted(&timed);
        panel.line("p99", 1, wide.series(&super::bins::percentiles(&parts, 99.0)));
    }
    panel.line("median", 0, series(50.0));
    Some(panel)
}

/// Returns the scales for values: the logarithmic one first if the largest value is at least
/// [`FAR`] times the median.
fn scales(timed: &[(f64, f64)]) -> Scales {
    let mut values: Vec<f64> = timed.iter().map(|(_, value)| *value).collect();
    servemark_statistics::sort(&mut values);
    let middle = values[values.len() / 2];
    let is_even = values.last().is_none_or(|last| *last < FAR * middle);
    if is_even { Scales::LinearOrLog } else { Scales::LogOrLinear }
}

/// Multiple of the median from which on the largest value makes the others hard to tell apart on a
/// linear scale.
const FAR: f64 = 8.0;

/// Returns all points, or a sample if there are more than `most`: the least and the largest in each
/// part of the time, and others between them.
pub(crate) fn sample(timed: &[(f64, f64)], times: &Times, most: usize) -> Vec<(f64, f64)> {
    if timed.len() <= most {
        return timed.to_vec();
    }
    let bins = Bins::of(times.span(), most / 4);
    let every = timed.len().div_ceil(most / 2);
    let mut extremes: Vec<Option<[usize; 2]>> = vec![None; bins.count];
    for (place, (time, value)) in timed.iter().enumerate() {
        let Some(bin) = bins.place(*time) else { continue };
        let [least, most] = extremes[bin].get_or_insert([place, place]);
        if *value < timed[*least].1 {
            *least = place;
        }
        if *value > timed[*most].1 {
            *most = place;
        }
    }
    let mut places: Vec<usize> = extremes.into_iter().flatten().flatten().collect();
    places.extend((0..timed.len()).step_by(every));
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|place| timed[place]).collect()
}

/// Largest number of points of a panel.
const MOST_POINTS: usize = 2000;
