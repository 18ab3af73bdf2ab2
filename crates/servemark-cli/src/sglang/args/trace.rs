//! Flags about traces: recorded requests and their times.

use clap::Args;
use servemark_datasets::{DatasetName, MooncakePrompts};

use super::choice::{dataset, datasets};
use super::dataset::DatasetArgs;
use crate::argparse::Limit::{OnlyWhere, Unless, Where};
use crate::argparse::{Effects, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub(in crate::sglang) struct TraceArgs {
    /// Send requests at the times of the trace; mooncake always does
    #[arg(long)]
    pub(in crate::sglang) use_trace_timestamps: bool,
    /// Factor by which a trace is replayed more slowly: 2 is half its speed, 0 sends everything at
    /// once
    #[arg(long, value_name = "FACTOR", default_value = "1.0", value_parser = python::float)]
    pub(in crate::sglang) mooncake_slowdown_factor: f64,
    /// Number of requests for each row of mooncake, all sent at the time of the row
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::sglang) mooncake_num_rounds: i64,
    /// Name of the trace of mooncake to look for without --dataset-path
    #[arg(long, value_name = "NAME", default_value = "conversation",
          value_parser = ["mooncake", "conversation", "synthetic", "toolagent"])]
    pub(in crate::sglang) mooncake_workload: String,
    /// Length of the prompts of mooncake: sglang, some 130 tokens for each block of 512, as SGLang
    /// sends them, or lengths, the number of tokens in the trace; by default sglang, with a warning
    #[arg(long, value_name = "WHAT", value_parser = parse_prompts)]
    pub(in crate::sglang) mooncake_prompts: Option<MooncakePrompts>,
}

flags! { TraceArgs {
    USE_TRACE_TIMESTAMPS = "--use-trace-timestamps" => [Where(
        |effects| dataset(effects).is_none_or(DatasetName::has_times),
        "on when requests are sent: rows of this data set do not say when theirs came; the rate is \
         called trace, as SGLang calls it",
    )];
    MOONCAKE_SLOWDOWN_FACTOR = "--mooncake-slowdown-factor"
        => [OnlyWhere(is_replayed, "--dataset-name mooncake and --use-trace-timestamps")];
    MOONCAKE_NUM_ROUNDS = "--mooncake-num-rounds" => [datasets(&["mooncake"])];
    MOONCAKE_WORKLOAD = "--mooncake-workload"
        => [datasets(&["mooncake"]), Unless(DatasetArgs::DATASET_PATH)];
    MOONCAKE_PROMPTS = "--mooncake-prompts" => [datasets(&["mooncake"])];
}}

fn parse_prompts(text: &str) -> Result<MooncakePrompts, String> {
    match text {
        "lengths" => Ok(MooncakePrompts::Lengths),
        "sglang" => Ok(MooncakePrompts::Sglang),
        _ => Err(python::expected(&["lengths", "sglang"], text)),
    }
}

/// Returns whether requests are sent at the times that the data set's rows give. `mooncake` is
/// always sent so, and other data sets with times only with `--use-trace-timestamps`. SGLang's
/// client can replay only `mooncake`, even with this flag.
pub(in crate::sglang) fn replays(dataset: DatasetName, use_trace_timestamps: bool) -> bool {
    dataset == DatasetName::Mooncake || use_trace_timestamps && dataset.has_times()
}

pub(super) fn is_replayed(effects: &Effects<'_>) -> bool {
    let is_requested = effects.is(TraceArgs::USE_TRACE_TIMESTAMPS);
    dataset(effects).is_some_and(|dataset| replays(dataset, is_requested))
}
