//! `servemark score`: the numbers of a run that is over.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser};
use servemark_metrics::{ConcurrencyRatio, FailOn, Objective, Slo, Verdict};
use servemark_plan::{Layout, OutputSpec, RunProfile, ScoringSpec, SloSpec};
use servemark_report::EvalscopeStyle;

use crate::error::{CliError, UsageError};
use crate::own::{parse_layout, parse_verdict};
use crate::{python, vllm};

/// Score a run again from what was recorded
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(name = "score", max_term_width = 100)]
#[non_exhaustive]
pub struct ScoreArgs {
    /// The run log
    #[arg(value_name = "RUNLOG")]
    pub run_log: PathBuf,
    /// Print one JSON document in place of the tables: every figure with its confidence interval,
    /// verdicts on the run and on the client, and objectives
    #[arg(long, conflicts_with = "tables")]
    pub json: bool,
    /// How it is scored.
    #[command(flatten)]
    pub how: ScoringArgs,
    /// Write the files of vLLM's, AISBench's or evalscope's that the run was to leave behind, where
    /// it was to
    #[arg(long)]
    pub files: bool,
    /// Leave damaged lines out; they are an error otherwise
    #[arg(long)]
    pub skip_damaged: bool,
}

/// How a run is scored that has a log already.
#[derive(Args, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScoringArgs {
    /// The tables to print, in this order: sglang, native, embedding, offline, vllm, aisbench,
    /// evalscope; those of the run if left out. evalscope-1.7 and evalscope-1.0 are evalscope with
    /// that --style
    #[arg(long = "layout", visible_alias = "as", value_name = "NAMES", value_delimiter = ',',
          value_parser = parse_tables)]
    pub tables: Vec<Tables>,
    /// Whose version evalscope's tables are of: evalscope, evalscope-1.7 or evalscope-1.0; that of
    /// the layout, or else of the run, if left out
    #[arg(long = "style", value_name = "VERSION", value_parser = parse_style)]
    pub evalscope_style: Option<EvalscopeStyle>,
    /// The file to which SGLang's line of results is appended, or vLLM's where its table is the
    /// first
    #[arg(long, value_name = "PATH")]
    pub result_file: Option<PathBuf>,
    /// Put every request into that line
    #[arg(long = "output-details", requires = "result_file")]
    pub details: bool,
    /// Limits in milliseconds that a request must keep to be good: ttft:500 tpot:50 e2el:10000;
    /// those of the run if left out
    #[arg(long = "goodput", value_name = "KEY:VALUE", num_args = 1..)]
    pub slos: Vec<Slo>,
    /// What vLLM's table and result have percentiles of, with commas: ttft, tpot, itl, e2el,
    /// client_queue_time, e2el_including_client_queue; those of the run if left out
    #[arg(long, value_name = "NAMES")]
    pub percentile_metrics: Option<String>,
    /// Which percentiles vLLM's table and result have, with commas; those of the run if left out
    #[arg(long, value_name = "PERCENTS", value_parser = parse_percentiles)]
    pub metric_percentiles: Option<Percentiles>,
    /// What the run must keep to, such as ttft:p99<2000ms,success>=99% or mlperf:llama2-70b; exit
    /// with 3 if a confidence bound says that it does not, with 6 if the run cannot tell; that of the
    /// run if left out
    #[arg(long = "slo", value_name = "OBJECTIVES", num_args = 1.., value_parser = objectives)]
    pub slo: Vec<Objectives>,
    /// Say by published rules whether the run is VALID, and exit with 3 if it is INVALID: mlperf,
    /// which has a Server scenario, with the limits of --slo; those of the run if left out
    #[arg(long, value_name = "RULES", value_parser = parse_profile)]
    pub profile: Option<RunProfile>,
    /// Tell the longest part of the run apart in which this share of its peak concurrency was in
    /// flight, above 0 and at most 1; that of the run if left out
    #[arg(long = "steady-state-concurrency-ratio", value_name = "SHARE",
          value_parser = parse_ratio)]
    pub steady_state: Option<ConcurrencyRatio>,
    /// The file to which a line about that part is appended
    #[arg(long = "steady-state-output-file", value_name = "PATH")]
    pub steady_state_file: Option<PathBuf>,
    /// Exit with 3 if the client audit's verdict is this or a worse one: corrected, suspect or
    /// client-limited; that of the run if left out
    #[arg(long, value_name = "VERDICT", value_parser = parse_verdict)]
    pub fail_on_verdict: Option<Verdict>,
    /// Exit with 3 if the run or its client has one of these verdicts: saturated, warming-up,
    /// short-outputs, unknown-tokens, suspect, client-limited; those of the run if left out
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Plot output tokens and requests in flight, second by second
    #[arg(long = "plot-throughput")]
    pub plots: bool,
    /// Tell in SGLang's table how many prompt tokens came from a prefix cache
    #[arg(long)]
    pub cache_report: bool,
}

