//! When it is sent.

use clap::Args;

use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub(in crate::sglang) struct LoadArgs {
    /// Requests per second, arriving as a Poisson process; inf sends everything at once
    #[arg(long, value_name = "RATE", default_value = "inf", value_parser = python::float)]
    pub(in crate::sglang) request_rate: f64,
    /// How many requests may be in flight at once; by default as many as are due
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) max_concurrency: Option<i64>,
    /// How many copies of the first request to send before the measurement
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::sglang) warmup_requests: i64,
    /// Empty the server's prefix cache after the warm-up
    #[arg(long)]
    pub(in crate::sglang) flush_cache: bool,
    /// How many seconds the server may take for that
    #[arg(long, value_name = "SECONDS", default_value = "60.0",
          value_parser = python::finite_positive_float)]
    pub(in crate::sglang) flush_cache_timeout: f64,
}
