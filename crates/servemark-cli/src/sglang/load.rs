//! When requests are sent.

use std::num::NonZeroUsize;

use servemark_client::Credentials;
use servemark_runner::{LoadSpec, WarmupSpec};
use servemark_schedule::ArrivalSpec;

use super::args::{LoadArgs, SessionArgs};
use super::number::{at_least, refused, some_at_least};
use crate::error::CliError;

/// Arrivals, limit and warm-up.
pub(super) fn load(args: &LoadArgs, sessions: &SessionArgs) -> Result<LoadSpec, CliError> {
    let arrivals = ArrivalSpec::at_rate(args.request_rate);
    let mut load =
        LoadSpec::new(arrivals.map_err(|error| CliError::setting("--request-rate:", error))?);
    // Zero is no limit, because it is none to SGLang.
    let limit: Option<usize> = some_at_least("--max-concurrency", 0, args.max_concurrency)?;
    load.max_concurrency = limit.and_then(NonZeroUsize::new);
    load.warmup = WarmupSpec::of(at_least("--warmup-requests", 0, args.warmup_requests)?);
    load.sessions.echo_reasoning = sessions.echo_reasoning;
    load.sessions.header = sessions.session_header.as_deref().map(header_name).transpose()?;
    Ok(load)
}

fn header_name(name: &str) -> Result<String, CliError> {
    let usable = Credentials::new().header(name, "");
    usable.map(|_| name.to_owned()).map_err(refused("--session-header"))
}
