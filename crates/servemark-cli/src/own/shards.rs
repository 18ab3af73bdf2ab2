//! Who sends, and how exactly.

use std::num::NonZeroUsize;

use clap::Args;
use servemark_runner::LoadSpec;

use crate::error::CliError;
use crate::number::{some_at_least, some_time};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: load")]
pub(crate) struct ShardArgs {
    #[command(flatten)]
    threads: ThreadArgs,
    /// Send requests for so many seconds at most, or as long as there are any, and wait for what is
    /// in flight then
    #[arg(long, value_name = "SECONDS", value_parser = python::float)]
    stop_after: Option<f64>,
}

/// Who sends; for how long, some peers have flags of their own.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: load")]
pub(crate) struct ThreadArgs {
    /// How many threads send and read, each with a core of its own if there is one; by default one
    /// for every 1000 streams that may be open at once, up to the number of cores
    #[arg(long, value_name = "N", value_parser = python::int)]
    shards: Option<i64>,
    /// Send each request at the very instant it is due, by a thread that watches the clock and needs
    /// a core of its own; with a --request-rate or a trace, over HTTP/1.1 without TLS
    #[arg(long)]
    precise_send: bool,
}

impl ShardArgs {
    /// Tells a load who sends it, and for how long.
    pub(crate) fn apply(&self, load: &mut LoadSpec) -> Result<(), CliError> {
        load.lasts = self.stop_after.map(|time| some_time("--stop-after", time)).transpose()?;
        self.threads.apply(load)
    }
}

impl ThreadArgs {
    /// Tells a load who sends it.
    pub(crate) fn apply(&self, load: &mut LoadSpec) -> Result<(), CliError> {
        load.precise_send = self.precise_send;
        let shards: Option<usize> = some_at_least("--shards", 1, self.shards)?;
        load.shards = shards.and_then(NonZeroUsize::new);
        Ok(())
    }
}
