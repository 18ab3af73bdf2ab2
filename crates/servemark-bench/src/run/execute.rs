//! Executes a plan step by step: prepare, warm up, measure, finish.

use servemark_core::Session;
use servemark_plan::{BenchPlan, ServerSpec};

#[cfg(feature = "engine")]
use super::engine::LoadedEngine;
use super::http;
use super::local_faults::local_faults;
use super::measure::measure;
use super::outcome::Run;
use super::prepare::{PreparedRun, RunClock};
use super::provided::ProvidedSystem;
use super::ranked::{self, RankedRun};
use super::server::Server;
use super::system::System;
use crate::runtime::on_this_thread;
use crate::{ExecuteError, RunContext};

/// Executes a plan, from waiting for the server to the closed run log, on a runtime of its own on
/// the calling thread. For an offline engine, the warm-up plan runs in the same call, because the
/// engine is loaded only once. The warm-up plan of a server is not executed here: the caller
/// executes it first, as a run of its own.
///
/// # Errors
///
/// Inside an asynchronous runtime it returns [`ExecuteError::InsideRuntime`], because it would
/// block a thread of that runtime; [`start`](crate::start) runs a plan from there.
pub fn execute(plan: &BenchPlan, context: &RunContext) -> Result<Run, ExecuteError> {
    on_this_thread(run(plan, context))
}

/// Executes a plan on the current runtime.
pub(super) async fn run(plan: &BenchPlan, context: &RunContext) -> Result<Run, ExecuteError> {
    if let Some(fault) = local_faults(plan).into_iter().next() {
        return Err(fault);
    }
    match &context.ranks {
        Some(group) => Box::pin(ranked::run(plan, context, group)).await,
        None => run_alone(plan, context, RunClock::start(), None).await,
    }
}

/// Executes what this process does of a plan.
pub(super) async fn run_alone(
    plan: &BenchPlan,
    context: &RunContext,
    clock: RunClock,
    ranked: Option<&RankedRun>,
) -> Result<Run, ExecuteError> {
    match &plan.server {
        ServerSpec::Provided { .. } => run_on::<ProvidedSystem>(plan, context, clock, ranked).await,
        #[cfg(feature = "engine")]
        ServerSpec::Engine(_) => run_on::<LoadedEngine>(plan, context, clock, ranked).await,
        _ => run_on::<Server>(plan, context, clock, ranked).await,
    }
}

async fn run_on<S: System>(
    plan: &BenchPlan,
    context: &RunContext,
    clock: RunClock,
    ranked: Option<&RankedRun>,
) -> Result<Run, ExecuteError> {
    let (system, prepared) = S::prepare(plan, context, clock).await?;
    if let Some(ranked) = ranked {
        ranked.agree(&prepared.load, context).await?;
    }
    measure(&system, plan, context, &prepared, clock, ranked).await
}

/// Size of the load that a plan would send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DryRun {
    /// Number of requests.
    pub requests: usize,
    /// Prompt tokens; a later turn's count excludes the earlier turns.
    pub input_tokens: u64,
    /// Requested output tokens.
    pub output_tokens: u64,
}

/// Draws the load of a plan without sending it. The server is asked for its model if the plan
/// does not name one.
pub fn dry_run(plan: &BenchPlan, context: &RunContext) -> Result<DryRun, ExecuteError> {
    plan.check()?;
    let (_, PreparedRun { load, .. }) =
        on_this_thread(http::connect_and_draw(plan, context, RunClock::start()))?;
    let samples = || load.sessions.iter().flat_map(Session::samples);
    Ok(DryRun {
        requests: samples().count(),
        input_tokens: samples().map(|sample| u64::from(sample.prompt_tokens)).sum(),
        output_tokens: samples().map(|sample| u64::from(sample.output_tokens)).sum(),
    })
}
