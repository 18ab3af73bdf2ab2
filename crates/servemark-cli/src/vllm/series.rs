//! Several runs of one command line: repeated, or swept over limits or rates.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use servemark_plan::{BenchPlan, Isolation, NamedPlan, OutputSpec, SweepSpec};

use super::args::{ExtrasArgs, VllmArgs};
use crate::argparse::Flag;
use crate::error::CliError;
use crate::number::{at_least, refused};
use crate::parsed::Parsed;
use crate::python;

/// Several runs of one command line, one after the other.
#[derive(Clone, Debug)]
pub struct Series {
    /// The first run, with the settings that all runs share.
    pub first: Parsed,
    /// The runs.
    pub runs: SweepSpec,
    /// Purpose of the runs.
    pub purpose: Purpose,
    /// File to which the numbers of all runs are written, if any.
    pub summary: Option<PathBuf>,
}

/// Purpose of several runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// To measure the spread between equal runs.
    Spread,
    /// To measure how the numbers change with a setting.
    Sweep {
        /// The setting, in words.
        setting: &'static str,
        /// Percentiles to show besides the 50th and the 90th.
        percentiles: Vec<f64>,
    },
}

/// Returns whether a command line has a flag of vLLM's Rust client for several runs, for a
/// comparison or for a dry run.
pub(super) fn asks_for_several(args: &[OsString]) -> bool {
    args.iter().any(|arg| {
        let arg = arg.to_string_lossy();
        let flag = arg.split_once('=').map_or(&*arg, |(flag, _)| flag).replace('_', "-");
        SEVERAL.iter().any(|known| known.name() == flag)
    })
}

const SEVERAL: [Flag; 5] = [
    ExtrasArgs::COMPARE,
    ExtrasArgs::DRY_RUN,
    ExtrasArgs::NUM_RUNS,
    ExtrasArgs::SWEEP_MAX_CONCURRENCY,
    ExtrasArgs::SWEEP_REQUEST_RATE,
];

/// A value of the varied setting, and the command line with it.
struct Variant {
    setting: (String, Value),
    args: VllmArgs,
}

/// Returns the runs that a command line asks for; `None` if it is a single one. `plan` creates the
/// plan of each run.
pub(super) fn series(
    args: &VllmArgs,
    first: &Parsed,
    plan: impl Fn(&VllmArgs) -> Result<BenchPlan, CliError>,
) -> Result<Option<Series>, CliError> {
    let Some((purpose, variants)) = variants(args)? else { return Ok(None) };
    let numbered = (1..).zip(&variants);
    let runs = numbered.map(|(number, variant)| {
        let mut plan = plan(&variant.args)?;
        keep_apart(&mut plan.output, number);
        Ok(NamedPlan::new(vec![variant.setting.clone()], plan))
    });
    let runs = SweepSpec::listed(runs.collect::<Result<Vec<_>, CliError>>()?);
    Ok(Some(Series {
        first: first.clone(),
        runs: runs.isolated(Isolation::none()),
        purpose,
        summary: args.extras.summary_file.as_ref().map(PathBuf::from),
    }))
}

fn variants(args: &VllmArgs) -> Result<Option<(Purpose, Vec<Variant>)>, CliError> {
    let extras = &args.extras;
    let sweep = |setting| -> Result<Purpose, CliError> {
        Ok(Purpose::Sweep { setting, percentiles: percentiles(extras)? })
    };
    match (&extras.sweep_max_concurrency, &extras.sweep_request_rate, repeats(extras)?) {
        (None, None, 1) => Ok(None),
        (Some(limits), None, 1) => {
            Ok(Some((sweep("Max Concurrency")?, each(limits, |text| limited(args, text))?)))
        }
        (None, Some(rates), 1) => {
            Ok(Some((sweep("Request Rate")?, each(rates, |text| rated(args, text))?)))
        }
        (None, None, runs) => {
            let again =
                |number| Variant { setting: ("run".to_owned(), json!(number)), args: args.clone() };
            Ok(Some((Purpose::Spread, (1..=runs).map(again).collect())))
        }
        _ => Err(CliError::Together(
            "only one of --sweep-max-concurrency, --sweep-request-rate and --num-runs may be given",
        )),
    }
}

fn repeats(args: &ExtrasArgs) -> Result<u32, CliError> {
    at_least(ExtrasArgs::NUM_RUNS, 1, args.num_runs)
}

fn each(
    list: &str,
    variant: impl Fn(&str) -> Result<Variant, CliError>,
) -> Result<Vec<Variant>, CliError> {
    list.split(',').map(|text| variant(text.trim())).collect()
}

fn limited(args: &VllmArgs, text: &str) -> Result<Variant, CliError> {
    let limit = python::int(text).map_err(refused(ExtrasArgs::SWEEP_MAX_CONCURRENCY))?;
    let mut args = args.clone();
    args.load.max_concurrency = Some(limit);
    args.extras.multi_turn_concurrency = None;
    if let Some(factor) = args.extras.sweep_num_prompts_factor {
        args.dataset.num_prompts = limit.saturating_mul(factor);
    }
    Ok(Variant { setting: ("concurrency".to_owned(), json!(limit)), args })
}

fn rated(args: &VllmArgs, text: &str) -> Result<Variant, CliError> {
    let mut args = args.clone();
    args.load.request_rate =
        python::float(text).map_err(refused(ExtrasArgs::SWEEP_REQUEST_RATE))?;
    Ok(Variant { setting: ("rate".to_owned(), json!(text)), args })
}

fn percentiles(args: &ExtrasArgs) -> Result<Vec<f64>, CliError> {
    let list = args.sweep_summary_percentiles.as_deref().unwrap_or_default();
    let texts = list.split(',').map(str::trim).filter(|text| !text.is_empty());
    texts
        .map(|text| {
            let percent =
                python::float(text).map_err(refused(ExtrasArgs::SWEEP_SUMMARY_PERCENTILES))?;
            let fits = (0.0..=100.0).contains(&percent);
            let outside =
                || CliError::setting(ExtrasArgs::SWEEP_SUMMARY_PERCENTILES, "must lie in 0 to 100");
            fits.then_some(percent).ok_or_else(outside)
        })
        .collect()
}

/// Numbers the output files of a run, so that no two runs write the same file.
fn keep_apart(output: &mut OutputSpec, number: u32) {
    let numbered = |path: &Path| numbered_path(path, number);
    output.run_log = output.run_log.as_deref().map(numbered);
    if let Some(name) = output.vllm.as_mut().and_then(|files| files.name.as_mut()) {
        *name = numbered(name.as_ref()).to_string_lossy().into_owned();
    }
}

/// Adds the number of a run to a path: `a/run.runlog.jsonl` becomes `a/run-2.runlog.jsonl`.
fn numbered_path(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, rest) = name.split_once('.').unwrap_or((&name, ""));
    let dot = if rest.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{number}{dot}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_a_log_of_its_own() {
        let numbered = |path: &str| numbered_path(path.as_ref(), 2).display().to_string();
        assert_eq!(numbered("a.b/run.runlog.jsonl"), "a.b/run-2.runlog.jsonl");
        assert_eq!(numbered("log"), "log-2");
    }
}
