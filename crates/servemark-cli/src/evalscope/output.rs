//! Tables and files of the runs.

use std::path::{Path, PathBuf};

use servemark_plan::{Layout, OutputSpec, ScoringSpec};
use servemark_report::{EvalscopeOptions, EvalscopeStyle};

use super::args::EvalscopeArgs;
use super::namespace;
use super::resolved::ResolvedArgs;
use crate::environment::Environment;
use crate::error::CliError;

/// Returns how runs are scored: the tables, and what counts as a successful run.
pub(super) fn scoring(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
) -> Result<ScoringSpec, CliError> {
    let mut scoring = args.judging.scoring(Layout::Evalscope)?;
    let style = EvalscopeStyle::from_name(&args.extras.style).unwrap_or_default();
    let mut options = EvalscopeOptions::of(style);
    options.handoff = args.load.enable_pd_metrics;
    options.speeds = args.dataset.dataset.starts_with("speed_benchmark");
    options.decides = resolved.api.decides();
    scoring.evalscope = options;
    if args.judging.tolerate_failures.is_none() {
        scoring.tolerated_failures = ALL;
    }
    Ok(scoring)
}

/// Tolerated share of failed requests: evalscope exits with 0 even if every request failed.
const ALL: f64 = 1.0;

/// Returns the output of the run in a folder.
pub(super) fn output(folder: &Path) -> OutputSpec {
    let mut output =
        OutputSpec { run_log: Some(folder.join(OutputSpec::RUN_LOG)), ..OutputSpec::default() };
    // The database of requests contains the texts, and the bodies of later turns repeat them.
    output.keeps_texts = true;
    output
}

/// Returns the folder of all results. In its name, an underscore replaces each character that file
/// systems refuse or that would lead to another folder.
pub(super) fn folder(args: &EvalscopeArgs, environment: &Environment) -> PathBuf {
    let name = args.client.name.as_deref().filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| namespace::model_id(args));
    let plain = |sign: char| if FORBIDDEN.contains(sign) { '_' } else { sign };
    let name: String = name.chars().map(plain).collect();
    let mut folder = PathBuf::from(&args.output.outputs_dir);
    if !args.output.no_timestamp {
        let [date, time] = environment.now().digits();
        folder.push(format!("{date}_{time}"));
    }
    folder.join(name)
}

const FORBIDDEN: &str = "<>:\"|?*\\/\0";
