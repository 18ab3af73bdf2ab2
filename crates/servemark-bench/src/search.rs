//! Searches for the largest load that keeps its objectives.
//!
//! A [`SloSearch`] iterates over its rounds, as a [`Sweep`](crate::Sweep) iterates over its
//! points. If it has a folder, it writes a run log there for every round; when it is opened
//! again, complete rounds are read from their logs and not repeated. Each next load follows from
//! the results so far, so the answer is the same.
//!
//! Several tiers of objectives share the rounds: the tiers are searched in order, and each load
//! is judged for all of them.

mod answer;
mod trial;

use std::path::Path;

use servemark_metrics::MetricPolicy;
use servemark_plan::{LoadBracket, SloSearchSpec};

pub use self::answer::{SloAnswer, TierAnswer};
pub use self::trial::{Trial, TrialVerdict};
use crate::{PointRunner, Probe, RunContext, SweepRunError};

/// Iterator over the rounds of a search; each round is executed by the call of `next`.
///
/// ```
/// # use servemark::plan::{BenchPlan, SloSearchSpec, SloSpec};
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use servemark::core::NoProgress;
/// use servemark::metrics::Objective;
/// use servemark::page::GridFormat;
/// use servemark::{RunContext, SloSearch};
///
/// # fn find(plan: BenchPlan) -> Result<(), Box<dyn std::error::Error>> {
/// let slo = SloSpec::new(Objective::list("ttft:p99<2s,tpot:p99<100ms")?);
/// let spec = SloSearchSpec::new(plan, "request_rate", slo)?;
/// let context = RunContext::new(Arc::new(NoProgress));
/// let mut search = SloSearch::open(&spec, Some(Path::new("search")), &context)?;
/// for round in &mut search {
///     println!("{}", round?);
/// }
/// let answer = search.answer();
/// println!("{answer}");
/// answer.write(GridFormat::Html, &mut std::fs::File::create("search.html")?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SloSearch<P> {
    spec: SloSearchSpec,
    nonce: u64,
    probe: P,
    policy: MetricPolicy,
    /// Loads that were tried, in the order of their last rounds. Any of them may need another
    /// round.
    trials: Vec<Trial>,
    /// Number of rounds that were run.
    rounds: u32,
    is_stopped: bool,
}

impl<'a> SloSearch<PointRunner<'a>> {
    /// Opens a search that keeps its run logs in `folder`, or at the path of its plan. An
    /// existing folder must belong to the same search; complete rounds in it are not repeated.
    pub fn open(
        spec: &SloSearchSpec,
        folder: Option<&Path>,
        context: &'a RunContext,
    ) -> Result<Self, SweepRunError> {
        let (runner, spec) = PointRunner::keep(spec, folder, context)?;
        let nonce = runner.nonce();
        Ok(Self::driving(runner, spec, nonce))
    }
}

impl<P: Probe> SloSearch<P> {
    /// Creates a search whose rounds are executed by `probe`. `nonce` makes the prompts differ
    /// from those of other searches.
    pub fn driving(probe: P, spec: SloSearchSpec, nonce: u64) -> Self {
        let policy = MetricPolicy::native().with_slos(spec.base.scoring.slos.iter().copied());
        Self { spec, nonce, probe, policy, trials: Vec::new(), rounds: 0, is_stopped: false }
    }

    /// Returns the results so far.
    pub fn answer(&self) -> SloAnswer {
        let is_whole = !self.is_stopped && self.next_value().is_none();
        SloAnswer::of(&self.spec, self.trials.clone(), is_whole)
    }

    /// Returns the next load to try for any tier; `None` when all tiers have an answer.
    fn next_value(&self) -> Option<f64> {
        (0..self.spec.tiers().len()).find_map(|tier| self.next_value_of(tier))
    }

    /// Returns the next load to try for a tier; `None` when the tier has its answer. A short
    /// round may hold by chance, or because queues have not grown yet, so the largest load that
    /// holds is tried in all rounds.
    fn next_value_of(&self, tier: usize) -> Option<f64> {
        let trial_of = |value: f64| self.trials.iter().find(|trial| trial.is_of(value));
        let found = LoadBracket::find(&self.spec.range, |value| {
            trial_of(value).and_then(|trial| trial.verdicts[tier].outcome()).ok_or(value)
        });
        let is_short =
            |value: &f64| trial_of(*value).is_some_and(|trial| !trial.has_all_rounds(&self.spec));
        found.map_or_else(Some, |bracket| bracket.holds.filter(is_short))
    }

    fn round_of(&mut self, value: f64) -> Result<Option<Trial>, SweepRunError> {
        let known = self.trials.iter().find(|trial| trial.is_of(value)).cloned();
        let mut trial = known.unwrap_or_else(|| Trial::new(value, &self.spec));
        let point = self.spec.point(value, trial.round(), self.rounds, self.nonce)?;
        self.rounds += 1;
        let done = match self.probe.probe(point) {
            Err(error) if error.is_stop() => return Ok(None),
            done => done?,
        };
        if !done.run.log.is_complete() {
            return Ok(None);
        }
        trial.add(done, &self.policy, &self.spec);
        self.trials.retain(|known| !known.is_of(value));
        self.trials.push(trial.clone());
        Ok(Some(trial))
    }
}

/// The iterator ends when the answer is found or the user stops. Each item is the load that was
/// tried, with the results of all its rounds.
impl<P: Probe> Iterator for SloSearch<P> {
    type Item = Result<Trial, SweepRunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.next_value().filter(|_| !self.is_stopped)?;
        let round = self.round_of(value).transpose();
        self.is_stopped = !matches!(round, Some(Ok(_)));
        round
    }
}

#[cfg(test)]
mod tests;
