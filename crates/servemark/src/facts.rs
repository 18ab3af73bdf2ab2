//! What the run log's header says of a plan.

use servemark_core::{Header, RunFacts};
use servemark_plan::BenchPlan;

use crate::discover::Names;
use crate::draw::Load;
use crate::server::Server;

/// The header of a run whose clock started at `clock_started_unix_ns`.
pub(crate) fn header(
    clock_started_unix_ns: u64,
    plan: &BenchPlan,
    server: &Server,
    names: &Names,
    load: &Load,
) -> Header {
    Header::new(clock_started_unix_ns, facts(plan, server, names, load), plan.to_json())
}

fn facts(plan: &BenchPlan, server: &Server, names: &Names, load: &Load) -> RunFacts {
    let mut facts = RunFacts::default();
    plan.speaks().clone_into(&mut facts.backend);
    facts.api_path = plan.wire.path().into_owned();
    facts.target = server.url();
    facts.model.clone_from(&names.served);
    facts.model_id = Some(names.model.clone()).filter(|model| *model != names.served);
    facts.tokenizer = names.tokenizer.name();
    facts.dataset = plan.workload.dataset.name().to_string();
    facts.requests = load.measured(&plan.load);
    facts.sessions = load.sessions.len() - load.leading(&plan.load);
    facts.seed = plan.workload.seed.into();
    facts.request_rate = plan.load.arrivals.mean_rate();
    facts.replayed = plan.load.arrivals.is_trace();
    facts.max_concurrency = plan.load.max_concurrency.map(Into::into);
    facts.simulated = server.is_simulated();
    facts.echo.clone_from(&plan.echo);
    facts
}
