//! `servemark score`: scores a finished run from its log.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser};
use servemark_metrics::{ConcurrencyRatio, FailOn, Objective, Slo, Verdict};
use servemark_plan::{Layout, OutputSpec, RunProfile, ScoringSpec, SloSpec};
use servemark_report::{EvalscopeStyle, SglangStyle, VllmStyle};

use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::gates::GateArgs;
use crate::number::percentiles;
use crate::own::{notes, parse_command, parse_layout, parse_verdict};
use crate::python;

/// Score a run again from what was recorded
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(name = "score", max_term_width = 100, after_help = notes(&EXAMPLES, EXIT_CODES))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ScoreArgs {
    /// The run log; several are the logs of the ranks that shared a run, which is scored as a whole
    #[arg(value_name = "RUNLOG", required = true)]
    pub run_logs: Vec<PathBuf>,
    /// Print one JSON document in place of the tables: every figure with its confidence interval,
    /// verdicts on the run and on the client, and objectives
    #[arg(long, conflicts_with = "tables")]
    pub json: bool,
    /// Print Servemark's own table whole, and not only a summary; a --layout does so too
    #[arg(long)]
    pub full: bool,
    /// How the run is scored.
    #[command(flatten)]
    pub how: ScoringArgs,
    /// Where the verdicts of gates are written.
    #[command(flatten)]
    pub gates: GateArgs,
    /// Write the result files of vLLM, AISBench or evalscope again that the run's plan names, to
    /// the paths of the plan
    #[arg(long)]
    pub files: bool,
    /// Leave damaged lines out; they are an error otherwise
    #[arg(long)]
    pub skip_damaged: bool,
}

impl ScoreArgs {
    /// Returns the run log that names the run in messages.
    pub fn run_log(&self) -> &Path {
        &self.run_logs[0]
    }
}

/// How a run that has a log is scored.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct ScoringArgs {
    /// The tables to print, in this order: sglang, native, embedding, offline, vllm, aisbench,
    /// evalscope; those of the run if left out. A name with a release, such as evalscope-1.7,
    /// sglang-0.5.6 or vllm-0.11.0, is that table with that --style
    #[arg(long = "layout", visible_alias = "as", value_name = "NAMES", value_delimiter = ',',
          value_parser = Tables::from_str)]
    pub tables: Vec<Tables>,
    /// Release of the peer in whose form its table and files are written: evalscope-1.14, 1.7 or
    /// 1.0, sglang-0.5.23, 0.5.9, 0.5.6 or 0.5.1, vllm-0.33.0, 0.11.1, 0.11.0, 0.10.2 or 0.10.0;
    /// that of the layout, or else of the run, if left out
    #[arg(long, value_name = "VERSION", value_parser = parse_style)]
    pub style: Option<TableStyle>,
    /// The file to which SGLang's line of results is appended; vLLM's results if its table is the
    /// first
    #[arg(long, value_name = "PATH")]
    pub result_file: Option<PathBuf>,
    /// The page of the run: one HTML file with every figure and plot that asks no network for
    /// anything; an existing file is replaced
    #[arg(long = "html", value_name = "PATH")]
    pub page: Option<PathBuf>,
    /// Put every request into the results of --result-file
    #[arg(long = "output-details", requires = "result_file")]
    pub details: bool,
    /// Limits in milliseconds that a request must keep to be good: ttft:500 tpot:50 e2el:10000;
    /// those of the run if left out
    #[arg(long = "goodput", value_name = "KEY:VALUE", num_args = 1..)]
    pub slos: Vec<Slo>,
    /// The metrics of which vLLM's table and result have percentiles, with commas: ttft, tpot, itl,
    /// e2el, client_queue_time, e2el_including_client_queue; those of the run if left out
    #[arg(long, value_name = "NAMES")]
    pub percentile_metrics: Option<String>,
    /// The percentiles that vLLM's table and result have, with commas; those of the run if left out
    #[arg(long, value_name = "PERCENTS", value_parser = parse_percentiles)]
    pub metric_percentiles: Option<Percentiles>,
    /// Objectives of the run, such as ttft:p99<2000ms,success>=99% or mlperf:llama2-70b; exit with
    /// 3 if a confidence bound shows that one is not met, with 6 if the run is too short to tell;
    /// those of the run if left out
    #[arg(long = "slo", value_name = "OBJECTIVES", num_args = 1.., value_parser = objectives)]
    pub slo: Vec<Objectives>,
    /// Say by published rules whether the run is VALID, and exit with 3 if it is INVALID: mlperf,
    /// which has a Server scenario, with the limits of --slo; those of the run if left out
    #[arg(long, value_name = "RULES", value_parser = parse_profile)]
    pub profile: Option<RunProfile>,
    /// Report separately the longest part of the run in which this share of its peak concurrency
    /// was in flight, above 0 and at most 1; that of the run if left out
    #[arg(long = "steady-state-concurrency-ratio", value_name = "SHARE",
          value_parser = parse_ratio)]
    pub steady_state: Option<ConcurrencyRatio>,
    /// The file to which a line about the part of --steady-state-concurrency-ratio is appended
    #[arg(long = "steady-state-output-file", value_name = "PATH")]
    pub steady_state_file: Option<PathBuf>,
    /// Exit with 3 if the client audit's verdict is this or a worse one: corrected, suspect or
    /// client-limited; that of the run if left out
    #[arg(long, value_name = "VERDICT", value_parser = parse_verdict)]
    pub fail_on_verdict: Option<Verdict>,
    /// Exit with 3 if the run or its client has one of these verdicts: saturated, warming-up,
    /// short-outputs, unknown-tokens, contaminated, suspect, client-limited; those of the run if left out
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Print a plot of output tokens and requests in flight per second of the run
    #[arg(long = "plot-throughput")]
    pub plots: bool,
    /// Show in SGLang's table how many prompt tokens came from a prefix cache
    #[arg(long)]
    pub cache_report: bool,
}

