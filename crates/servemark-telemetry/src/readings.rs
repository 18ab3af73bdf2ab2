//! The readings of one source: which series it has, and what has changed since the last time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use servemark_client::Text;
use servemark_core::{
    HistogramReading, SeriesHead, SeriesKind, Stamp, TelemetryLine, TelemetrySample,
};

use crate::exposition::{Entry, Labels, Line, entries};
use crate::frequent_lines::FrequentLines;
use crate::known_text::KnownText;
use crate::vocabulary::{Role, Term, Vocabulary};

/// Reads the texts of one source, one after the other.
///
/// Known metrics become series with the names of the vocabulary. If the first text has none of
/// them, all its gauges and counters become series with their own names.
///
/// ```
/// use servemark_core::{Stamp, TelemetryLine};
/// use servemark_telemetry::Readings;
///
/// let mut readings = Readings::new(0, Default::default());
/// let text = "vllm:num_requests_running{engine=\"0\"} 3\n";
/// let lines = readings.read(&mut text.into(), Stamp::ZERO, 0).unwrap();
/// assert!(matches!(&lines[0], TelemetryLine::Series(head) if head.name == "running"));
/// assert!(matches!(&lines[1], TelemetryLine::Sample(sample) if sample.values == [(0, 3.0)]));
/// ```
#[derive(Debug)]
pub struct Readings {
    source: usize,
    vocabulary: &'static Vocabulary,
    /// Absent until the first text with metrics.
    naming: Option<Naming>,
    /// Number of series of all sources, which gives a new one its position.
    count: Arc<AtomicUsize>,
    /// By the keys of lines, the parts of readings that their values are.
    slots: HashMap<String, Vec<Slot>>,
    series: Vec<State>,
    /// Positions of the gauges and counters that the current text has values of.
    touched: Vec<usize>,
    /// Positions of the histograms of which texts had values since they were reported.
    touched_histograms: Vec<usize>,
    /// When histograms were last reported; `None` if the next sample has them in any case.
    histograms_at: Option<Stamp>,
    /// The lines of gauges and counters, if they are read apart from the others; else empty.
    frequent: FrequentLines<Slot>,
    /// The text that was last read as a whole; empty if it had no metrics.
    previous: KnownText<Slot>,
    /// The values of the current text that are new.
    changed: Vec<(Slot, f64)>,
}

/// Which metrics are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Naming {
    /// Those of the vocabulary.
    Known,
    /// All gauges and counters, because the source has none of the vocabulary.
    Own,
}

/// The series to which the value of a line belongs, and the part of its reading: the value itself,
/// a bucket, the count or the sum.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Position among the series of this source.
    series: usize,
    part: SamplePart,
    scale: f64,
}

#[derive(Clone, Copy, Debug)]
enum SamplePart {
    Value,
    Bucket(usize),
    Count,
    Sum,
}

/// The readings of one series: the last ones that were reported, and those of the current text.
#[derive(Debug)]
struct State {
    id: usize,
    kind: SeriesKind,
    reported: Option<HistogramReading>,
    current: HistogramReading,
    /// Whether it is among the touched ones.
    is_touched: bool,
}

/// Series whose lines were not seen before.
type Fresh<'a> = BTreeMap<(&'static str, Labels<'a>), FreshSeries<'a>>;

struct FreshSeries<'a> {
    head: SeriesHead,
    /// The lines of the series: key, role, and the upper bound if the line is a bucket of a
    /// histogram.
    lines: Vec<(&'a str, Role, f64)>,
    scale: f64,
}

impl Readings {
    /// Creates readings of the source at a position. All sources of a log share `count`, the number
    /// of series so far.
    pub fn new(source: usize, count: Arc<AtomicUsize>) -> Self {
        Self {
            source,
            vocabulary: Vocabulary::get(),
            naming: None,
            count,
            slots: HashMap::new(),
            series: Vec::new(),
            touched: Vec::new(),
            touched_histograms: Vec::new(),
            histograms_at: None,
            frequent: FrequentLines::default(),
            previous: KnownText::default(),
            changed: Vec::new(),
        }
    }

