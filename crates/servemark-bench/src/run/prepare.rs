//! Prepares a run: finds its files, loads the tokenizer and draws the load.

use std::sync::Arc;

use servemark_core::{MonotonicClock, Tokenizer, unix_now};
use servemark_plan::BenchPlan;
use servemark_runner::LoadSpec;

use super::discover::Names;
use super::draw::{self, Load};
use super::drawing::drawing;
use super::encode_ahead::encode_ahead;
use super::files;
use crate::{ExecuteError, RunContext};

/// The clock of a run and when it was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    pub(crate) clock: MonotonicClock,
    /// Start of the clock in nanoseconds since the Unix epoch.
    pub(crate) started_unix_ns: u64,
}

impl RunClock {
    pub(crate) fn start() -> Self {
        let clock = MonotonicClock::start();
        let started_unix_ns = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
        Self { clock, started_unix_ns }
    }
}

/// Inputs of a run that are ready before anything is measured.
pub(crate) struct PreparedRun {
    pub(crate) names: Names,
    pub(crate) tokenizer: Arc<dyn Tokenizer>,
    pub(crate) load: Load,
}

/// Whether the requests of a run go to the simulator, which numbers its ground truth by request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Numbering {
    /// Requests carry their numbers.
    Numbered,
    /// Requests carry only what the plan says.
    Plain,
}

/// Draws the load of a plan, and that of `warm_up` if it belongs to the same run.
pub(crate) async fn prepare(
    plan: &BenchPlan,
    warm_up: Option<&BenchPlan>,
    context: &RunContext,
    names: Names,
    numbering: Numbering,
    clock: RunClock,
) -> Result<(PreparedRun, Option<(LoadSpec, Load)>), ExecuteError> {
    let gathering = files::gather(plan, context, &names.tokenizer, clock.clock);
    let files = context.unless_stopped(gathering).await?;
    let (warm_up, run) = (warm_up.cloned(), clock.started_unix_ns);
    let is_simulated = numbering == Numbering::Numbered;
    let work = move |context: &RunContext| {
        let plan = &files.plan;
        let tokenizer = context.tokenizer.get(&files.tokenizer, &plan.workload.dataset)?;
        let draw = |plan: &BenchPlan| {
            let load = draw::load(plan, context, is_simulated, tokenizer.as_ref(), run)?;
            match context.parts.deferred(&plan.wire)? {
                Some(backend) => encode_ahead(plan, context, backend.as_ref(), &names.served, load),
                None => Ok(load),
            }
        };
        let load = draw(plan)?;
        let with_load = |plan: &BenchPlan| draw(plan).map(|load| (plan.load.clone(), load));
        let warm_up = warm_up.as_ref().map(with_load).transpose()?;
        Ok((PreparedRun { names, tokenizer, load }, warm_up))
    };
    drawing(context, work).await
}
