//! Shares of requests, for example of successes or of those within their objectives.

use crate::clustering::clustering;
use crate::dependence::Dependence;
use crate::{Bounds, Estimate, Reason};
use statrs::distribution::{Beta, ContinuousCDF};

/// Estimates the share of requests for which something holds, from values in the order of time.
pub fn share(holds: &[bool], confidence: f64) -> Estimate {
    let series: Vec<f64> = holds.iter().map(|holds| if *holds { 1.0 } else { 0.0 }).collect();
    let misses: Vec<bool> = holds.iter().map(|holds| !holds).collect();
    let samples = series.len();
    let value = series.iter().sum::<f64>() / samples as f64;
    let longest = clustering(holds).max(clustering(&misses));
    let dependence = Dependence::of(&series).at_least(longest);
    let effective = dependence.effective();
    let (low, high) = share_bounds(value, effective, (1.0 - confidence) / 2.0);
    let bounds = match dependence.too_short(FEWEST) {
        Some((times, reason)) => Bounds::TooShort { times, reason },
        None if effective < FEWEST => {
            Bounds::TooShort { times: FEWEST / effective, reason: Reason::FewRequests }
        }
        None => Bounds::Known { low, high },
    };
    let error = Some((value * (1.0 - value) / effective).sqrt());
    Estimate { value, bounds, at_least: low, error, unseen: 0.0, samples, effective }
}

/// Least number of independent requests.
const FEWEST: f64 = 20.0;

/// Returns bounds on the share of the process, if the share `observed` of `draws` independent requests
/// was observed (Clopper and Pearson 1934).
pub fn share_bounds(observed: f64, draws: f64, alpha: f64) -> (f64, f64) {
    let (hits, misses) = (observed * draws, (1.0 - observed) * draws);
    let bound = |hits: f64, misses: f64, at: f64| {
        Beta::new(hits, misses).ok().map(|beta| beta.inverse_cdf(at))
    };
    let low = bound(hits, misses + 1.0, alpha).unwrap_or(0.0);
    let high = bound(hits + 1.0, misses, 1.0 - alpha).unwrap_or(1.0);
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_printed_tables() {
        let near = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!((low - expected.0).abs() < 5e-5, "{low}");
            assert!((high - expected.1).abs() < 5e-5, "{high}");
        };
        // Two-sided 95 % for 7 of 10: 0.3475 to 0.9333; none of ten: up to 0.3085.
        near(share_bounds(0.7, 10.0, 0.025), (0.3475, 0.9333));
        near(share_bounds(0.0, 10.0, 0.025), (0.0, 0.3085));
        near(share_bounds(1.0, 299.0, 0.05), (0.990_03, 1.0));
    }
}
