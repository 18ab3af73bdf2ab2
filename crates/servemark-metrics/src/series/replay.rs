//! Replays the samples of a log, each with the previous reading of every series.

use servemark_core::{HistogramReading, SeriesHead, SeriesKind, Stamp, Telemetry};

/// A reading of a series, or a gap of a source.
pub(crate) enum Replayed<'a> {
    /// A source could not be read.
    Gap { source: usize, at: Stamp, reason: &'a str },
    /// A series has a reading, which repeats the previous one if it has not changed. One that is absent
    /// has none until it is read again. Only counters of
    /// energy do not repeat it: they grow as long as a device has power, so one that has not changed
    /// was not read, or the device has not counted meanwhile.
    Reading {
        id: usize,
        /// When the reading was requested.
        requested: Stamp,
        at: Stamp,
        /// The value; of a histogram, the sum of all values.
        value: f64,
        /// Time and value of the previous reading; absent after a gap, for the first reading and for
        /// the first one after the series was absent.
        before: Option<(Stamp, f64)>,
        histogram: Option<&'a HistogramReading>,
    },
}

#[derive(Clone, Copy)]
struct Last<'a> {
    at: Stamp,
    value: f64,
    histogram: Option<&'a HistogramReading>,
    is_before_gap: bool,
    is_absent: bool,
}

/// Calls `visit` with every gap, and with the series of a source for each of its samples.
pub(crate) fn replay<'a>(telemetry: &'a Telemetry, mut visit: impl FnMut(Replayed<'a>)) {
    let mut last: Vec<Option<Last<'a>>> = vec![None; telemetry.series.len()];
    let mut of_source: Vec<Vec<usize>> = vec![Vec::new(); telemetry.sources.len()];
    for head in &telemetry.series {
        if let Some(series) = of_source.get_mut(head.source) {
            series.push(head.id);
        }
    }
    for sample in &telemetry.samples {
        let Some(series) = of_source.get(sample.source) else { continue };
        if let Some(reason) = &sample.error {
            for id in series {
                if let Some(last) = &mut last[*id] {
                    last.is_before_gap = true;
                }
            }
            visit(Replayed::Gap { source: sample.source, at: sample.at, reason });
            continue;
        }
        let before: Vec<_> = series.iter().map(|id| last[*id]).collect();
        let known =
            |id: usize| telemetry.series.get(id).is_some_and(|head| head.source == sample.source);
        for (id, value) in sample.values.iter().filter(|(id, _)| known(*id)) {
            last[*id] = Some(Last::new(sample.at, *value, None));
        }
        for (id, reading) in sample.histograms.iter().filter(|(id, _)| known(*id)) {
            last[*id] = Some(Last::new(sample.at, reading.sum, Some(reading)));
        }
        for id in sample.absent.iter().filter(|id| known(**id)) {
            if let Some(last) = &mut last[*id] {
                last.is_absent = true;
            }
        }
        for (id, before) in series.iter().zip(before) {
            let Some(now) = last[*id].as_mut().filter(|now| !now.is_absent) else { continue };
            if grows_always(&telemetry.series[*id]) && now.at < sample.at {
                continue;
            }
            now.at = sample.at;
            now.is_before_gap = false;
            let before = before.filter(|before| !before.is_before_gap && !before.is_absent);
            visit(Replayed::Reading {
                id: *id,
                requested: sample.requested(),
                at: sample.at,
                value: now.value,
                before: before.map(|before| (before.at, before.value)),
                histogram: now.histogram,
            });
        }
    }
}

fn grows_always(head: &SeriesHead) -> bool {
    head.kind == SeriesKind::Counter && head.unit == "J"
}

impl<'a> Last<'a> {
    fn new(at: Stamp, value: f64, histogram: Option<&'a HistogramReading>) -> Self {
        Self { at, value, histogram, is_before_gap: false, is_absent: false }
    }
}
