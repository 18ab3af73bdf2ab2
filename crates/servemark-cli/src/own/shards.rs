//! Who sends, and how exactly.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;
use servemark_runner::LoadSpec;

use crate::error::CliError;
use crate::number::some_at_least;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: load")]
pub(crate) struct ShardArgs {
    /// How many threads send and read, each with a core of its own if there is one; by default one
    /// for every 1000 streams that may be open at once, up to the number of cores
    #[arg(long, value_name = "N", value_parser = python::int)]
    shards: Option<i64>,
    /// Send each request at the very instant it is due, by a thread that watches the clock and needs
    /// a core of its own; with a --request-rate or a trace, over HTTP/1.1 without TLS
    #[arg(long)]
    precise_send: bool,
    /// Send requests for so many seconds at most, or as long as there are any, and wait for what is
    /// in flight then
    #[arg(long, value_name = "SECONDS", value_parser = python::float)]
    stop_after: Option<f64>,
}

impl ShardArgs {
    /// Tells a load who sends it.
    pub(crate) fn apply(&self, load: &mut LoadSpec) -> Result<(), CliError> {
        load.precise_send = self.precise_send;
        load.lasts = self.stop_after.map(seconds).transpose()?;
        let shards: Option<usize> = some_at_least("--shards", 1, self.shards)?;
        load.shards = shards.and_then(NonZeroUsize::new);
        Ok(())
    }
}

fn seconds(seconds: f64) -> Result<Duration, CliError> {
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    let why = || format!("must be more than 0 seconds, not {seconds}");
    time.ok_or_else(|| CliError::setting("--stop-after", why()))
}