    /// Reads a text that arrived at `at`, `took_ns` nanoseconds after it was asked for, and takes
    /// it for the memory of the text before. Returns the new series and one sample with the readings
    /// that changed; `None` if the text has no metrics.
    ///
    /// Histograms are larger than all other readings together, and their quantiles are those of a
    /// second or more. So a sample has them only if the last ones are a second old, if a series is new,
    /// or if they were [asked for](Self::want_histograms). Where they are most of the text, new series
    /// are found then, too.
    pub fn read(&mut self, text: &mut Text, at: Stamp, took_ns: u64) -> Option<Vec<TelemetryLine>> {
        if text.as_bytes().is_empty() {
            return None;
        }
        let mut lines = if self.take_changed(text, self.has_histograms(at)) {
            Vec::with_capacity(1)
        } else {
            let text = match str::from_utf8(text.as_bytes()) {
                Ok(text) => text.to_owned(),
                Err(_) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
            };
            self.take_all(text)?
        };
        lines.push(TelemetryLine::Sample(self.sample(at, took_ns)));
        Some(lines)
    }

    /// Makes the next sample have all histograms that have changed, and all new series.
    pub fn want_histograms(&mut self) {
        self.histograms_at = None;
    }

    /// Returns the query that asks for the lines of an engine alone, in the words of Prometheus's
    /// client libraries; `None` if that may leave out other lines that are read, or saves little.
    pub(crate) fn query(&self) -> Option<String> {
        let of_engine = |key: &str| key.find(':').map_or(0, |end| end + 1);
        let first = self.slots.keys().next()?;
        let engine = &first[..of_engine(first)];
        let has_others = self.slots.keys().any(|key| &key[..of_engine(key)] != engine);
        if self.naming != Some(Naming::Known)
            || engine.is_empty()
            || has_others
            || self.length() < LEAST_FILTERED
        {
            return None;
        }
        let names = self.vocabulary.samples(engine);
        let names: Vec<String> = names.iter().map(|name| format!("name%5B%5D={name}")).collect();
        Some(names.join("&"))
    }

    /// Returns the length in bytes of the text that was last read as a whole.
    pub(crate) fn length(&self) -> usize {
        self.previous.length()
    }

    /// Returns whether the text that was last read as a whole has all lines that belong to a series.
    pub(crate) fn is_complete(&self) -> bool {
        let targets = self.previous.number_of_targets() + self.frequent.number_of_targets();
        targets == self.slots.values().map(Vec::len).sum::<usize>()
    }

    /// Returns whether a sample at this time has the histograms that changed.
    fn has_histograms(&self, at: Stamp) -> bool {
        self.histograms_at.is_none_or(|last| at.since(last) >= HISTOGRAM_INTERVAL)
    }

    /// Takes the values that differ from those of the previous text: those of frequent lines alone if
    /// that is enough for a sample without histograms. Returns false if lines differ in more than
    /// values; only then the text may have new series.
    fn take_changed(&mut self, text: &mut Text, has_histograms: bool) -> bool {
        self.changed.clear();
        let is_same = !self.previous.is_empty()
            && self.frequent.read(text.as_bytes(), &mut self.changed)
            && (!has_histograms && !self.frequent.is_empty()
                || self.previous.replace(text, &mut self.changed));
        if is_same {
            self.set_changed();
        }
        is_same
    }

    /// Takes all values of a text, and returns the series that are new; `None` if it has no metric.
    fn take_all(&mut self, text: String) -> Option<Vec<TelemetryLine>> {
        let entries: Vec<Entry<'_>> = entries(&text).collect();
        let lines = || entries.iter().filter_map(Entry::line);
        lines().next()?;
        let naming = *self.naming.get_or_insert_with(|| {
            let has_known = lines().any(|line| self.vocabulary.find(line.name).is_some());
            if has_known { Naming::Known } else { Naming::Own }
        });
        let series = self.declare(&entries, naming);
        self.changed.clear();
        let slots = |key: &str| self.slots.get(key).into_iter().flatten().copied();
        let is_frequent = |slot: &Slot| self.series[slot.series].kind != SeriesKind::Histogram;
        let frequent =
            FrequentLines::of_lines(&text, lines(), |key| slots(key).filter(is_frequent));
        let is_apart = frequent.len() * LEAST_PER_LINE <= text.len();
        let is_in_text = |slot: &Slot| !is_apart || !is_frequent(slot);
        let known =
            KnownText::of_lines(lines(), |key| slots(key).filter(is_in_text), &mut self.changed);
        drop(entries);
        self.frequent = if is_apart { frequent } else { FrequentLines::default() };
        self.frequent.read(text.as_bytes(), &mut self.changed);
        self.previous = known.with_text(text);
        self.set_changed();
        if !series.is_empty() {
            self.want_histograms();
        }
        Some(series)
    }

