//! A search for the largest load that keeps its objectives.
//!
//! A [`SloSearch`] gives its rounds one at a time, like a [`Sweep`](crate::Sweep) its points. In a
//! folder it keeps a run log for every round; begun again, what is whole is read and not run, and
//! because each next load follows from what was found so far, the answer is the same.

mod answer;
mod trial;

use std::path::Path;

use servemark_metrics::MetricPolicy;
use servemark_plan::{Bracket, SloSearchSpec, largest};

pub use self::answer::SloAnswer;
pub use self::trial::{Trial, TrialVerdict};
use crate::{PointRunner, Probe, RunContext, SweepRunError};

/// The rounds of a search, each run when it is asked for.
///
/// ```
/// # use servemark::plan::{BenchPlan, SloSearchSpec, SloSpec};
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use servemark::core::NoProgress;
/// use servemark::metrics::Objective;
/// use servemark::report::GridFormat;
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
    /// The loads that were tried, in their order; the last may want another round.
    trials: Vec<Trial>,
    /// How many rounds were run.
    rounds: u32,
    is_stopped: bool,
}

impl<'a> SloSearch<PointRunner<'a>> {
    /// A search that keeps its run logs in `folder`, or where its plan says. A folder that is there
    /// already must be one of the same search; what is whole in it is not run again.
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
    /// A search that drives a probe of one's own. `nonce` tells its prompts from those of others.
    pub fn driving(probe: P, spec: SloSearchSpec, nonce: u64) -> Self {
        let policy = MetricPolicy::native().with_slos(spec.base.scoring.slos.iter().copied());
        Self { spec, nonce, probe, policy, trials: Vec::new(), rounds: 0, is_stopped: false }
    }

    /// What was found so far.
    pub fn answer(&self) -> SloAnswer {
        let is_whole = !self.is_stopped && self.next_value().is_ok();
        SloAnswer::of(&self.spec, self.trials.clone(), is_whole)
    }

    /// Where the answer lies, or the load that must be tried before one can say.
    fn next_value(&self) -> Result<Bracket, f64> {
        largest(&self.spec.range, |value| {
            let tried = self.trials.iter().find(|trial| trial.is_of(value));
            tried.and_then(|trial| trial.verdict.holds()).ok_or(value)
        })
    }

    fn round_of(&mut self, value: f64) -> Result<Option<Trial>, SweepRunError> {
        let known = self.trials.last().filter(|trial| trial.is_of(value)).cloned();
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
        let is_usable = done.run.audit.keeps_up();
        trial.add(done, is_usable, &self.policy, &self.spec);
        self.trials.retain(|known| !known.is_of(value));
        self.trials.push(trial.clone());
        Ok(Some(trial))
    }
}

/// Ends when the answer is found or the user wants to stop. Each item is the load that was tried
/// with all that is known of it.
impl<P: Probe> Iterator for SloSearch<P> {
    type Item = Result<Trial, SweepRunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.next_value().err().filter(|_| !self.is_stopped)?;
        let round = self.round_of(value).transpose();
        self.is_stopped = !matches!(round, Some(Ok(_)));
        round
    }
}

#[cfg(test)]
mod tests;
