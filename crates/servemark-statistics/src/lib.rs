//! Confidence intervals for the measurements of a benchmark: samples that are correlated in time,
//! skewed and clustered (the tokens of one request).
//!
//! The crate works on numbers in the order of time. It knows no records, policies or reports. If a
//! sample does not support an interval, the result is [`Bounds::TooShort`] with a reason, never a
//! number.
//!
//! ```
//! use servemark_rng::Pcg64;
//! use servemark_statistics::{Bounds, Observations};
//!
//! // 500 requests that do not depend on each other.
//! let mut random = Pcg64::seeded(1);
//! let sample: Observations = (0..500).map(|_| random.random()).collect();
//! let mean = sample.mean(0.95);
//! let Bounds::Known { low, high } = mean.bounds else { panic!("the sample is long enough") };
//! assert!(low < 0.5 && 0.5 < high);
//! assert_eq!(mean.effective.round(), 500.0);
//! ```

mod change;
mod clustering;
mod crossing;
mod dependence;
mod estimate;
mod looks;
mod mean;
mod needed;
mod observations;
mod percentile;
mod portion;
mod ranks;
mod settling;
mod share;
mod signed_rank;
mod spectrum;
mod student;

pub use change::{
    SumAndCount, ValueInterval, chance_of_shares, change_of_groups, change_of_paired_means,
    change_of_pairs, change_of_two,
};
pub use crossing::{Crossing, Margin};
pub use estimate::{Bounds, Estimate, Reason};
pub use looks::{Looks, confidence_of_look};
pub use mean::rate;
pub use needed::Needed;
pub use observations::{Observations, SortedObservations, UnmetWaits};
pub use portion::{Portion, portion};
pub use ranks::{fewest_draws, fewest_with_misses, rank_bounds};
pub use settling::{Settling, settling};
pub use share::{share, share_bounds};
pub use signed_rank::{PairedShift, signed_rank};
pub use student::{independent_mean, mean_and_deviation, rises};

/// Sorts values by their total order. Its code is compiled in this crate and is fast in release builds,
/// which optimise most of the callers for size.
pub fn sort(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

/// Returns the mean and the unbiased variance of values; the variance of fewer than two values is
/// zero.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0).max(1.0))
}
