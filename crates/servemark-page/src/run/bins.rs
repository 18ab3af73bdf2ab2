//! Equal parts of a run's time.

use serde_json::{Value, json};
use servemark_metrics::statistics::percentile;

use crate::pack::{pack_scaled, rounded};
use crate::series::quantum_of;

/// Equal parts of the time of a run, of a width that is easy to name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bins {
    pub(crate) from: f64,
    pub(crate) step: f64,
    pub(crate) count: usize,
    to: f64,
}

impl Bins {
    /// Splits a time span into parts of a round width: at most `wanted`, or one more if the span
    /// does not begin at a multiple of the width.
    pub(crate) fn of((from, to): (f64, f64), wanted: usize) -> Self {
        let step = round_up((to - from).max(1e-6) / wanted.max(1) as f64);
        let first = (from / step).floor() * step;
        let count = whole(((to - first) / step).ceil()).clamp(1, 2 * wanted.max(1) + 1);
        Self { from: first, step, count, to }
    }

    /// Returns the part that a time is in, if it is in any.
    pub(crate) fn place(&self, time: f64) -> Option<usize> {
        let place = (time - self.from) / self.step;
        // The last part holds the end of the run.
        let is_end = time <= self.to && place >= self.count as f64;
        if is_end { Some(self.count - 1) } else { inside(place, self.count) }
    }

    /// Returns the seconds of the run that lie in a part.
    pub(crate) fn seconds(&self, place: usize) -> f64 {
        let start = self.from + place as f64 * self.step;
        (self.to.min(start + self.step) - start).max(self.step * 1e-3)
    }

    /// Returns a series of values, one for each part.
    pub(crate) fn series(&self, values: &[f64]) -> Value {
        let quantum = quantum_of(values);
        json!({
            "from": rounded(self.from), "step": rounded(self.step),
            "values": pack_scaled(values.iter().copied(), quantum), "factor": quantum,
        })
    }

    /// Returns a series of values as steps.
    pub(crate) fn steps(&self, values: &[f64]) -> Value {
        let mut series = self.series(values);
        series["look"] = "step".into();
        series
    }

    /// Returns the rates of what was counted in each part, per second.
    pub(crate) fn rates(&self, counts: &[f64]) -> Value {
        let rates: Vec<f64> =
            counts.iter().enumerate().map(|(at, count)| count / self.seconds(at)).collect();
        self.steps(&rates)
    }

    /// Sorts values, each with its time, into the parts.
    pub(crate) fn sorted(&self, timed: &[(f64, f64)]) -> Vec<Vec<f64>> {
        let mut parts = vec![Vec::new(); self.count];
        for (time, value) in timed {
            if let Some(place) = self.place(*time) {
                parts[place].push(*value);
            }
        }
        for part in &mut parts {
            servemark_statistics::sort(part);
        }
        parts
    }
}

/// Returns a percentile of each part; a part without values has none.
pub(crate) fn percentiles(parts: &[Vec<f64>], percent: f64) -> Vec<f64> {
    parts.iter().map(|part| percentile(part, percent).unwrap_or(f64::NAN)).collect()
}

/// Rounds a width up to 1, 2 or 5 times a power of ten.
fn round_up(width: f64) -> f64 {
    let power = 10_f64.powf(width.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= width * 0.999_999).unwrap_or(10.0);
    // A negative power of ten is rounded as the decimal number that it stands for.
    if power < 1.0 { step / (1.0 / power).round() } else { step * power }
}

fn inside(place: f64, count: usize) -> Option<usize> {
    (place >= 0.0 && place < count as f64).then(|| whole(place))
}

/// Returns the whole part of a number that is not negative.
#[expect(clippy::cast_sign_loss, reason = "the argument is not negative")]
pub(crate) fn whole(value: f64) -> usize {
    value.max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_widths_that_are_easy_to_name() {
        let widths = |seconds: f64, wanted| Bins::of((0.0, seconds), wanted).step;
        let found = [(60.0, 300), (61.0, 300), (3600.0, 300), (0.5, 100), (10.0, 10)];
        let found = found.map(|(seconds, wanted)| widths(seconds, wanted));
        assert_eq!(found.map(|width| width.to_string()), ["0.2", "0.5", "20", "0.005", "1"]);
    }

    #[test]
    fn every_time_of_the_run_has_its_part_and_no_other() {
        let bins = Bins::of((-1.5, 10.0), 12);
        assert_eq!((bins.from.to_string(), bins.count), ("-2".to_owned(), 12));
        assert_eq!(bins.place(-1.5), Some(0));
        assert_eq!(bins.place(0.0), Some(2));
        assert_eq!(bins.place(10.0), Some(11));
        assert_eq!((bins.place(-3.0), bins.place(10.1)), (None, None));
        let flat = Bins::of((2.0, 2.0), 100);
        assert_eq!(flat.place(2.0), Some(0));
    }
}
