//! A histogram with fixed buckets, as servers keep it for Prometheus.

use std::fmt::Write;

/// Counts of times in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// Number of times in each bucket; the last one has no bound.
    counts: [u64; BOUNDS.len() + 1],
    sum: f64,
}

impl Histogram {
    pub(super) fn add(&mut self, seconds: f64) {
        let place = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[place] += 1;
        self.sum += seconds;
    }

    /// Appends the lines of a histogram with this name and these labels.
    pub(super) fn write(&self, name: &str, labels: &str, text: &mut String) {
        let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut total = 0;
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (bound, count) in bounds.zip(self.counts) {
            total += count;
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {total}");
        }
        let _ = writeln!(text, "{name}_count{{{labels}}} {total}");
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", self.sum);
    }
}

/// Upper bounds of the buckets in seconds, close enough to each other for short answers.
const BOUNDS: [f64; 20] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0,
    2.0, 5.0, 10.0, 60.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_all_times_up_to_their_bound() {
        let mut histogram = Histogram::default();
        for seconds in [0.005, 0.0051, 100.0] {
            histogram.add(seconds);
        }
        let mut text = String::new();
        histogram.write("t", "m=\"a\"", &mut text);
        for line in [
            "t_bucket{m=\"a\",le=\"0.005\"} 1",
            "t_bucket{m=\"a\",le=\"0.01\"} 2",
            "t_bucket{m=\"a\",le=\"60\"} 2",
            "t_bucket{m=\"a\",le=\"+Inf\"} 3",
            "t_count{m=\"a\"} 3",
        ] {
            assert!(text.lines().any(|logprobs| logprobs == line), "{line} is not in {text}");
        }
    }
}
