//! Flags of the load: how many requests are sent, and when.

use clap::{ArgAction, Args};

use crate::argparse::Limit::Unless;
use crate::argparse::{LIST, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load")]
pub(in crate::evalscope) struct LoadArgs {
    /// Let another program run its own scenario; not built
    #[arg(long, value_name = "NAME")]
    pub(in crate::evalscope) scenario: Option<String>,
    /// Number of requests that each run measures; conversations with --multi-turn. By default 1000
    #[arg(long, short = 'n', value_name = "N", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, value_parser = python::int)]
    pub(in crate::evalscope) number: Option<Vec<i64>>,
    /// Number of requests in flight: a run for each value, with the --number at the same position
    #[arg(long, value_name = "N", num_args = 1.., action = ArgAction::Set, value_delimiter = LIST,
          default_value = "1", value_parser = python::int)]
    pub(in crate::evalscope) parallel: Vec<i64>,
    /// Requests per second, as a Poisson process; -1 sends them at once
    #[arg(long, value_name = "RATE", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, default_value = "-1", value_parser = python::float)]
    pub(in crate::evalscope) rate: Vec<f64>,
    /// Number of unmeasured requests that are sent first; below 1, a share of --number
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::float)]
    pub(in crate::evalscope) warmup_num: f64,
    /// Report the first gap between tokens apart from the others
    #[arg(long)]
    pub(in crate::evalscope) enable_pd_metrics: bool,
    /// Send at --rate however many are in flight: a run for each rate
    #[arg(long)]
    pub(in crate::evalscope) open_loop: bool,
    /// Pause between two runs in seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = python::int)]
    pub(in crate::evalscope) sleep_interval: i64,
    /// Maximum number of seconds for which a run sends requests; those in flight then are completed
    #[arg(long, value_name = "SECONDS", value_parser = python::float)]
    pub(in crate::evalscope) duration: Option<f64>,
}

flags! { LoadArgs {
    SCENARIO = "--scenario";
    NUMBER = "--number";
    PARALLEL = "--parallel" => [Unless(Self::OPEN_LOOP)];
    RATE = "--rate";
    WARMUP_NUM = "--warmup-num";
    ENABLE_PD_METRICS = "--enable-pd-metrics";
    OPEN_LOOP = "--open-loop";
    SLEEP_INTERVAL = "--sleep-interval";
    DURATION = "--duration";
}}
