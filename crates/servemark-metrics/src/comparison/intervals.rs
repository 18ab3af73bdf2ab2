//! Confidence intervals of changes, from what is known of the runs on either side.

use servemark_statistics::{
    chance_of_shares, change_of_groups, change_of_paired_means, change_of_pairs, change_of_two,
};

use super::run::ComparedRun;
use super::{Basis, ChangeInterval};
use crate::Figure;
use crate::figure::Quantity;
use crate::statistics::whole;

/// The runs on either side of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides<'a> {
    pub(super) before: &'a [ComparedRun],
    pub(super) after: &'a [ComparedRun],
}

/// The values of a figure, one for each run that has it.
struct Values {
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Sides<'_> {
    fn values(&self, figure: Figure) -> Values {
        let of = |runs: &[ComparedRun]| runs.iter().filter_map(|run| run.value(figure)).collect();
        Values { before: of(self.before), after: of(self.after) }
    }

    /// Returns the means of a figure over the runs that have it, and the number of those runs.
    pub(super) fn run_means(&self, figure: Figure) -> Option<([f64; 2], [usize; 2])> {
        let Values { before, after } = self.values(figure);
        let mean = |values: &[f64]| {
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Some(([mean(&before)?, mean(&after)?], [before.len(), after.len()]))
    }

    /// Returns the confidence interval of a figure's change, and the data that it is based on.
    pub(super) fn interval(
        &self,
        figure: Figure,
        confidence: f64,
    ) -> Option<(ChangeInterval, Basis)> {
        let (logs, basis) = match (self.before, self.after) {
            ([before], [after]) => within(before, after, figure, confidence)?,
            _ => self.between(figure, confidence)?,
        };
        Some((ChangeInterval::of_logs(logs), basis))
    }

    fn between(&self, figure: Figure, confidence: f64) -> Option<((f64, f64), Basis)> {
        if is_count(figure.quantity) {
            return None;
        }
        let Values { before, after } = self.values(figure);
        if self.is_paired() {
            return Some((change_of_pairs(&before, &after, confidence)?, Basis::PairedRuns));
        }
        Some((change_of_groups(&before, &after, confidence)?, Basis::Runs))
    }

    /// Returns whether each run has a counterpart with the same workload, and workloads differ
    /// between the pairs.
    fn is_paired(&self) -> bool {
        let is_same = |index: usize| self.before[index].has_workload_of(&self.after[index]);
        let is_varied = || !self.before[0].has_workload_of(&self.before[1]);
        self.before.len() == self.after.len()
            && self.before.len() > 1
            && (0..self.before.len()).all(is_same)
            && is_varied()
    }

    /// Returns the probability that chance alone makes a share of failures so uneven; absent for
    /// any other figure.
    pub(super) fn chance_of(&self, figure: Figure) -> Option<f64> {
        if figure != Figure::new(Quantity::Failed) {
            return None;
        }
        let counts = |runs: &[ComparedRun]| {
            runs.iter().try_fold((0, 0), |(failed, all), run| {
                let count =
                    |quantity| run.value(Figure::new(quantity)).map(|count| whole(count) as u64);
                let (bad, good) = (count(Quantity::Failed)?, count(Quantity::Completed)?);
                Some((failed + bad, all + bad + good))
            })
        };
        Some(chance_of_shares(counts(self.before)?, counts(self.after)?))
    }

    /// Returns the relative standard deviation of a figure between the runs of a side, pooled over
    /// both sides, without the chance within the runs.
    pub(super) fn between_runs(&self, figure: Figure, within: Option<f64>) -> Option<f64> {
        let Values { before, after } = self.values(figure);
        let squares = [before, after].map(|values| {
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let squares: f64 = values.iter().map(|value| (value / mean - 1.0).powi(2)).sum();
            (squares, values.len().saturating_sub(1))
        });
        let degrees = (squares[0].1 + squares[1].1) as f64;
        let variance = (squares[0].0 + squares[1].0) / degrees;
        (degrees > 0.0 && variance.is_finite())
            .then(|| (variance - within.unwrap_or_default().powi(2)).max(0.0).sqrt())
    }

    /// Returns the relative standard error of a figure from the requests of a run, as the root mean
    /// square over all runs.
    pub(super) fn within_run(&self, figure: Figure) -> Option<f64> {
        let runs = self.before.iter().chain(self.after);
        let errors: Option<Vec<f64>> = runs.map(|run| run.error_within(figure)).collect();
        let errors = errors?;
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        Some((squares / errors.len() as f64).sqrt())
    }
}

fn within(
    before: &ComparedRun,
    after: &ComparedRun,
    figure: Figure,
    confidence: f64,
) -> Option<((f64, f64), Basis)> {
    let paired = before
        .paired(after, figure)
        .and_then(|(before, after)| change_of_paired_means(before, after, confidence));
    if let Some(logs) = paired {
        return Some((logs, Basis::PairedRequests));
    }
    let (before, after) =
        (before.value_interval(figure, confidence)?, after.value_interval(figure, confidence)?);
    Some((change_of_two(before, after)?, Basis::Requests))
}

fn is_count(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Completed | Quantity::Failed)
}

/// Returns the figures that changed beyond chance, tested all at once (Holm 1979). The least likely
/// one is compared with the level of the whole family divided by the number of figures that are
/// left.
pub(super) fn beyond_chance(
    sides: &Sides<'_>,
    tested: impl IntoIterator<Item = Figure>,
    level: f64,
) -> Vec<Figure> {
    let mut left: Vec<Figure> = tested.into_iter().collect();
    let mut beyond = Vec::new();
    loop {
        let own_level = level / left.len().max(1) as f64;
        let is_found = |figure: &Figure| {
            if let Some(chance) = sides.chance_of(*figure) {
                return chance < own_level;
            }
            let interval = sides.interval(*figure, 1.0 - own_level);
            interval.is_some_and(|(interval, _)| !interval.holds_zero())
        };
        let (found, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_found);
        if found.is_empty() {
            return beyond;
        }
        beyond.extend(found);
        left = others;
    }
}
