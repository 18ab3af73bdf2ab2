//! Distributions of latencies: cumulative shares with bounds, and histograms.

use serde_json::{Value, json};
use servemark_metrics::{Histogram, Latency, Metrics, RequestScore, Summary};
use servemark_statistics::Observations;

use super::bins::whole;
use crate::pack::{pack, pack_scaled, rounded};
use crate::series::quantum_of;

/// A latency's values in a run: how they are distributed, with bounds. Milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    histogram: Histogram,
    /// Shares with the bounds of their percentiles.
    pub(crate) bounds: Vec<(f64, f64, f64)>,
}

impl Spread {
    /// Reads the values of a latency; absent if there are none.
    pub(crate) fn of(
        latency: Latency,
        metrics: &Metrics,
        scores: &[RequestScore<'_>],
    ) -> Option<Self> {
        let policy = &metrics.policy;
        let mut sampled = latency.sampled(policy, scores);
        sampled.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
        let values = |score| Latency::values(latency, score, policy.tpot);
        let nanos = |seconds: f64| whole((seconds * 1e9).round()) as u64;
        let histogram: Histogram =
            sampled.iter().flat_map(|score| values(score)).map(nanos).collect();
        histogram.max()?;
        // A sample that is too large to be stored has no estimates.
        let is_stored = metrics.latency(latency)?.estimates.is_some();
        let bounds = policy.confidence.filter(|_| is_stored).map(|confidence| {
            let mut sample = Observations::default();
            for score in &sampled {
                sample.push(values(score));
            }
            bounds(&sample, confidence)
        });
        Some(Self { histogram, bounds: bounds.unwrap_or_default() })
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the value that a share of all values do not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        self.histogram.percentile(share * 100.0).unwrap_or(f64::NAN) / 1e6
    }

    /// Returns the curve of values by their shares.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        let shares = shares(self.len());
        let nanos = self.histogram.percentiles(shares.iter().map(|share| share * 100.0));
        nanos.into_iter().map(|nanos| nanos / 1e6).zip(shares).collect()
    }
}

/// Returns the distribution of a latency for the page's script.
pub(crate) fn distribution(name: &str, spread: &Spread, summary: &Summary) -> Value {
    let (values, shares): (Vec<f64>, Vec<f64>) = spread.curve().into_iter().unzip();
    let quantum = quantum_of(&values);
    let marks = [50.0, 90.0, 99.0].into_iter().filter_map(|percent| {
        let value = summary.bounded_percentile_ms(percent)?;
        Some(json!({"name": format!("p{percent}"), "value": rounded(value)}))
    });
    let mut document = json!({
        "name": name, "unit": "ms", "samples": spread.len(), "factor": quantum,
        "shares": pack_scaled(shares, 1e-6), "values": pack_scaled(values, quantum),
        "histogram": bars(&spread.histogram, spread.at(0.5)), "marks": marks.collect::<Vec<_>>(),
    });
    if spread.bounds.len() > 1 {
        let bounds = spread.bounds.iter();
        document["bounds"] = json!({
            "shares": pack_scaled(bounds.clone().map(|bound| bound.0), 1e-6),
            "low": pack_scaled(bounds.clone().map(|bound| bound.1), quantum),
            "high": pack_scaled(bounds.map(|bound| bound.2), quantum),
        });
    }
    document
}

/// Returns the shares at which a distribution is read: even steps, and finer ones in the tail as
/// far as the number of values reaches.
fn shares(values: u64) -> Vec<f64> {
    let even = (0..=197).map(|step| f64::from(step) / 200.0);
    let tail = |power: i32| {
        let part = 10_f64.powi(-power);
        (0..9).map(move |step| 1.0 - part * (1.0 - f64::from(step) / 10.0))
    };
    let tails = (2..=4).flat_map(tail).filter(|share| (1.0 - share) * values as f64 >= 1.0);
    even.chain(tails).chain([1.0]).collect()
}

/// Returns the bounds of a distribution's percentiles, as far as they are known.
fn bounds(sample: &Observations, confidence: f64) -> Vec<(f64, f64, f64)> {
    let estimates = sample.percentiles(&BOUNDED, confidence).into_iter();
    let known = BOUNDED.iter().zip(estimates).filter_map(|(share, estimate)| {
        let (low, high) = estimate.bounds.interval()?;
        Some((*share, low * 1e3, high * 1e3))
    });
    known.collect()
}

/// Returns a histogram in classes of equal ratio.
fn bars(histogram: &Histogram, median: f64) -> Value {
    let least = histogram.min().unwrap_or_default() as f64 / 1e6;
    let high = (histogram.max().unwrap_or_default() as f64 / 1e6).max(1e-6) * 1.0005;
    let usual = if median > 0.0 { median } else { high };
    let low = least.max(usual / SMALL) * 0.9995;
    let ratio = (high / low).powf(1.0 / BARS as f64).max(1.0005);
    let mut counts = vec![0_i64; BARS];
    for (nanos, count) in histogram.buckets() {
        let class = whole((nanos / 1e6 / low).max(1.0).ln() / ratio.ln());
        counts[class.min(BARS - 1)] += count.cast_signed();
    }
    json!({"low": rounded(low), "ratio": rounded(ratio), "counts": pack(counts.into_iter().map(Some))})
}

/// Shares whose bounds are shown.
pub(crate) const BOUNDED: [f64; 18] = [
    0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995,
    0.999,
];
/// Number of bars of a histogram.
const BARS: usize = 72;
/// Divisor of the median: values below the quotient are in the first bar.
const SMALL: f64 = 50.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_as_fine_as_the_values_allow() {
        assert_eq!(shares(50).len(), 199);
        let of_many = shares(1_000_000);
        assert!(of_many.is_sorted());
        assert_eq!(of_many.iter().filter(|share| **share >= 0.99).count(), 28);
    }

    #[test]
    fn every_value_is_in_a_bar() {
        let histogram: Histogram =
            [0, 1, 1_000_000, 1_500_000, 90_000_000_000].into_iter().collect();
        let counts = bars(&histogram, 1.0);
        assert!(counts["low"].as_f64().unwrap() > 0.0);
        assert!(counts["ratio"].as_f64().unwrap() > 1.0);
    }
}
