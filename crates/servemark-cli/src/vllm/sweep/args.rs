//! The flags of vLLM 0.33.0's sweeps, mirrored one to one.

use std::path::PathBuf;

use clap::{Args, Parser};

use crate::argparse::Flag;
use crate::own::{PLAIN_EXIT_CODES, notes};
use crate::python;

const SERVE: &str = "vllm bench sweep serve --serve-cmd 'vllm serve m' \\\n    \
                     --bench-cmd 'vllm bench serve --model m' --bench-params loads.json";
const WORKLOAD: &str = "vllm bench sweep serve_workload --serve-cmd 'vllm serve m' \\\n    \
                        --bench-cmd 'vllm bench serve --model m' --workload-iters 5";
const STARTUP: &str = "vllm bench sweep startup --startup-cmd 'vllm bench startup --model m'";
const PLOT: &str = "vllm bench sweep plot results/today --var-y p99_ttft_ms";
const PARETO: &str = "vllm bench sweep plot_pareto results/today";

const EXIT_CODES: &str = "0 done, 1 a command or a server failed, 2 usage, 130 interrupted.";

/// Measure a server in several settings, each started by its command
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100,
          after_help = notes(&[SERVE], EXIT_CODES))]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) serve: ServeFlags,
}

/// Measure the trade-off between latency and throughput, from one request at a time to all at once
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100,
          after_help = notes(&[WORKLOAD], EXIT_CODES))]
pub(super) struct WorkloadArgs {
    #[command(flatten)]
    pub(super) serve: ServeFlags,
    /// Setting that differs between the levels
    #[arg(long, value_name = "NAME", default_value = "request_rate",
          value_parser = ["request_rate", "max_concurrency"])]
    pub(super) workload_var: String,
    /// Number of levels, including both ends
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
    /// Command that runs after each benchmark, in place of emptying the server's caches
    #[arg(long, value_name = "COMMAND")]
    pub(super) after_bench_cmd: Option<String>,
    /// Seconds to wait for the server's readiness
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
    /// Number of runs of each combination
    #[arg(long, value_name = "N", default_value = "3", value_parser = python::int)]
    pub(super) num_runs: i64,
    /// Number of prompts of an unmeasured run before each combination
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(super) warmup_num_prompts: i64,
    /// Continue after a failed run, and record it in a file
    #[arg(long)]
    pub(super) continue_on_error: bool,
}

/// Flags of the results' folder and of dry runs.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct ExperimentArgs {
    /// The folder of all experiments
    #[arg(short, long, value_name = "PATH", default_value = "results")]
    pub(super) output_dir: String,
    /// Name of this experiment's folder; by default the time
    #[arg(short, long, value_name = "NAME")]
    pub(super) experiment_name: Option<String>,
    /// Show the output of the commands
    #[arg(long)]
    pub(super) show_stdout: bool,
    /// Print the commands without running them
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Continue an experiment that was interrupted
    #[arg(long)]
    pub(super) resume: bool,
    /// Print one document of JSON with all results in place of the messages
    #[arg(long)]
    pub(super) json: bool,
}

/// Measure the start-up time of a server in several settings
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100,
          after_help = notes(&[STARTUP], EXIT_CODES))]
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
    /// Number of runs of each combination
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(super) num_runs: i64,
}

/// Plot one result of a sweep over another
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100,
          after_help = notes(&[PLOT], PLAIN_EXIT_CODES))]
