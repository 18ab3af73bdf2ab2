//! Flags about the results.

use clap::{ArgAction, Args};
use servemark_metrics::Slo;

use super::choice::backends;
use crate::argparse::{LIST, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(in crate::sglang) struct OutputArgs {
    /// The file to which a line of results is appended; by default
    /// BACKEND_MMDD_PROMPTS_DATASET.jsonl
    #[arg(long, value_name = "PATH")]
    pub(in crate::sglang) output_file: Option<String>,
    /// Put every request's lengths, times and text into the line of results
    #[arg(long)]
    pub(in crate::sglang) output_details: bool,
    /// Report how many prompt tokens came from the server's prefix cache, and from where; for
    /// SGLang's backends
    #[arg(long)]
    pub(in crate::sglang) cache_report: bool,
    /// Limits in milliseconds that a request must keep to be good: ttft:500 tpot:50 e2el:10000
    #[arg(long, value_name = "KEY:VALUE", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, value_parser = parse_slo)]
    pub(in crate::sglang) goodput: Option<Vec<Slo>>,
    /// A text of your choice that the result repeats
    #[arg(long, value_name = "TEXT")]
    pub(in crate::sglang) tag: Option<String>,
    /// Print a line for the start and one for the end of every request when the run is over, with
    /// --backend sglang-oai-chat
    #[arg(long)]
    pub(in crate::sglang) print_requests: bool,
    /// Print a plot of output tokens and requests in flight per second of the run
    #[arg(long)]
    pub(in crate::sglang) plot_throughput: bool,
    /// Show no progress bar
    #[arg(long)]
    pub(in crate::sglang) disable_tqdm: bool,
}

flags! { OutputArgs {
    OUTPUT_FILE = "--output-file";
    OUTPUT_DETAILS = "--output-details";
    CACHE_REPORT = "--cache-report"
        => [backends(&["sglang", "sglang-native", "sglang-oai", "sglang-oai-chat"])];
    GOODPUT = "--goodput";
    TAG = "--tag";
    PRINT_REQUESTS = "--print-requests";
    PLOT_THROUGHPUT = "--plot-throughput";
    DISABLE_TQDM = "--disable-tqdm";
}}

/// Parses an objective such as `ttft:500`, as SGLang does. Errors have SGLang's words.
fn parse_slo(text: &str) -> Result<Slo, String> {
    let (name, limit) = text.split_once(':').unwrap_or((text, ""));
    let metric = Slo::metric(name).ok_or_else(|| {
        let rendered = python::repr(text);
        format!("expected KEY:VALUE with KEY in ttft, tpot, e2el, got {rendered}")
    })?;
    Slo::new(metric, python::finite_positive_float(limit)?).map_err(|error| error.to_string())
}
