//! Finds where a series settles, by the MSER-5 cut and a test for a change of level.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::dependence::{integrated_length, ranks};
use crate::ranks::whole;

/// Result of the search for changes of level in a series in the order of time. Indices are those of
/// the series. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Settling {
    /// The level does not change by more than chance, or not by a relevant part.
    Steady,
    /// The level changes in the first half and not after it.
    After {
        /// Index of the first value of the settled part.
        cut: usize,
    },
    /// The level changes in the second half, or again after a change in the first.
    Unsettled {
        /// Index of the first value after the first change.
        first: usize,
        /// Index of the first value after the last change that was found.
        last: usize,
    },
    /// The series is too short, or its values are similar for too large a part of it.
    Unknown,
}

/// Finds where a series settles.
///
/// The series is divided into batches of five values, as means of ranks, so that a few outliers do
/// not determine the result. The first test is whether the level changes. It takes the largest
/// standardised difference between the batches before a place and those after it (a
/// likelihood-ratio test for one change, with the distribution of Csorgo and Horvath 1997, theorem
/// 1.3.2), with errors that allow for correlation.
///
/// If the level changes, the start is cut off where that makes the standard error of the rest
/// smallest (MSER-5, White 1997). If that cut lies in the second half, the series is cut where its
/// level changes, provided that this is in the first half. The rest is tested once more.
pub fn settling(series: &[f64]) -> Settling {
    let change = match Change::of(series) {
        LevelTest::Unknown => return Settling::Unknown,
        LevelTest::Nothing => return Settling::Steady,
        LevelTest::Change(change) => change,
    };
    let half = series.len() / 2;
    let by_error = mser(&batch_means(&ranks(series))) * BATCH;
    let cut = if (1..=half).contains(&by_error) { by_error } else { change };
    if cut > half {
        return Settling::Unsettled { first: change, last: cut };
    }
    if !matters(series, cut) {
        return Settling::Steady;
    }
    match Change::of(&series[cut..]) {
        LevelTest::Change(again) => Settling::Unsettled { first: cut, last: cut + again },
        LevelTest::Nothing | LevelTest::Unknown => Settling::After { cut },
    }
}

/// Returns whether the mean of a series changes relevantly without the values before `cut`.
fn matters(series: &[f64], cut: usize) -> bool {
    let (all, rest) = (mean(series), mean(&series[cut..]));
    (all - rest).abs() > LEAST_EFFECT * rest.abs()
}

/// Outcome of the test for a change of level.
enum LevelTest {
    Change(usize),
    Nothing,
    Unknown,
}

/// A place in a series of batches at which its level changes.
struct Change {
    /// First batch after the change.
    place: usize,
    /// Difference of the levels on both sides in units of a batch, standardised for independent
    /// batches.
    distance: f64,
}

impl Change {
    fn of(series: &[f64]) -> LevelTest {
        let batches = batch_means(&ranks(series));
        if series.len() < FEWEST {
            return LevelTest::Unknown;
        }
        let Some(first) = Self::largest(&batches, FEWEST_BATCHES) else {
            return LevelTest::Nothing;
        };
        let residuals = without_levels(&batches, first.place);
        let variance = mean(&residuals.iter().map(|off| off * off).collect::<Vec<_>>());
        if variance <= 0.0 {
            return first.relevant_change(series);
        }
        let length = integrated_length(&residuals).max(1.0);
        let effective = batches.len() as f64 / length;
        if effective < FEWEST_EFFECTIVE {
            return LevelTest::Unknown;
        }
        // A part that is hardly longer than the correlation length cannot be tested.
        let margin = FEWEST_BATCHES.max(whole((2.0 * length).ceil()));
        let Some(change) = Self::largest(&batches, margin) else { return LevelTest::Unknown };
        let errors = change.distance / (variance * length).sqrt();
        let share = margin as f64 / batches.len() as f64;
        let is_chance = chance(normal_of(errors, effective), share) > FALSE_ALARMS;
        if is_chance { LevelTest::Nothing } else { change.relevant_change(series) }
    }

    /// Finds the largest change that is at least `margin` batches from both ends.
    fn largest(batches: &[f64], margin: usize) -> Option<Self> {
        let (count, mean) = (batches.len(), mean(batches));
        let mut sum = 0.0;
        let mut most = None;
        for (place, batch) in (1..count).zip(batches) {
            sum += batch - mean;
            if place < margin || count - place < margin {
                continue;
            }
            let weight = place as f64 * (count - place) as f64 / count as f64;
            let distance = f64::abs(sum) / weight.sqrt();
            if most.as_ref().is_none_or(|most: &Self| distance > most.distance) {
                most = Some(Self { place, distance });
            }
        }
        most.filter(|most| most.distance > 0.0)
    }

    /// Returns the change, unless the levels are too close to each other to be relevant.
    fn relevant_change(&self, series: &[f64]) -> LevelTest {
        let at = self.place * BATCH;
        let (before, after) = (mean(&series[..at]), mean(&series[at..]));
        let is_large = (before - after).abs() > LEAST_DIFFERENCE * before.abs().min(after.abs());
        if is_large { LevelTest::Change(at) } else { LevelTest::Nothing }
    }
}

