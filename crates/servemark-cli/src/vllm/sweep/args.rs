//! The flags of vLLM 0.33.0's sweeps, mirrored one to one.

use std::path::PathBuf;

use clap::{Args, Parser};

use crate::argparse::Flag;
use crate::python;

/// Measure a server in several settings, each started by its command
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) serve: ServeFlags,
}

/// Find how latency and throughput trade, between one request at a time and all at once
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100)]
pub(super) struct WorkloadArgs {
    #[command(flatten)]
    pub(super) serve: ServeFlags,
    /// What is changed from level to level
    #[arg(long, value_name = "NAME", default_value = "request_rate",
          value_parser = ["request_rate", "max_concurrency"])]
    pub(super) workload_var: String,
    /// How many levels there are, the two ends among them
    #[arg(long, value_name = "N", default_value = "10", value_parser = python::int)]
    pub(super) workload_iters: i64,
}

#[derive(Args, Clone, Debug)]
pub(super) struct ServeFlags {
    /// The command that runs the server, such as 'vllm serve MODEL'
    #[arg(long, value_name = "COMMAND")]
    pub(super) serve_cmd: Option<String>,
    /// The command of the benchmark, such as 'vllm bench serve --model MODEL'; that one is run by
    /// this program itself, any other is started
    #[arg(long, value_name = "COMMAND")]
    pub(super) bench_cmd: Option<String>,
    /// What is run after each benchmark, instead of emptying the server's caches
    #[arg(long, value_name = "COMMAND")]
    pub(super) after_bench_cmd: Option<String>,
    /// How many seconds to wait for the server
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = python::int)]
    pub(super) server_ready_timeout: i64,
    /// A JSON file of combinations of parameters for the server's command
    #[arg(long, value_name = "FILE")]
    pub(super) serve_params: Option<String>,
    /// Pairs of parameters of the two commands that must be equal: a=b,c=d
    #[arg(long, value_name = "PAIRS", default_value = "")]
    pub(super) link_vars: String,
    /// A JSON file of combinations of parameters for the benchmark's command
    #[arg(long, value_name = "FILE")]
    pub(super) bench_params: Option<String>,
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,
    /// How often each combination is measured
    #[arg(long, value_name = "N", default_value = "3", value_parser = python::int)]
    pub(super) num_runs: i64,
    /// How many prompts a run has that is not measured, before each combination
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(super) warmup_num_prompts: i64,
    /// Go on when a run fails, and tell of it in a file
    #[arg(long)]
    pub(super) continue_on_error: bool,
}

/// Where results are, and whether they are made.
#[derive(Args, Clone, Debug)]
pub(super) struct ExperimentArgs {
    /// The folder of all experiments
    #[arg(short, long, value_name = "PATH", default_value = "results")]
    pub(super) output_dir: String,
    /// The folder of this one in it; by default the time
    #[arg(short, long, value_name = "NAME")]
    pub(super) experiment_name: Option<String>,
    /// Show what the commands print
    #[arg(long)]
    pub(super) show_stdout: bool,
    /// Print what would be run
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Go on with an experiment that was stopped
    #[arg(long)]
    pub(super) resume: bool,
}

/// Measure how long a server takes to start, in several settings
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100)]
pub(super) struct StartupArgs {
    /// The command that measures one start
    #[arg(long, value_name = "COMMAND", default_value = "vllm bench startup")]
    pub(super) startup_cmd: String,
    /// A JSON file of combinations of the server's parameters
    #[arg(long, value_name = "FILE")]
    pub(super) serve_params: Option<String>,
    /// A JSON file of combinations of the command's own parameters
    #[arg(long, value_name = "FILE")]
    pub(super) startup_params: Option<String>,
    /// Refuse parameters that the command does not know, instead of leaving them out
    #[arg(long)]
    pub(super) strict_params: bool,
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,
    /// How often each combination is measured
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(super) num_runs: i64,
}

