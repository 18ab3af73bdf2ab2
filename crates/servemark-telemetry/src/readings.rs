//! The readings of one source: which series it has, and what has changed since the last time.

use std::collections::{BTreeMap, HashMap};
use std::mem;
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
/// them, all other gauges and counters become series with their own names.
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
    /// Positions of the series that lost their values with the current text.
    lost: Vec<usize>,
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
    /// Those of the vocabulary, and all other gauges and counters, because the first text had none of the
    /// vocabulary.
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
    /// Whether the last text had no line of it, or no number.
    is_absent: bool,
}

/// Declared kinds of metrics by their names; `None` for kinds that are not read.
type Kinds<'a> = HashMap<&'a str, Option<SeriesKind>>;

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
            lost: Vec::new(),
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
        let mut is_there = vec![false; self.series.len()];
        for slot in lines().flat_map(|line| slots(line.key)) {
            is_there[slot.series] = true;
        }
        drop(entries);
        let missing = is_there.iter().enumerate().filter(|(_, is_there)| !**is_there);
        missing.for_each(|(place, _)| lose(&mut self.series[place], place, &mut self.lost));
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
            let is_set = state.set(slot.part, value * slot.scale);
            if !is_set && state.kind != SeriesKind::Histogram {
                lose(state, slot.series, &mut self.lost);
            }
            if !is_set || state.is_touched {
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
        let mut kinds = Kinds::new();
        // Most lines have the name of the line before.
        let (mut name, mut terms) = ("", None);
        for entry in entries {
            match (naming, entry) {
                (Naming::Own, Entry::Type(name, kind)) => {
                    kinds.insert(name, own_kind(kind));
                }
                (_, Entry::Line(line)) if self.slots.contains_key(line.key) => {}
                (naming, Entry::Line(line)) => {
                    if line.name != name {
                        (name, terms) = (line.name, self.vocabulary.find(line.name));
                    }
                    if let Some((role, terms)) = terms {
                        self.gather(line, role, terms, &mut fresh);
                    } else if naming == Naming::Own {
                        own.extend(self.own_series(line, &kinds));
                    }
                }
                (Naming::Known, Entry::Type(..)) => {}
            }
        }
        // Positions follow the order of the lines.
        own.extend(fresh.into_values().map(|series| self.register(series)));
        own.into_iter().map(TelemetryLine::Series).collect()
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
    fn own_series(&mut self, line: &Line<'_>, kinds: &Kinds<'_>) -> Option<SeriesHead> {
        let name = line.name;
        let kind = kind_of(name, kinds)?;
        if self.series.len() >= MOST_SERIES {
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
        let lost = self.lost.drain(..).map(|place| &self.series[place]);
        sample.absent.extend(lost.filter(|state| state.is_absent).map(|state| state.id));
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
        Self { id, kind, reported: None, current, is_touched: false, is_absent: false }
    }

    /// Sets a part of the current reading. Returns false if it has no value: an exporter writes NaN
    /// where it knows none.
    fn set(&mut self, part: SamplePart, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        if mem::take(&mut self.is_absent) {
            // It has a reading again, even if that is the last one it had.
            self.reported = None;
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

/// Notes that a series has no value any more.
fn lose(state: &mut State, place: usize, lost: &mut Vec<usize>) {
    if !mem::replace(&mut state.is_absent, true) && state.reported.is_some() {
        lost.push(place);
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
        if state.is_absent {
            continue;
        }
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

/// Returns the kind of the lines with a name; `None` if they are not read. A metric whose kind is not
/// declared is untyped.
fn kind_of(name: &str, kinds: &Kinds<'_>) -> Option<SeriesKind> {
    if name.ends_with("_created") {
        return None;
    }
    let counted = name.strip_suffix("_total");
    let declared = kinds.get(name).or_else(|| kinds.get(counted?));
    if let Some(kind) = declared {
        return *kind;
    }
    let is_part =
        |suffix: &&str| name.strip_suffix(*suffix).is_some_and(|metric| kinds.contains_key(metric));
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    let is_name = !name.is_empty() && name.bytes().all(is_letter);
    if !is_name || PARTS.iter().any(is_part) {
        return None;
    }
    Some(if counted.is_some() { SeriesKind::Counter } else { SeriesKind::Gauge })
}

/// Ends of the names of lines that are parts of a metric.
const PARTS: [&str; 6] = ["_bucket", "_count", "_sum", "_info", "_gcount", "_gsum"];

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
mod tests;