/// Subtracts from each batch the mean level of its side of a place.
fn without_levels(batches: &[f64], place: usize) -> Vec<f64> {
    let (before, after) = batches.split_at(place);
    let off = |side: &[f64]| {
        let level = mean(side);
        side.iter().map(|batch| batch - level).collect::<Vec<_>>()
    };
    [off(before), off(after)].concat()
}

/// Converts a difference in standard errors that were estimated from `effective` independent values
/// to the equivalent with known errors.
fn normal_of(errors: f64, effective: f64) -> f64 {
    let at = 1.0 - FALSE_ALARMS / 4.0;
    let normal = Normal::standard().inverse_cdf(at);
    let student = StudentsT::new(0.0, 1.0, effective.max(2.0));
    student.map_or(0.0, |student| errors * normal / student.inverse_cdf(at))
}

/// Returns the probability that the largest standardised difference is at least `errors` although
/// the level does not change, where a share of `margin` at both ends is left out.
fn chance(errors: f64, margin: f64) -> f64 {
    if errors < 1.5 {
        return 1.0;
    }
    let density = (-errors * errors / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let span = 2.0 * ((1.0 - margin) / margin).ln();
    errors * density * ((1.0 - errors.powi(-2)) * span + 4.0 * errors.powi(-2))
}

/// Returns the number of leading batches to drop so that the standard error of the mean of the
/// rest, as if independent, is smallest.
fn mser(batches: &[f64]) -> usize {
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut least, mut cut) = (f64::INFINITY, 0);
    for (place, batch) in batches.iter().enumerate().rev() {
        sum += batch;
        squares += batch * batch;
        let left = (batches.len() - place) as f64;
        if left < FEWEST_LEFT {
            continue;
        }
        let error = (squares - sum * sum / left) / (left * left);
        if error <= least {
            (least, cut) = (error, place);
        }
    }
    cut
}

fn batch_means(series: &[f64]) -> Vec<f64> {
    series.chunks_exact(BATCH).map(mean).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Number of values in a batch.
const BATCH: usize = 5;
/// Least number of values that are tested.
const FEWEST: usize = 50;
/// Least distance of a change from both ends, in batches.
const FEWEST_BATCHES: usize = 2;
/// Least number of batches that remain. The error of fewer is small by chance.
const FEWEST_LEFT: f64 = 5.0;
/// Least effective number of batches of a series.
const FEWEST_EFFECTIVE: f64 = 5.0;
/// Share of steady series in which a change is found.
const FALSE_ALARMS: f64 = 0.02;
/// Share by which levels must differ to count as different.
const LEAST_DIFFERENCE: f64 = 0.1;
/// Share by which a start must move the mean of the whole to be relevant.
const LEAST_EFFECT: f64 = 0.02;

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;

    /// Returns independent values around `level` of their index.
    fn series(count: usize, seed: u32, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = NumpyRandom::seeded(seed);
        (0..count).map(|at| level(at) * random.normal(1.0, 0.2)).collect()
    }

    #[test]
    fn a_start_at_another_level_is_cut_off() {
        for seed in 0..20 {
            let slow_start = series(500, seed, |at| if at < 100 { 2.0 } else { 1.0 });
            let settled = settling(&slow_start);
            let Settling::After { cut } = settled else { panic!("seed {seed}: {settled:?}") };
            assert!((90..=250).contains(&cut), "{cut}");
        }
    }

    #[test]
    fn independent_values_are_steady() {
        let settled =
            (0..200).filter(|seed| settling(&series(400, *seed, |_| 1.0)) == Settling::Steady);
        assert!(settled.count() >= 196);
        assert_eq!(settling(&[3.0; 400]), Settling::Steady);
    }

    #[test]
    fn a_change_in_the_second_half_and_a_drift_leave_no_settled_part() {
        let late = series(500, 1, |at| if at < 350 { 1.0 } else { 2.0 });
        assert!(matches!(settling(&late), Settling::Unsettled { first: 340..=360, .. }));
        let drift = series(500, 1, |at| 1.0 + at as f64 / 250.0);
        assert!(matches!(settling(&drift), Settling::Unsettled { .. }));
    }

    #[test]
    fn two_levels_without_any_scatter_are_found() {
        let steps: Vec<f64> = (0..100).map(|at| if at < 20 { 5.0 } else { 1.0 }).collect();
        assert_eq!(settling(&steps), Settling::After { cut: 20 });
    }

    #[test]
    fn a_change_that_moves_the_mean_by_nothing_is_none() {
        let near = series(500, 2, |at| if at < 100 { 1.05 } else { 1.0 });
        assert_eq!(settling(&near), Settling::Steady);
    }

    #[test]
    fn few_values_say_nothing() {
        assert_eq!(settling(&series(40, 1, |_| 1.0)), Settling::Unknown);
    }

    #[test]
    fn a_walk_has_no_level_to_settle_at() {
        let mut level = 0.0;
        let mut random = NumpyRandom::seeded(3);
        let walk: Vec<f64> = (0..400)
            .map(|_| {
                level += random.normal(0.0, 1.0);
                100.0 + level
            })
            .collect();
        assert!(!matches!(settling(&walk), Settling::Steady | Settling::After { .. }));
    }
}
