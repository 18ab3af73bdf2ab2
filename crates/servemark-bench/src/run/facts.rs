//! Builds the header of the run log.

use servemark_core::{CertificateCheck, Header, RunFacts};
use servemark_plan::BenchPlan;
use servemark_schedule::Rate;

use crate::run::discover::Names;
use crate::run::draw::Load;
use crate::run::server::Server;

/// Returns the header of a run whose clock started at `clock_started_unix_ns`.
pub(crate) fn header(
    clock_started_unix_ns: u64,
    plan: &BenchPlan,
    server: &Server,
    names: &Names,
    load: &Load,
) -> Header {
    let mut facts = facts(plan, names, load);
    plan.wire_name().clone_into(&mut facts.backend);
    facts.api_path = plan.wire.clone().with_model(names.served.clone()).path().into_owned();
    facts.tokenless = facts.generates() && !plan.wire.generates();
    facts.target = server.url();
    facts.simulated = server.is_simulated();
    if server.target.is_unverified() {
        facts.certificate = CertificateCheck::Skipped;
    }
    Header::new(clock_started_unix_ns, facts, plan.to_json())
}

/// Returns the header of a run over a transport of the program.
pub(crate) fn transport_header(
    clock_started_unix_ns: u64,
    plan: &BenchPlan,
    transport: &str,
    names: &Names,
    load: &Load,
) -> Header {
    let mut facts = facts(plan, names, load);
    plan.wire_name().clone_into(&mut facts.backend);
    transport.clone_into(&mut facts.target);
    facts.tokenless = facts.generates() && !plan.wire.generates();
    Header::new(clock_started_unix_ns, facts, plan.to_json())
}

/// Returns the header of a run of an offline engine. The backend has SGLang's name for the
/// engine.
#[cfg(feature = "engine")]
pub(crate) fn engine_header(
    clock_started_unix_ns: u64,
    plan: &BenchPlan,
    spec: &servemark_engine::EngineRunSpec,
    engine: &servemark_core::EngineFacts,
    names: &Names,
    load: &Load,
) -> Header {
    let mut facts = facts(plan, names, load);
    spec.engine.backend().clone_into(&mut facts.backend);
    facts.target = format!("{} {}", engine.name, engine.version);
    let mut header = Header::new(clock_started_unix_ns, facts, plan.to_json());
    header.engine = Some(engine.clone());
    header
}

fn facts(plan: &BenchPlan, names: &Names, load: &Load) -> RunFacts {
    let mut facts = RunFacts::default();
    facts.model.clone_from(&names.served);
    facts.model_id = Some(names.model.clone()).filter(|model| *model != names.served);
    facts.tokenizer = names.tokenizer.name();
    plan.workload.dataset.label().clone_into(&mut facts.dataset);
    facts.requests = load.measured(&plan.load);
    facts.sessions = load.sessions.len() - load.leading(&plan.load);
    facts.converse = plan.workload.dataset.converses();
    facts.parts.clone_from(&load.parts);
    facts.seed = plan.workload.seed.into();
    let of_turns = plan.load.sessions.turn_rate.map(Rate::per_second);
    facts.request_rate = plan.load.arrivals.mean_rate().or(of_turns);
    facts.replayed = plan.load.arrivals.is_trace();
    facts.max_concurrency = plan.load.max_concurrency.map(Into::into);
    facts.hardware = plan.control.hardware;
    facts.echo.clone_from(&plan.echo);
    facts
}