pub(super) struct PlotArgs {
    /// The folder of the experiment
    #[arg(value_name = "EXPERIMENT_DIR")]
    pub(super) experiment_dir: Option<PathBuf>,
    /// Folder of the plots, inside that of the experiment
    #[arg(long, value_name = "PATH", default_value = "")]
    pub(super) fig_dir: String,
    /// Draw a plot for each combination of these results, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "")]
    pub(super) fig_by: String,
    /// Draw a row of panels for each combination of these results
    #[arg(long, value_name = "NAMES", default_value = "")]
    pub(super) row_by: String,
    /// Draw a column of panels for each combination of these results
    #[arg(long, value_name = "NAMES", default_value = "")]
    pub(super) col_by: String,
    /// Draw a curve for each combination of these results
    #[arg(long, value_name = "NAMES")]
    pub(super) curve_by: Option<String>,
    /// Result on the horizontal axis
    #[arg(long, value_name = "NAME", default_value = "total_token_throughput")]
    pub(super) var_x: String,
    /// Result on the vertical axis
    #[arg(long, value_name = "NAME", default_value = "median_ttft_ms")]
    pub(super) var_y: String,
    /// Plot only runs that meet these conditions: max_concurrency<1000,tp==2
    #[arg(long, value_name = "STATEMENTS", default_value = "")]
    pub(super) filter_by: String,
    /// Group values into intervals of this width: request_throughput%1
    #[arg(long, value_name = "STATEMENTS", default_value = "")]
    pub(super) bin_by: String,
    /// Scale of the horizontal axis: linear, log or sqrt
    #[arg(long, value_name = "NAME")]
    pub(super) scale_x: Option<String>,
    /// Scale of the vertical axis: linear, log or sqrt
    #[arg(long, value_name = "NAME")]
    pub(super) scale_y: Option<String>,
    /// Base name of the plots
    #[arg(long, value_name = "NAME", default_value = "FIGURE")]
    pub(super) fig_name: String,
    /// Do not draw the spread between runs of one setting
    #[arg(long)]
    pub(super) no_error_bars: bool,
    /// Height of a panel in inches
    #[arg(long, value_name = "INCHES", default_value = "6.4", value_parser = python::float)]
    pub(super) fig_height: f64,
    /// Resolution in dots per inch
    #[arg(long, value_name = "DOTS", default_value = "300", value_parser = python::int)]
    pub(super) fig_dpi: i64,
    /// Print the names of the plots without drawing them
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one document of JSON with the names of the plots in place of the messages
    #[arg(long)]
    pub(super) json: bool,
}

/// Plot tokens per second per user over tokens per second per GPU, with the Pareto frontier of the
/// runs
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true, args_override_self = true, max_term_width = 100,
          after_help = notes(&[PARETO], PLAIN_EXIT_CODES))]
pub(super) struct ParetoArgs {
    /// The folder of the experiment
    #[arg(value_name = "EXPERIMENT_DIR")]
    pub(super) experiment_dir: Option<PathBuf>,
    /// Result that is the number of users; by default the request rate or the maximum concurrency
    #[arg(long, value_name = "NAME", default_value = "max_concurrency")]
    pub(super) user_count_var: String,
    /// Result that is the number of GPUs; by default the product of the parallel sizes
    #[arg(long, value_name = "NAME")]
    pub(super) gpu_count_var: Option<String>,
    /// Results to write beside the runs of the frontier, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "max_concurrency,gpu_count")]
    pub(super) label_by: String,
    /// Print the name of the plot without drawing it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one document of JSON with the name of the plot in place of the messages
    #[arg(long)]
    pub(super) json: bool,
}

impl ServeFlags {
    pub(super) const AFTER_BENCH_CMD: Flag = Flag::new("--after-bench-cmd");
    pub(super) const BENCH_CMD: Flag = Flag::new("--bench-cmd");
    pub(super) const LINK_VARS: Flag = Flag::new("--link-vars");
    pub(super) const SERVE_CMD: Flag = Flag::new("--serve-cmd");
}

impl ExperimentArgs {
    pub(super) const DRY_RUN: Flag = Flag::new("--dry-run");
    pub(super) const EXPERIMENT_NAME: Flag = Flag::new("--experiment-name");
    pub(super) const JSON: Flag = Flag::new("--json");
    pub(super) const OUTPUT_DIR: Flag = Flag::new("--output-dir");
    pub(super) const SHOW_STDOUT: Flag = Flag::new("--show-stdout");
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