/// Plot one result of a sweep over another
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100)]
pub(super) struct PlotArgs {
    /// The folder of the experiment
    #[arg(value_name = "EXPERIMENT_DIR")]
    pub(super) experiment_dir: Option<PathBuf>,
    /// The folder of the figures, in that of the experiment
    #[arg(long, value_name = "PATH", default_value = "")]
    pub(super) fig_dir: String,
    /// A figure for each combination of these results, with commas
    #[arg(long, value_name = "NAMES", default_value = "")]
    pub(super) fig_by: String,
    /// A row of panels for each combination of these
    #[arg(long, value_name = "NAMES", default_value = "")]
    pub(super) row_by: String,
    /// A column of panels for each combination of these
    #[arg(long, value_name = "NAMES", default_value = "")]
    pub(super) col_by: String,
    /// A curve for each combination of these
    #[arg(long, value_name = "NAMES")]
    pub(super) curve_by: Option<String>,
    /// What is plotted from left to right
    #[arg(long, value_name = "NAME", default_value = "total_token_throughput")]
    pub(super) var_x: String,
    /// What is plotted from bottom to top
    #[arg(long, value_name = "NAME", default_value = "median_ttft_ms")]
    pub(super) var_y: String,
    /// Which runs are plotted: max_concurrency<1000,tp==2
    #[arg(long, value_name = "STATEMENTS", default_value = "")]
    pub(super) filter_by: String,
    /// Which values are put together: request_throughput%1
    #[arg(long, value_name = "STATEMENTS", default_value = "")]
    pub(super) bin_by: String,
    /// How numbers are spread from left to right: linear, log or sqrt
    #[arg(long, value_name = "NAME")]
    pub(super) scale_x: Option<String>,
    /// How numbers are spread from bottom to top
    #[arg(long, value_name = "NAME")]
    pub(super) scale_y: Option<String>,
    /// What figures are called
    #[arg(long, value_name = "NAME", default_value = "FIGURE")]
    pub(super) fig_name: String,
    /// Do not show how far runs of one setting differ
    #[arg(long)]
    pub(super) no_error_bars: bool,
    /// How high a panel is, in inches
    #[arg(long, value_name = "INCHES", default_value = "6.4", value_parser = python::float)]
    pub(super) fig_height: f64,
    /// How many dots an inch has
    #[arg(long, value_name = "DOTS", default_value = "300", value_parser = python::int)]
    pub(super) fig_dpi: i64,
    /// Print which figures would be drawn
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// Plot what a user gets over what a GPU gives, and the runs that no other one beats at both
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100)]
pub(super) struct ParetoArgs {
    /// The folder of the experiment
    #[arg(value_name = "EXPERIMENT_DIR")]
    pub(super) experiment_dir: Option<PathBuf>,
    /// Which result is the number of users; else the rate, else the most requests in flight
    #[arg(long, value_name = "NAME", default_value = "max_concurrency")]
    pub(super) user_count_var: String,
    /// Which result is the number of GPUs; else the product of the parallel sizes
    #[arg(long, value_name = "NAME")]
    pub(super) gpu_count_var: Option<String>,
    /// What is written beside the best runs, with commas
    #[arg(long, value_name = "NAMES", default_value = "max_concurrency,gpu_count")]
    pub(super) label_by: String,
    /// Print which figure would be drawn
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl ServeFlags {
    pub(super) const AFTER_BENCH_CMD: Flag = Flag::new("--after-bench-cmd");
    pub(super) const BENCH_CMD: Flag = Flag::new("--bench-cmd");
    pub(super) const LINK_VARS: Flag = Flag::new("--link-vars");
    pub(super) const SERVE_CMD: Flag = Flag::new("--serve-cmd");
}

impl ExperimentArgs {
    pub(super) const EXPERIMENT_NAME: Flag = Flag::new("--experiment-name");
    pub(super) const OUTPUT_DIR: Flag = Flag::new("--output-dir");
}

impl StartupArgs {
    pub(super) const STARTUP_CMD: Flag = Flag::new("--startup-cmd");
}

impl PlotArgs {
    pub(super) const FIG_DPI: Flag = Flag::new("--fig-dpi");
    pub(super) const FIG_HEIGHT: Flag = Flag::new("--fig-height");
    pub(super) const SCALE_X: Flag = Flag::new("--scale-x");
    pub(super) const SCALE_Y: Flag = Flag::new("--scale-y");
}
