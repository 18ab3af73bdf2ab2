//! The server of a run: an existing one, or the simulator started for the run.

use serde_json::Value;
use servemark_backends::{ServerKind, WireBackend};
use servemark_client::{
    Capacity, HttpTransport, ServerControl, ServerInfo, Target, TargetSpec, raise_nofile,
};
use servemark_core::{MonotonicClock, ServerCounters, SimulatedTimes};
use servemark_metrics::RunVerdictKind;
use servemark_mock::{MockError, MockServer, MockSpec};
use servemark_plan::{BenchPlan, ServerSpec};

use super::affinity;
use super::ranked::part_of;
use crate::observer::RunEvent;
use crate::{ExecuteError, RunContext};

/// Transport of a run over HTTP.
pub(crate) type WireTransport = HttpTransport<WireBackend>;

/// The server of a run.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) target: Target,
    pub(crate) control: ServerControl,
    simulator: Option<MockServer>,
}

impl Server {
    /// Checks that the machine can hold the plan's connections, starts the simulator if it is the
    /// target, and prepares the control connection. Nothing is sent yet.
    pub(crate) fn reach(
        plan: &BenchPlan,
        context: &RunContext,
        clock: MonotonicClock,
    ) -> Result<Self, ExecuteError> {
        raise_nofile().map_err(ExecuteError::Target)?;
        check_capacity(plan, context)?;
        let simulator = match &plan.server {
            ServerSpec::Simulated(spec) => Some(simulator(spec, context)?),
            _ => None,
        };
        let target = target_of(plan, context, simulator.as_ref())?;
        let control = ServerControl::new(target.clone(), clock);
        Ok(Self { target, control, simulator })
    }

    /// Returns the server's base URL.
    pub(crate) fn url(&self) -> String {
        self.target.base_url().to_string()
    }

    /// Returns whether the server is the simulator.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulator.is_some()
    }

    /// Returns the server's information before the run, if servers of its kind have any.
    pub(crate) async fn before(&self, plan: &BenchPlan, context: &RunContext) -> Option<Value> {
        if !plan.server_kind().has_info() {
            return None;
        }
        self.info(plan, context).await.map(|info| info.value().clone())
    }

    /// Returns the server's information, if the plan asks for it and the server answers. A failure
    /// is reported only if servers of its kind should answer.
    pub(crate) async fn info(&self, plan: &BenchPlan, context: &RunContext) -> Option<ServerInfo> {
        if !plan.asks_for_info() {
            return None;
        }
        let server_info = self.control.server_info().await;
        if let Err(error) = server_info.as_ref()
            && plan.server_kind().has_info()
        {
            let reason = error.to_string();
            context.emit(&RunEvent::Missed { what: "ask the server about itself", reason });
        }
        server_info.ok()
    }

    /// Returns the server's counters, if it has any and the plan asks for them, for the server's
    /// times, or for a verdict on its prefix cache. The counters show which steps those times
    /// include. Most servers have none, and the run works without them.
    pub(crate) async fn counters(&self, plan: &BenchPlan) -> Option<ServerCounters> {
        let judges_cache = plan.scoring.unwanted.contains(&RunVerdictKind::Contaminated.into());
        if !(plan.control.counters || plan.control.server_times || judges_cache) {
            return None;
        }
        let text = self.control.metrics().await.ok()?;
        let mut counters = plan.server_kind().counters(&text);
        if judges_cache && counters.prefix_cache.is_none() {
            // A dialect of SGLang's client may measure vLLM's server, and the other way round.
            let others = [ServerKind::Vllm, ServerKind::Sglang].map(|kind| kind.counters(&text));
            let cache = others.into_iter().find_map(|counters| counters.prefix_cache);
            counters.prefix_cache = cache;
        }
        (!counters.is_empty()).then_some(counters)
    }

    /// Returns the simulator's ground truth since the last call.
    pub(crate) fn take_truth(&self) -> Vec<SimulatedTimes> {
        let rows = self.simulator.as_ref().map(MockServer::take_truth).unwrap_or_default();
        rows.into_iter().map(SimulatedTimes::from).collect()
    }
}

/// Returns the number of concurrent connections that the plan is certain to need. For arrivals at
/// a rate, the number depends on the server's latency, which is not known in advance.
pub(crate) fn connections(plan: &BenchPlan) -> Option<usize> {
    let all = plan.workload.requests;
    match plan.load.max_concurrency {
        Some(limit) => Some(limit.get().min(all)),
        None if plan.load.arrivals.is_burst() => Some(all),
        None => None,
    }
}

fn simulator(spec: &MockSpec, context: &RunContext) -> Result<MockServer, MockError> {
    // A run never reads the requests that its simulator received.
    let mut spec = spec.clone();
    spec.keep_requests = 0;
    let start = || MockServer::start(spec);
    match context.simulator_core {
        Some(core) => affinity::on(&[core], start),
        None => start(),
    }
}

fn check_capacity(plan: &BenchPlan, context: &RunContext) -> Result<(), ExecuteError> {
    // The simulator's ends of the connections use file descriptors of this process, too.
    let ends = if matches!(plan.server, ServerSpec::Simulated(_)) { 2 } else { 1 };
    let needed = part_of(context, connections(plan).unwrap_or(0)) as u64 * ends;
    Capacity::measure().check(needed).map_err(ExecuteError::Target)
}

fn target_of(
    plan: &BenchPlan,
    context: &RunContext,
    simulator: Option<&MockServer>,
) -> Result<Target, ExecuteError> {
    let spec = match (&plan.server, simulator) {
        (ServerSpec::At(spec), _) => spec.clone(),
        (_, Some(simulator)) => {
            let url = simulator.base_url();
            context.observer.on_event(&RunEvent::Simulating { url: &url });
            TargetSpec::new(url.parse()?)
        }
        _ => unreachable!("whatever is not simulated is at an address"),
    };
    let target = Target::new(&spec, context.credentials.clone()).map_err(ExecuteError::Target)?;
    if target.is_unverified() {
        context.emit(&RunEvent::Unverified { url: &target.base_url().to_string() });
    }
    Ok(target)
}
