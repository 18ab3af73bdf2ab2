//! Flags about the threads that send requests, and how exactly they send.

use std::num::NonZeroUsize;

use clap::Args;
use servemark_runner::LoadSpec;

use crate::argparse::flags;
use crate::error::CliError;
use crate::number::{some_at_least, some_time};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: load")]
pub(crate) struct ShardArgs {
    #[command(flatten)]
    threads: ThreadArgs,
    /// Stop sending requests after this number of seconds and wait for those in flight then; by
    /// default all requests are sent
    #[arg(long, value_name = "SECONDS", value_parser = python::float)]
    stop_after: Option<f64>,
}

flags! { ShardArgs {
    STOP_AFTER = "--stop-after";
}}

/// Flags about the threads that send requests. Some peers have flags of their own for how long they
/// send.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: load")]
pub(crate) struct ThreadArgs {
    /// Number of threads that send and read, each with a core of its own if there is one; by
    /// default one for every 1000 streams that may be open at once, up to the number of cores
    #[arg(long, value_name = "N", value_parser = python::int)]
    shards: Option<i64>,
    /// Send each request exactly when it is due, from a thread that watches the clock and needs a
    /// core of its own; with a --request-rate or a trace, over HTTP/1.1 without TLS
    #[arg(long)]
    precise_send: bool,
}

flags! { ThreadArgs {
    SHARDS = "--shards";
    PRECISE_SEND = "--precise-send";
}}

impl ShardArgs {
    /// Sets in a load the number of threads, whether they send precisely, and how long they send.
    pub(crate) fn apply(&self, load: &mut LoadSpec) -> Result<(), CliError> {
        load.lasts = self.stop_after.map(|time| some_time(Self::STOP_AFTER, time)).transpose()?;
        self.threads.apply(load)
    }
}

impl ThreadArgs {
    /// Sets in a load the number of threads, and whether they send precisely.
    pub(crate) fn apply(&self, load: &mut LoadSpec) -> Result<(), CliError> {
        load.precise_send = self.precise_send;
        let shards: Option<usize> = some_at_least(Self::SHARDS, 1, self.shards)?;
        load.shards = shards.and_then(NonZeroUsize::new);
        Ok(())
    }
}
