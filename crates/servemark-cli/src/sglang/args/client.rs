//! Flags that select SGLang's compiled client. Servemark has only one client, so both change
//! nothing.

use clap::Args;

use crate::argparse::Limit::Never;
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "SGLang's compiled client")]
pub(in crate::sglang) struct ClientArgs {
    /// No effect: this client is compiled already
    #[arg(long)]
    rust_client: bool,
    /// No effect: --shards sets how many threads send and read
    #[arg(long, value_name = "N", value_parser = python::int)]
    rust_worker_threads: Option<i64>,
}

flags! { ClientArgs {
    RUST_CLIENT = "--rust-client"
        => [Never("here: this client is compiled already, for every backend and data set")];
    RUST_WORKER_THREADS = "--rust-worker-threads"
        => [Never("here: --shards says how many threads send and read")];
}}