const EXAMPLES: [&str; 3] = [
    "servemark score run.runlog.jsonl --full",
    "servemark score run.runlog.jsonl --slo 'ttft:p99<2s,success>=99%' --junit slo.xml",
    "servemark score run.runlog.jsonl --html report.html",
];

const EXIT_CODES: &str = "0 done, 1 internal error, 2 usage or a damaged log, 3 a gate failed, 6 an objective is \
     undecided.";

impl ScoreArgs {
    /// Returns whether Servemark's own table is printed whole.
    pub fn is_full(&self) -> bool {
        self.full || !self.how.tables.is_empty()
    }
}

impl ScoringArgs {
    const METRIC_PERCENTILES: Flag = Flag::new("--metric-percentiles");
    const PERCENTILE_METRICS: Flag = Flag::new("--percentile-metrics");
    const STYLE: Flag = Flag::new("--style");

    /// Returns how the run is scored: as `of_run`, the scoring of the run itself, with the changes
    /// of the flags.
    pub fn scoring(&self, of_run: ScoringSpec) -> ScoringSpec {
        let mut scoring = of_run;
        if !self.tables.is_empty() {
            Tables::apply(&self.tables, &mut scoring);
        }
        if let Some(style) = self.style {
            style.apply(&mut scoring);
        }
        if !self.slos.is_empty() {
            scoring.slos.clone_from(&self.slos);
        }
        if !self.slo.is_empty() {
            let objectives = self.slo.iter().flat_map(|list| list.0.iter().copied());
            scoring.slo = Some(SloSpec::new(objectives));
        }
        if let Some(metrics) = self.percentile_metrics.as_deref().filter(|list| !list.is_empty()) {
            scoring.vllm = scoring.vllm.with_metrics(metrics.split(','));
        }
        if let Some(Percentiles(percentiles)) = &self.metric_percentiles {
            scoring.vllm = scoring.vllm.with_percentiles(percentiles.clone());
        }
        scoring.profile = self.profile.or(scoring.profile);
        scoring.steady_state = self.steady_state.or(scoring.steady_state);
        scoring.fail_on = self.fail_on_verdict.or(scoring.fail_on);
        if !self.fail_on.is_empty() {
            scoring.unwanted.clone_from(&self.fail_on);
        }
        scoring.plots |= self.plots;
        scoring.cache_report |= self.cache_report;
        scoring
    }

    /// Refuses flags of vLLM's table if it is not among those of the scoring, and a `--style`
    /// without effect.
    pub fn check(&self, scoring: &ScoringSpec) -> Result<(), CliError> {
        let given = [
            (Self::PERCENTILE_METRICS, self.percentile_metrics.is_some()),
            (Self::METRIC_PERCENTILES, self.metric_percentiles.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) if !scoring.layouts.contains(&Layout::Vllm) => {
                Err(CliError::no_effect(flag, "without vLLM's table (--as vllm)"))
            }
            _ => self.check_style(scoring),
        }
    }

    /// Refuses a `--style` of a table that is neither shown nor written. The line of a result file
    /// is SGLang's, unless vLLM's table is the first.
    fn check_style(&self, scoring: &ScoringSpec) -> Result<(), CliError> {
        let Some(style) = self.style else { return Ok(()) };
        let is_visible = scoring.layouts.contains(&style.layout());
        let is_written = self.result_file.is_some() && style.layout() == Layout::Sglang;
        if is_visible || is_written {
            return Ok(());
        }
        Err(CliError::no_effect(Self::STYLE, style.unused()))
    }

