//! The server, its credentials and time-outs, and the model's name.

use std::time::Duration;

use servemark_client::{Credentials, TargetSpec, Timeouts};
use servemark_mock::MockSpec;
use servemark_plan::{ControlSpec, ModelSpec, ServerSpec};

use super::args::{EvalscopeArgs, TargetArgs};
use super::resolved::ResolvedArgs;
use crate::argparse::ParsedCommandLine;
use crate::error::CliError;
use crate::number::{at_least, refused};
use crate::own::ModelNames;

/// Returns the server of the command line, or the simulator.
pub(super) fn server(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
) -> Result<ServerSpec, CliError> {
    if let Some(simulator) = simulator(args) {
        args.trust.refuse()?;
        return Ok(ServerSpec::Simulated(simulator));
    }
    let target: TargetSpec = args.protocol.target(resolved.address.server()?);
    let mut target = args.trust.applied_to(target)?;
    target.timeouts = timeouts(&args.target)?;
    Ok(ServerSpec::At(target))
}

fn simulator(args: &EvalscopeArgs) -> Option<MockSpec> {
    args.simulator.spec(args.target.model.as_deref())
}

/// Returns the time-outs of requests. Without `--read-timeout`, the server may be silent for as
/// long as a request may take. A time-out of 0 is none, as with evalscope.
fn timeouts(args: &TargetArgs) -> Result<Timeouts, CliError> {
    let mut timeouts = Timeouts::default();
    let time = |flag, seconds| -> Result<Duration, CliError> {
        let seconds: u64 = at_least(flag, 0, seconds)?;
        Ok(if seconds == 0 { FOREVER } else { Duration::from_secs(seconds) })
    };
    timeouts.total = time(TargetArgs::TOTAL_TIMEOUT, args.total_timeout)?;
    if let Some(connect) = args.connect_timeout {
        timeouts.connect = time(TargetArgs::CONNECT_TIMEOUT, connect)?;
    }
    let silence = args.read_timeout.map(|read| time(TargetArgs::READ_TIMEOUT, read)).transpose()?;
    timeouts.first_byte = silence.unwrap_or(timeouts.total);
    timeouts.idle = timeouts.first_byte;
    Ok(timeouts)
}

/// Returns the model's name and its tokenizer. Without a tokenizer, prompts are measured in
/// characters, and only the server counts the tokens of answers.
pub(super) fn model(args: &EvalscopeArgs) -> ModelSpec {
    let TargetArgs { model, tokenizer_path: tokenizer, .. } = &args.target;
    let mut spec = args.simulator.model(&ModelNames { model, served: &None, tokenizer });
    // Recorded requests name their own models, so there is nothing to ask the server for.
    spec.name.get_or_insert_default();
    spec.untokenized = !args.has_tokenizer();
    spec
}

/// Returns the headers of the command line and the API key. The key overrides a header of the same
/// name.
pub(super) fn credentials(args: &TargetArgs) -> Result<Credentials, CliError> {
    let mut credentials = Credentials::new();
    for pair in args.headers.iter().flatten() {
        let (name, value) = split(pair)?;
        credentials = credentials.header(name, value).map_err(refused(TargetArgs::HEADERS))?;
    }
    match &args.api_key {
        Some(key) if !key.is_empty() => {
            credentials.bearer(key).map_err(refused(TargetArgs::API_KEY))
        }
        _ => Ok(credentials),
    }
}

/// Splits a header `NAME=VALUE` into its name and its value.
pub(super) fn split(pair: &str) -> Result<(&str, &str), CliError> {
    let (name, value) = pair.split_once('=').ok_or_else(|| {
        CliError::Peer(format!("Error parsing key-value pairs: Invalid key-value pair: {pair}"))
    })?;
    Ok((name.trim(), value.trim()))
}

/// Returns the control calls of a run. evalscope retries its greeting for as long as a request may
/// take, by default six hours; here that holds only if `--total-timeout` is given.
pub(super) fn control(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
    given: &ParsedCommandLine,
) -> Result<ControlSpec, CliError> {
    let mut control =
        ControlSpec { ready_timeout: Duration::ZERO, counters: true, ..ControlSpec::default() };
    if resolved.tests_connection(args) {
        let patience = match args.target.total_timeout {
            0 => Duration::ZERO,
            _ if given.is(TargetArgs::TOTAL_TIMEOUT) => timeouts(&args.target)?.total,
            _ => PATIENCE,
        };
        control.greeting = Some(patience);
    }
    args.telemetry.apply(&mut control)?;
    Ok(control)
}

/// A time that no run reaches: ten years.
const FOREVER: Duration = Duration::from_secs(315_360_000);

/// Time for which a failed greeting is retried if `--total-timeout` is not given.
const PATIENCE: Duration = Duration::from_secs(60);
