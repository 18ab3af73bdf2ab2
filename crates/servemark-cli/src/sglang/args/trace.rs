//! Flags about traces: recorded requests and their times.

use clap::Args;
use servemark_datasets::MooncakePrompts;

use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub(in crate::sglang) struct TraceArgs {
    /// Send requests when the trace says; mooncake always does
    #[arg(long)]
    pub(in crate::sglang) use_trace_timestamps: bool,
    /// How much slower a trace is replayed: 2 is half its speed, 0 sends everything at once
    #[arg(long, value_name = "FACTOR", default_value = "1.0", value_parser = python::float)]
    pub(in crate::sglang) mooncake_slowdown_factor: f64,
    /// How many requests each row of mooncake stands for, all sent when the row says
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::sglang) mooncake_num_rounds: i64,
    /// Which trace of mooncake to look for without --dataset-path
    #[arg(long, value_name = "NAME", default_value = "conversation",
          value_parser = ["mooncake", "conversation", "synthetic", "toolagent"])]
    pub(in crate::sglang) mooncake_workload: String,
    /// What prompts of mooncake are made of: sglang, some 130 tokens for each block of 512, as
    /// SGLang sends them, or lengths, as many tokens as the trace says; by default sglang, with a
    /// warning
    #[arg(long, value_name = "WHAT", value_parser = parse_prompts)]
    pub(in crate::sglang) mooncake_prompts: Option<MooncakePrompts>,
}

fn parse_prompts(text: &str) -> Result<MooncakePrompts, String> {
    match text {
        "lengths" => Ok(MooncakePrompts::Lengths),
        "sglang" => Ok(MooncakePrompts::Sglang),
        _ => Err(format!("expected lengths or sglang, got {}", python::repr(text))),
    }
}