    /// Returns the files to write.
    pub fn output(&self) -> OutputSpec {
        let mut output = OutputSpec::default();
        output.result_file.clone_from(&self.result_file);
        output.page.clone_from(&self.page);
        output.details = self.details;
        output.steady_state_file.clone_from(&self.steady_state_file);
        output
    }
}

/// A table to print, in the style of a peer's release if one is named.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tables {
    /// Layout of the table.
    pub layout: Layout,
    /// Release of the peer; `None` if the name contains none.
    pub style: Option<TableStyle>,
}

impl Tables {
    /// Puts these tables in place of those of a scoring.
    pub fn apply(tables: &[Self], scoring: &mut ScoringSpec) {
        scoring.layouts = tables.iter().map(|tables| tables.layout).collect();
        for style in tables.iter().filter_map(|tables| tables.style) {
            style.apply(scoring);
        }
    }
}

/// Reads the name of a layout, or of a layout and a release, such as `vllm-0.11.0`.
impl FromStr for Tables {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match TableStyle::from_name(name).filter(|_| name.contains('-')) {
            Some(style) => Ok(Self { layout: style.layout(), style: Some(style) }),
            None => Ok(Self { layout: parse_layout(name)?, style: None }),
        }
    }
}

/// The release of a peer whose tables and files are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TableStyle {
    /// A release of evalscope.
    Evalscope(EvalscopeStyle),
    /// A release of SGLang.
    Sglang(SglangStyle),
    /// A release of vLLM.
    Vllm(VllmStyle),
}

impl TableStyle {
    /// Returns the style of a name such as `sglang-0.5.6` or `0.5.6`; `None` for unknown names. No
    /// two peers have a release of the same number.
    fn from_name(name: &str) -> Option<Self> {
        let evalscope = EvalscopeStyle::from_name(name).map(Self::Evalscope);
        let sglang = || SglangStyle::from_name(name).map(Self::Sglang);
        let vllm = || VllmStyle::from_name(name).map(Self::Vllm);
        evalscope.or_else(sglang).or_else(vllm)
    }

    /// Returns the layout of the table that this is a style of.
    const fn layout(self) -> Layout {
        match self {
            Self::Evalscope(_) => Layout::Evalscope,
            Self::Sglang(_) => Layout::Sglang,
            Self::Vllm(_) => Layout::Vllm,
        }
    }

    fn apply(self, scoring: &mut ScoringSpec) {
        match self {
            Self::Evalscope(style) => scoring.evalscope.style = style,
            Self::Sglang(style) => scoring.sglang_style = style,
            Self::Vllm(style) => scoring.vllm.style = style,
        }
    }

    const fn unused(self) -> &'static str {
        match self {
            Self::Evalscope(_) => "without evalscope's table (--as evalscope)",
            Self::Sglang(_) => "without SGLang's table (--as sglang) and without --result-file",
            Self::Vllm(_) => "without vLLM's table (--as vllm)",
        }
    }
}

/// A list of objectives, separated by commas on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Objectives(pub Vec<Objective>);

pub(crate) fn objectives(list: &str) -> Result<Objectives, String> {
    Objective::list(list).map(Objectives).map_err(|error| error.to_string())
}

/// A list of percentiles, separated by commas on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentiles(pub Vec<f64>);

fn parse_percentiles(list: &str) -> Result<Percentiles, String> {
    percentiles(ScoringArgs::METRIC_PERCENTILES, list)
        .map(Percentiles)
        .map_err(|error| error.to_string())
}

fn parse_profile(name: &str) -> Result<RunProfile, String> {
    match name {
        "mlperf" => Ok(RunProfile::Mlperf),
        _ => Err("expected mlperf".to_owned()),
    }
}

fn parse_style(name: &str) -> Result<TableStyle, String> {
    TableStyle::from_name(name).ok_or_else(|| {
        let sglang = SglangStyle::NAMES.join(", ");
        let vllm = VllmStyle::NAMES.join(", ");
        format!("expected a release: evalscope-1.14, 1.7, 1.0, sglang-{sglang}, vllm-{vllm}")
    })
}

fn parse_ratio(share: &str) -> Result<ConcurrencyRatio, String> {
    ConcurrencyRatio::new(python::float(share)?).map_err(|error| error.to_string())
}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <ScoreArgs as clap::CommandFactory>::command()
}

pub(crate) fn parse(
    program: &str,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<ScoreArgs, UsageError> {
    let args: ScoreArgs = parse_command(program, args)?;
    Ok(ScoreArgs { gates: args.gates.in_environment(environment), ..args })
}