impl ScoringArgs {
    /// How to score, where a run is to be scored as `of_run` says by itself.
    pub fn scoring(&self, of_run: ScoringSpec) -> ScoringSpec {
        let mut scoring = of_run;
        if !self.tables.is_empty() {
            scoring.layouts = self.tables.iter().map(|tables| tables.layout).collect();
        }
        let named = self.tables.iter().find_map(|tables| tables.evalscope_style);
        let style = self.evalscope_style.or(named);
        scoring.evalscope.style = style.unwrap_or(scoring.evalscope.style);
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

    /// Refuses flags of a table that is not among those of the scoring.
    pub fn check(&self, scoring: &ScoringSpec) -> Result<(), CliError> {
        let given = [
            ("--percentile-metrics", self.percentile_metrics.is_some()),
            ("--metric-percentiles", self.metric_percentiles.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) if !scoring.layouts.contains(&Layout::Vllm) => {
                Err(CliError::NoEffect { flag, when: "without vLLM's table (--as vllm)" })
            }
            _ => Ok(()),
        }
    }

    /// The files to write.
    pub fn output(&self) -> OutputSpec {
        let mut output = OutputSpec::default();
        output.result_file.clone_from(&self.result_file);
        output.details = self.details;
        output.steady_state_file.clone_from(&self.steady_state_file);
        output
    }
}

/// Tables to print, of evalscope's those of a version where one is named.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tables {
    /// Whose tables.
    pub layout: Layout,
    /// Of which version of evalscope.
    pub evalscope_style: Option<EvalscopeStyle>,
}

fn parse_tables(name: &str) -> Result<Tables, String> {
    let versioned = name.starts_with("evalscope-");
    match EvalscopeStyle::from_name(name).filter(|_| versioned) {
        Some(style) => Ok(Tables { layout: Layout::Evalscope, evalscope_style: Some(style) }),
        None => Ok(Tables { layout: parse_layout(name)?, evalscope_style: None }),
    }
}

/// Objectives that are parted by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Objectives(pub Vec<Objective>);

fn objectives(list: &str) -> Result<Objectives, String> {
    Objective::list(list).map(Objectives).map_err(|error| error.to_string())
}

/// Percentiles that are parted by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentiles(pub Vec<f64>);

fn parse_percentiles(list: &str) -> Result<Percentiles, String> {
    vllm::percentiles(list).map(Percentiles).map_err(|error| error.to_string())
}

fn parse_profile(name: &str) -> Result<RunProfile, String> {
    match name {
        "mlperf" => Ok(RunProfile::Mlperf),
        _ => Err("expected mlperf".to_owned()),
    }
}

fn parse_style(name: &str) -> Result<EvalscopeStyle, String> {
    let expected = || "expected evalscope, evalscope-1.7 or evalscope-1.0".to_owned();
    EvalscopeStyle::from_name(name).ok_or_else(expected)
}

fn parse_ratio(share: &str) -> Result<ConcurrencyRatio, String> {
    ConcurrencyRatio::new(python::float(share)?).map_err(|error| error.to_string())
}

pub(crate) fn parse(
    program: &str,
    args: impl Iterator<Item = OsString>,
) -> Result<ScoreArgs, UsageError> {
    let command = ScoreArgs::command().bin_name(program);
    command
        .no_binary_name(true)
        .try_get_matches_from(args)
        .and_then(|matches| ScoreArgs::from_arg_matches(&matches))
        .map_err(|error| UsageError::from_clap(&error))
}
