//! From where on a series is settled: the MSER-5 cut and a test for a change of level.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::dependence::{integrated_length, ranks};
use crate::ranks::whole;

/// What a series in the order of time shows of its level. Indices are places in the series. Closed:
/// these are all the cases.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Settling {
    /// The level does not change by more than chance and by a part that matters.
    Steady,
    /// The level changes in the first half and not after it.
    After {
        /// First value of the settled part.
        cut: usize,
    },
    /// The level changes in the second half, or again after a change in the first.
    Unsettled {
        /// First value after the first change.
        first: usize,
        /// First value after the last change that was found.
        last: usize,
    },
    /// The series is too short, or its values stay alike for too large a part of it.
    Unknown,
}

/// Where a series settles.
///
/// The series is taken in batches of five values, as means of ranks, so that a few values far from all
/// others do not decide. Whether the level changes is tested first: the largest standardised
/// difference between the batches before a place and those after it (a likelihood ratio test for one
/// change, with the distribution of Csorgo and Horvath 1997, theorem 1.3.2), with errors that allow for
/// correlation. Only if it does the start is cut off, where that makes the standard error of what
/// remains smallest (MSER-5, White 1997). A cut in the second half is no cut: then the series is cut
/// where its level changes, if that is in the first half. What remains is tested once more.
pub fn settling(series: &[f64]) -> Settling {
    let change = match Change::of(series) {
        Found::Unknown => return Settling::Unknown,
        Found::Nothing => return Settling::Steady,
        Found::Change(change) => change,
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
        Found::Change(again) => Settling::Unsettled { first: cut, last: cut + again },
        Found::Nothing | Found::Unknown => Settling::After { cut },
    }
}

/// Whether the mean of a series is another one without the values before `cut`.
fn matters(series: &[f64], cut: usize) -> bool {
    let (all, rest) = (mean(series), mean(&series[cut..]));
    (all - rest).abs() > LEAST_EFFECT * rest.abs()
}

/// Outcome of the test for a change of level.
enum Found {
    Change(usize),
    Nothing,
    Unknown,
}

/// A place in a series of batches at which its level changes.
struct Change {
    /// First batch after the change.
    place: usize,
    /// The difference of levels on both sides in units of a batch, standardised for independent
    /// batches.
    distance: f64,
}

impl Change {
    fn of(series: &[f64]) -> Found {
        let batches = batch_means(&ranks(series));
        if series.len() < FEWEST {
            return Found::Unknown;
        }
        let Some(first) = Self::largest(&batches, FEWEST_BATCHES) else { return Found::Nothing };
        let residuals = without_levels(&batches, first.place);
        let variance = mean(&residuals.iter().map(|off| off * off).collect::<Vec<_>>());
        if variance <= 0.0 {
            return first.told(series);
        }
        let length = integrated_length(&residuals).max(1.0);
        let effective = batches.len() as f64 / length;
        if effective < FEWEST_EFFECTIVE {
            return Found::Unknown;
        }
        // Nothing can be said of a part that is hardly longer than its values stay alike.
        let margin = FEWEST_BATCHES.max(whole((2.0 * length).ceil()));
        let Some(change) = Self::largest(&batches, margin) else { return Found::Unknown };
        let errors = change.distance / (variance * length).sqrt();
        let share = margin as f64 / batches.len() as f64;
        let is_chance = chance(normal_of(errors, effective), share) > FALSE_ALARMS;
        if is_chance { Found::Nothing } else { change.told(series) }
    }

    /// The change that stands out most, at least `margin` batches from both ends.
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

    /// The change, unless the levels are too near to each other to matter.
    fn told(&self, series: &[f64]) -> Found {
        let at = self.place * BATCH;
        let (before, after) = (mean(&series[..at]), mean(&series[at..]));
        let is_large = (before - after).abs() > LEAST_DIFFERENCE * before.abs().min(after.abs());
        if is_large { Found::Change(at) } else { Found::Nothing }
    }
}

/// Batches less the level of their side of a place.
fn without_levels(batches: &[f64], place: usize) -> Vec<f64> {
    let (before, after) = batches.split_at(place);
    let off = |side: &[f64]| {
        let level = mean(side);
        side.iter().map(|batch| batch - level).collect::<Vec<_>>()
    };
    [off(before), off(after)].concat()
}

/// A difference in standard errors as it would be if the errors were known, where they come from so
/// many independent values.
fn normal_of(errors: f64, effective: f64) -> f64 {
    let at = 1.0 - FALSE_ALARMS / 4.0;
    let normal = Normal::standard().inverse_cdf(at);
    let student = StudentsT::new(0.0, 1.0, effective.max(2.0));
    student.map_or(0.0, |student| errors * normal / student.inverse_cdf(at))
}

/// The chance that the largest of all standardised differences is as large as `errors` although the
/// level does not change, where a share of `margin` at both ends is left out.
fn chance(errors: f64, margin: f64) -> f64 {
    if errors < 1.5 {
        return 1.0;
    }
    let density = (-errors * errors / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let span = 2.0 * ((1.0 - margin) / margin).ln();
    errors * density * ((1.0 - errors.powi(-2)) * span + 4.0 * errors.powi(-2))
}

/// The number of batches to leave out so that the standard error of the mean of the others, taken for
/// independent, is smallest.
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

/// Values in a batch.
const BATCH: usize = 5;
/// Fewest values of which anything can be said.
const FEWEST: usize = 50;
/// A change is at least this number of batches away from both ends.
const FEWEST_BATCHES: usize = 2;
/// Batches that are left, at least; the error of fewer is small by chance.
const FEWEST_LEFT: f64 = 5.0;
/// Independent batches that a series must be worth.
const FEWEST_EFFECTIVE: f64 = 5.0;
/// Share of steady series that are taken for changing.
const FALSE_ALARMS: f64 = 0.02;
/// Levels that differ by less than this share are one.
const LEAST_DIFFERENCE: f64 = 0.1;
/// A start that moves the mean of the whole by less than this share does not matter.
const LEAST_EFFECT: f64 = 0.02;

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;

    /// Independent values around `level` of a place.
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