    /// Sets the parts of readings whose values are new.
    fn set_changed(&mut self) {
        for (slot, value) in self.changed.drain(..) {
            let state = &mut self.series[slot.series];
            if !state.set(slot.part, value * slot.scale) || state.is_touched {
                continue;
            }
            state.is_touched = true;
            match state.kind {
                SeriesKind::Histogram => self.touched_histograms.push(slot.series),
                _ => self.touched.push(slot.series),
            }
        }
    }

    /// Declares the series of a text that are new.
    fn declare(&mut self, entries: &[Entry<'_>], naming: Naming) -> Vec<TelemetryLine> {
        let mut fresh = Fresh::new();
        let mut own: Vec<SeriesHead> = Vec::new();
        let mut kinds: HashMap<&str, SeriesKind> = HashMap::new();
        // Most lines have the name of the line before.
        let (mut name, mut terms) = ("", None);
        for entry in entries {
            match (naming, entry) {
                (Naming::Own, Entry::Type(name, kind)) => {
                    if let Some(kind) = own_kind(kind) {
                        kinds.insert(name, kind);
                    }
                }
                (_, Entry::Line(line)) if self.slots.contains_key(line.key) => {}
                (Naming::Known, Entry::Line(line)) => {
                    if line.name != name {
                        (name, terms) = (line.name, self.vocabulary.find(line.name));
                    }
                    if let Some((role, terms)) = terms {
                        self.gather(line, role, terms, &mut fresh);
                    }
                }
                (Naming::Own, Entry::Line(line)) => {
                    if let Some(head) = self.own_series(line, &kinds) {
                        own.push(head);
                    }
                }
                (Naming::Known, Entry::Type(..)) => {}
            }
        }
        let known = fresh.into_values().map(|series| self.register(series));
        known.chain(own).map(TelemetryLine::Series).collect()
    }

    /// Adds a line, whose name has a role and these terms, to the new series that it belongs to.
    fn gather<'a>(
        &self,
        line: &Line<'a>,
        role: Role,
        terms: &[&'static Term],
        fresh: &mut Fresh<'a>,
    ) {
        let Some(mut labels) = line.labels() else { return };
        let bound = labels.remove("le");
        let Some(term) = terms.iter().find(|term| is_about(term, &labels)) else { return };
        let bound = match (role, bound.map(|bound| bound.parse::<f64>())) {
            (Role::Bucket, Some(Ok(bound))) => bound,
            (Role::Bucket, _) => return,
            _ => 0.0,
        };
        let declared = self.series.len() + fresh.len();
        let key = (term.name, labels);
        if declared >= MOST_SERIES && !fresh.contains_key(&key) {
            return;
        }
        let series = fresh.entry(key).or_insert_with_key(|(name, labels)| FreshSeries {
            head: SeriesHead::new(0, self.source, *name, term.kind)
                .with_unit(term.unit)
                .with_labels(owned(labels)),
            lines: Vec::new(),
            scale: term.scale,
        });
        series.lines.push((line.key, role, bound));
    }

    fn register(&mut self, fresh: FreshSeries<'_>) -> SeriesHead {
        let FreshSeries { mut head, mut lines, scale } = fresh;
        lines.sort_by(|one, other| one.2.total_cmp(&other.2));
        let place = self.series.len();
        let mut buckets = 0;
        for (key, role, bound) in lines {
            let part = match role {
                Role::Value => SamplePart::Value,
                Role::Sum => SamplePart::Sum,
                Role::Bucket if bound.is_finite() => {
                    // A server that shows one quantity under the names of two engines has each
                    // bound twice.
                    if head.bounds.last() != Some(&bound) {
                        head.bounds.push(bound);
                        buckets += 1;
                    }
                    SamplePart::Bucket(buckets - 1)
                }
                // The bucket without a bound counts all values.
                Role::Bucket | Role::Count => SamplePart::Count,
            };
            self.slots.entry(key.to_owned()).or_default().push(Slot { series: place, part, scale });
        }
        head.id = self.next_id();
        self.series.push(State::new(head.id, head.kind, buckets));
        head
    }

    /// Declares a series under its own name.
    fn own_series(
        &mut self,
        line: &Line<'_>,
        kinds: &HashMap<&str, SeriesKind>,
    ) -> Option<SeriesHead> {
        let name = line.name;
        let kind = *kinds.get(name).or_else(|| kinds.get(name.strip_suffix("_total")?))?;
        if name.ends_with("_created") || self.series.len() >= MOST_SERIES {
            return None;
        }
        // Labels that cannot be read make no series, which must not take a position either.
        let labels = line.labels()?;
        let head =
            SeriesHead::new(self.next_id(), self.source, name, kind).with_labels(owned(&labels));
        let slot = Slot { series: self.series.len(), part: SamplePart::Value, scale: 1.0 };
        self.slots.insert(line.key.to_owned(), vec![slot]);
        self.series.push(State::new(head.id, kind, 0));
        Some(head)
    }

    fn next_id(&self) -> usize {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the readings that changed, by the positions of their series.
    fn sample(&mut self, at: Stamp, took_ns: u64) -> TelemetrySample {
        let mut sample = TelemetrySample::new(self.source, at, took_ns);
        sample.values.reserve_exact(self.touched.len());
        report_changed(&mut self.touched, &mut self.series, |id, reading| {
            sample.values.push((id, reading.sum));
        });
        if self.has_histograms(at) {
            self.histograms_at = Some(at);
            report_changed(&mut self.touched_histograms, &mut self.series, |id, reading| {
                sample.histograms.push((id, reading));
            });
        }
        sample
    }
}

impl State {
    fn new(id: usize, kind: SeriesKind, buckets: usize) -> Self {
        let counts = if kind == SeriesKind::Histogram { buckets + 1 } else { 0 };
        let current = HistogramReading::new(vec![0.0; counts], 0.0);
        Self { id, kind, reported: None, current, is_touched: false }
    }

    /// Sets a part of the current reading. Returns false if it has no value: an exporter writes NaN
    /// where it knows none.
    fn set(&mut self, part: SamplePart, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        match part {
            SamplePart::Value | SamplePart::Sum => self.current.sum = value,
            SamplePart::Bucket(place) => self.current.counts[place] = value,
            SamplePart::Count => {
                if let Some(last) = self.current.counts.last_mut() {
                    *last = value;
                }
            }
        }
        true
    }

    /// Returns the current reading if it differs from the one that was reported last.
    fn changed(&mut self) -> Option<HistogramReading> {
        if self.reported.as_ref() == Some(&self.current) {
            return None;
        }
        match &mut self.reported {
            Some(reported) => reported.clone_from(&self.current),
            none => *none = Some(self.current.clone()),
        }
        Some(self.current.clone())
    }
}

/// Takes the series that were touched, and reports those that changed, by the positions of all.
fn report_changed(
    touched: &mut Vec<usize>,
    series: &mut [State],
    mut report: impl FnMut(usize, HistogramReading),
) {
    touched.sort_unstable();
    for place in touched.drain(..) {
        let state = &mut series[place];
        state.is_touched = false;
        if let Some(reading) = state.changed() {
            report(state.id, reading);
        }
    }
}

fn is_about(term: &Term, labels: &Labels<'_>) -> bool {
    term.only.is_none_or(|(label, value)| labels.get(label).is_some_and(|given| given == value))
}

fn owned(labels: &Labels<'_>) -> BTreeMap<String, String> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
}

fn own_kind(kind: &str) -> Option<SeriesKind> {
    match kind {
        "gauge" | "untyped" | "unknown" => Some(SeriesKind::Gauge),
        "counter" => Some(SeriesKind::Counter),
        _ => None,
    }
}

/// Maximum number of series of a source. Labels can have any number of values.
const MOST_SERIES: usize = 512;

/// Shortest time between two samples with histograms, unless they are asked for.
const HISTOGRAM_INTERVAL: Duration = Duration::from_secs(1);

/// Least number of bytes of a text, for each line of a gauge or a counter, for which it is worth reading
/// these lines apart from the others.
const LEAST_PER_LINE: usize = 256;

/// Shortest text in bytes for which it is worth asking for a part alone.
const LEAST_FILTERED: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn readings() -> Readings {
        Readings::new(0, Arc::default())
    }

    /// Returns the names of the new series, and the sample.
    fn read(readings: &mut Readings, text: &str) -> (Vec<String>, TelemetrySample) {
        let mut lines = readings.read(&mut text.into(), Stamp::ZERO, 0).unwrap();
        let Some(TelemetryLine::Sample(sample)) = lines.pop() else { panic!("no sample") };
        let names = lines.into_iter().map(|line| match line {
            TelemetryLine::Series(head) => head.name,
            other => panic!("{other:?}"),
        });
        (names.collect(), sample)
    }

    #[test]
    fn only_what_changed_is_reported() {
        let mut readings = readings();
        let (names, sample) = read(
            &mut readings,
            "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_waiting 0\nother 7\n",
        );
        assert_eq!((names.len(), sample.values.len()), (2, 2));
        let (names, sample) = read(
            &mut readings,
            "vllm:num_requests_running{engine=\"0\"} 4\nvllm:num_requests_waiting 0\n",
        );
        assert_eq!((names.len(), sample.values.as_slice()), (0, &[(0, 4.0)][..]));
        let (_, sample) = read(&mut readings, "vllm:num_requests_running{engine=\"0\"} NaN\n");
        assert!(sample.values.is_empty());
    }

    /// The second text has the lines of the first one, and the third has a new one between them.
    #[test]
    fn lines_with_new_values_and_new_lines_are_read() {
        let mut readings = readings();
        let text = |one: u32, two: u32| {
            format!("# TYPE a gauge\na{{q=\"1\"}} {one}\n# TYPE b counter\nb_total {two}\n")
        };
        assert_eq!(read(&mut readings, &text(1, 5)).1.values, [(0, 1.0), (1, 5.0)]);
        assert_eq!(read(&mut readings, &text(1, 6)).1.values, [(1, 6.0)]);
        assert!(read(&mut readings, &text(1, 6)).1.values.is_empty());
        let longer = text(2, 7).replace("# TYPE b", "a{q=\"2\"} 3\n# TYPE b");
        let (names, sample) = read(&mut readings, &longer);
        assert_eq!(
            (names, sample.values),
            (vec!["a".to_owned()], vec![(0, 2.0), (1, 7.0), (2, 3.0)])
        );
        // Without the new line, and with a value that is none.
        let shorter = text(4, 7).replace("b_total 7", "b_total NaN");
        assert_eq!(read(&mut readings, &shorter).1.values, [(0, 4.0)]);
        assert_eq!(read(&mut readings, &text(4, 8)).1.values, [(1, 8.0)]);
        assert_eq!(readings.read(&mut "<html>busy</html>\n".into(), Stamp::ZERO, 0), None);
        assert_eq!(read(&mut readings, &text(4, 9)).1.values, [(1, 9.0)]);
    }

    #[test]
    fn a_histogram_is_one_series_of_its_buckets() {
        let mut readings = readings();
        let text = "sglang:e2e_request_latency_seconds_bucket{le=\"0.5\",m=\"a\"} 1\n\
                    sglang:e2e_request_latency_seconds_bucket{le=\"+Inf\",m=\"a\"} 3\n\
                    sglang:e2e_request_latency_seconds_bucket{le=\"1.0\",m=\"a\"} 2\n\
                    sglang:e2e_request_latency_seconds_count{m=\"a\"} 3\n\
                    sglang:e2e_request_latency_seconds_sum{m=\"a\"} 4.5\n";
        let mut lines = readings.read(&mut text.into(), Stamp::ZERO, 0).unwrap();
        let Some(TelemetryLine::Sample(sample)) = lines.pop() else { panic!("no sample") };
        let TelemetryLine::Series(head) = &lines[0] else { panic!("no series") };
        assert_eq!((head.name.as_str(), head.bounds.as_slice()), ("e2e", &[0.5, 1.0][..]));
        assert_eq!((head.labels.len(), head.unit.as_str()), (1, "s"));
        let reading = HistogramReading::new(vec![1.0, 2.0, 3.0], 4.5);
        assert_eq!(sample.histograms, [(0, reading)]);
    }

    #[test]
    fn one_quantity_under_the_names_of_two_engines_is_one_series() {
        let mut readings = readings();
        let (names, sample) = read(
            &mut readings,
            "vllm:num_requests_running 3\nsglang:num_running_reqs 3\n\
             vllm:e2e_request_latency_seconds_bucket{le=\"1\"} 2\n\
             sglang:e2e_request_latency_seconds_bucket{le=\"1\"} 2\n",
        );
        assert_eq!((names.len(), sample.values.as_slice()), (2, &[(1, 3.0)][..]));
        assert_eq!(sample.histograms[0].1.counts, [2.0, 0.0]);
    }

    #[test]
    fn a_histogram_stays_one_series_when_other_lines_are_new() {
        let mut readings = readings();
        let text = |count: u32| {
            format!(
                "vllm:request_queue_time_seconds_bucket{{le=\"0.5\"}} 1\n\
                 vllm:request_queue_time_seconds_bucket{{le=\"+Inf\"}} {count}\n"
            )
        };
        assert_eq!(read(&mut readings, &text(3)).0, ["queue_time"]);
        let later = format!("{}vllm:num_requests_running 1\n", text(4));
        let (names, sample) = read(&mut readings, &later);
        assert_eq!(names, ["running"]);
        assert_eq!(sample.histograms[0].1.counts, [1.0, 4.0]);
    }

    #[test]
    fn histograms_are_reported_once_a_second_or_when_they_are_wanted() {
        let mut readings = readings();
        let mut counts = |seconds: f64, count: u32| {
            let text = format!(
                "vllm:request_queue_time_seconds_bucket{{le=\"+Inf\"}} {count}\n\
                 vllm:num_requests_running {count}\n"
            );
            let at = Stamp::ZERO + Duration::from_secs_f64(seconds);
            let lines = readings.read(&mut text.as_str().into(), at, 0).unwrap();
            let Some(TelemetryLine::Sample(sample)) = lines.last() else { panic!("no sample") };
            assert_eq!(
                sample.values,
                [(1, f64::from(count))],
                "other readings are always reported"
            );
            if count == 4 {
                readings.want_histograms();
            }
            sample.histograms.first().map(|(_, reading)| reading.total())
        };
        assert_eq!(counts(0.0, 1), Some(1.0));
        assert_eq!(counts(0.1, 2), None);
        assert_eq!(counts(0.9, 3), None);
        assert_eq!(counts(1.0, 4), Some(4.0));
        assert_eq!(counts(1.1, 5), Some(5.0), "it was wanted");
        assert_eq!(counts(2.0, 6), None);
        assert_eq!(counts(2.1, 7), Some(7.0));
    }

    /// Where histograms are most of a text, the lines of gauges are read apart from them. What is
    /// reported must add up to the text, however lengths change.
    #[test]
    fn values_between_large_histograms_are_those_of_each_text() {
        let histogram = |name: &str, count: u64| -> String {
            let bucket = |bound: u64| format!("vllm:{name}_bucket{{le=\"{bound}\"}} {count}\n");
            (0..40).map(bucket).collect()
        };
        // Counts of one to six digits, that rise and fall.
        let count_at = |step: u64| (step * 7919 + 13) % 10_u64.pow(1 + (step % 6) as u32);
        let mut readings = readings();
        let mut latest = BTreeMap::new();
        for step in 0..200_u64 {
            let count = count_at(step);
            let waiting = if step / 3 % 2 == 0 { 5 } else { count };
            let text = format!(
                "{}vllm:num_requests_running {count}\n{}vllm:num_requests_waiting {waiting}\n",
                histogram("request_queue_time_seconds", count),
                histogram("request_prefill_time_seconds", count * 3),
            );
            let at = Stamp::ZERO + Duration::from_millis(100) * step as u32;
            for line in readings.read(&mut text.as_str().into(), at, 0).unwrap() {
                let TelemetryLine::Sample(sample) = line else { continue };
                assert_eq!(sample.histograms.is_empty(), step % 10 > 0, "{step}");
                latest.extend(sample.values);
                let counts = |(id, reading): (usize, HistogramReading)| (id, reading.counts[7]);
                latest.extend(sample.histograms.into_iter().map(counts));
            }
            let in_histograms = count_at(step - step % 10);
            let expected =
                [in_histograms * 3, in_histograms, count, waiting].map(|count| count as f64);
            let read: Vec<f64> = latest.values().copied().collect();
            assert_eq!(read, expected, "{step}");
        }
    }

    #[test]
    fn a_gauge_between_large_histograms_that_is_new_is_found_within_a_second() {
        let mut readings = readings();
        let comment = format!("# HELP a {}\n", "long ".repeat(100));
        let mut read = |ms: u64, text: String| -> Vec<(usize, f64)> {
            let at = Stamp::ZERO + Duration::from_millis(ms);
            let mut lines = readings.read(&mut text.as_str().into(), at, 0).unwrap();
            let Some(TelemetryLine::Sample(sample)) = lines.pop() else { panic!("no sample") };
            sample.values
        };
        let text = format!("{comment}vllm:num_requests_running 1\n");
        let longer = format!("{text}{comment}vllm:num_requests_waiting 2\n");
        assert_eq!(read(0, text.clone()), [(0, 1.0)]);
        assert_eq!(read(100, longer.clone()), []);
        assert_eq!(read(1000, longer.clone()), [(1, 2.0)]);
        assert_eq!(read(1100, longer.replace(" 2", " 3")), [(1, 3.0)]);
        // Lines that are missing are noticed at once.
        assert_eq!(read(1200, text.replace(" 1", " 4")), [(0, 4.0)]);
    }

    #[test]
    fn units_become_ours_and_labels_select() {
        let mut readings = readings();
        let (names, sample) = read(
            &mut readings,
            "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 2\n\
             nv_trt_llm_request_metrics{request_type=\"waiting\"} 5\n\
             nv_trt_llm_request_metrics{request_type=\"max\"} 9\n",
        );
        let mut reported: Vec<_> =
            names.iter().map(String::as_str).zip(sample.values.iter().map(|it| it.1)).collect();
        reported.sort_by_key(|(name, _)| *name);
        let memory = 2.0 * 1024.0 * 1024.0;
        assert_eq!(reported, [("gpu_memory_used", memory), ("gpu_use", 0.5), ("waiting", 5.0)]);
    }

    #[test]
    fn an_unknown_exporter_keeps_its_own_names() {
        let mut readings = readings();
        let (names, sample) = read(
            &mut readings,
            "# TYPE depth gauge\ndepth{q=\"a\"} 1\ndepth{q=\"b\"} 2\n# TYPE done counter\n\
             done_total 3\ndone_created 1.7e9\n# TYPE t histogram\nt_bucket{le=\"1\"} 2\n",
        );
        assert_eq!(names, ["depth", "depth", "done_total"]);
        assert_eq!(sample.values, [(0, 1.0), (1, 2.0), (2, 3.0)]);
    }

    #[test]
    fn labels_that_cannot_be_read_take_no_position() {
        let mut readings = readings();
        let (names, sample) =
            read(&mut readings, "# TYPE a gauge\n# TYPE b gauge\na{q=\"x\\} 1\nb 2\n");
        assert_eq!((names, sample.values), (vec!["b".to_owned()], vec![(0, 2.0)]));
    }

    #[test]
    fn a_text_without_metrics_is_none() {
        let page = "<html>\n<body>not found</body>\n</html>";
        assert_eq!(readings().read(&mut page.into(), Stamp::ZERO, 0), None);
        assert_eq!(readings().read(&mut "".into(), Stamp::ZERO, 0), None);
    }

    /// A server that starts may answer with a page first.
    #[test]
    fn a_text_without_metrics_does_not_decide_the_names() {
        let mut readings = readings();
        assert_eq!(readings.read(&mut "<html>starting</html>".into(), Stamp::ZERO, 0), None);
        let (names, _) =
            read(&mut readings, "# TYPE other gauge\nother 1\nvllm:num_requests_running 2\n");
        assert_eq!(names, ["running"]);
    }

    /// A text that ends early has other lines than the one before and than the one after it.
    #[test]
    fn a_text_that_ends_early_disturbs_no_later_one() {
        let mut readings = readings();
        let text = |running: u32| {
            format!("vllm:num_requests_running {running}\nvllm:num_requests_waiting {running}\n")
        };
        assert_eq!(read(&mut readings, &text(1)).1.values, [(0, 1.0), (1, 1.0)]);
        assert_eq!(read(&mut readings, &text(1000)[..35]).1.values, [(0, 1000.0)]);
        assert_eq!(readings.read(&mut "".into(), Stamp::ZERO, 0), None);
        assert_eq!(read(&mut readings, &text(5)).1.values, [(0, 5.0), (1, 5.0)]);
    }

    #[test]
    fn labels_without_end_do_not_fill_the_memory() {
        let mut readings = readings();
        let lines: Vec<String> = (0..5000)
            .map(|user| format!("vllm:num_requests_running{{user=\"{user}\"}} 1\n"))
            .collect();
        let (names, _) = read(&mut readings, &lines.concat());
        assert_eq!(names.len(), MOST_SERIES);
    }
}
