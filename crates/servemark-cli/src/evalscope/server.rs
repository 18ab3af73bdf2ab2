//! Who is asked, with which credentials, and under which model's name.

use std::time::Duration;

use servemark_client::{Credentials, TargetSpec, Timeouts};
use servemark_mock::MockSpec;
use servemark_plan::{ControlSpec, ModelSpec, ServerSpec};

use super::args::{EvalscopeArgs, TargetArgs};
use super::dataset;
use super::settled::Settled;
use crate::argparse::Given;
use crate::error::CliError;
use crate::number::{at_least, refused};
use crate::own::ModelNames;

/// The server, or the simulator.
pub(super) fn server(args: &EvalscopeArgs, settled: &Settled) -> Result<ServerSpec, CliError> {
    if let Some(simulator) = simulator(args) {
        args.trust.refuse()?;
        return Ok(ServerSpec::Simulated(simulator));
    }
    let target: TargetSpec = args.protocol.target(settled.address.server()?);
    let mut target = args.trust.applied_to(target)?;
    target.timeouts = timeouts(&args.target)?;
    Ok(ServerSpec::At(target))
}

fn simulator(args: &EvalscopeArgs) -> Option<MockSpec> {
    args.simulator.spec(args.target.model.as_deref())
}

/// Where nobody says how long a server may be silent, it may be for as long as a request may take.
fn timeouts(args: &TargetArgs) -> Result<Timeouts, CliError> {
    let mut timeouts = Timeouts::default();
    let time = |flag, seconds| -> Result<Duration, CliError> {
        Ok(Duration::from_secs(at_least(flag, 1, seconds)?))
    };
    timeouts.total = time("--total-timeout", args.total_timeout)?;
    if let Some(connect) = args.connect_timeout {
        timeouts.connect = time("--connect-timeout", connect)?;
    }
    let silence = args.read_timeout.map(|read| time("--read-timeout", read)).transpose()?;
    timeouts.first_byte = silence.unwrap_or(timeouts.total);
    timeouts.idle = timeouts.first_byte;
    Ok(timeouts)
}

/// The model's name and its tokenizer. Without a tokenizer prompts are measured in characters, and
/// answers are counted by the server alone.
pub(super) fn model(args: &EvalscopeArgs) -> ModelSpec {
    let TargetArgs { model, tokenizer_path: tokenizer, .. } = &args.target;
    let mut spec = args.simulator.model(&ModelNames { model, served: &None, tokenizer });
    // Recorded requests name their own models, so there is nothing to ask the server for.
    spec.name.get_or_insert_default();
    spec.untokenized = !dataset::has_tokenizer(args);
    spec
}

/// The headers of the command line, then the API key, which wins.
pub(super) fn credentials(args: &TargetArgs) -> Result<Credentials, CliError> {
    let mut credentials = Credentials::new();
    for pair in args.headers.iter().flatten() {
        let (name, value) = split(pair)?;
        credentials = credentials.header(name, value).map_err(refused("--headers"))?;
    }
    match &args.api_key {
        Some(key) if !key.is_empty() => credentials.bearer(key).map_err(refused("--api-key")),
        _ => Ok(credentials),
    }
}

/// A header's name and value.
pub(super) fn split(pair: &str) -> Result<(&str, &str), CliError> {
    let (name, value) = pair.split_once('=').ok_or_else(|| {
        CliError::Peer(format!("Error parsing key-value pairs: Invalid key-value pair: {pair}"))
    })?;
    Ok((name.trim(), value.trim()))
}

/// What is asked of the server besides answers. evalscope greets it for as long as a request may
/// take, which is six hours; here it is that long only where somebody says how long that is.
pub(super) fn control(
    args: &EvalscopeArgs,
    settled: &Settled,
    given: &Given,
) -> Result<ControlSpec, CliError> {
    let mut control = ControlSpec::default();
    control.ready_timeout = Duration::ZERO;
    control.counters = true;
    if dataset::tests_connection(args, settled) {
        let said = given.is("--total-timeout");
        let patience = if said { timeouts(&args.target)?.total } else { PATIENCE };
        control.greeting = Some(patience);
    }
    Ok(control)
}

/// How long a server is greeted where nobody says.
const PATIENCE: Duration = Duration::from_secs(60);
