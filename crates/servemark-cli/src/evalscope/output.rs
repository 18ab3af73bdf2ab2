//! What is made of the runs, and where it goes.

use std::path::{Path, PathBuf};

use servemark_plan::{Layout, OutputSpec, ScoringSpec};
use servemark_report::{EvalscopeOptions, EvalscopeStyle};

use super::args::EvalscopeArgs;
use super::namespace;
use super::settled::Settled;
use crate::environment::Environment;
use crate::error::CliError;

/// The tables and what counts as a run that went well.
pub(super) fn scoring(args: &EvalscopeArgs, settled: &Settled) -> Result<ScoringSpec, CliError> {
    let mut scoring = args.judging.scoring(Layout::Evalscope)?;
    let style = EvalscopeStyle::from_name(&args.extras.style).unwrap_or_default();
    let mut options = EvalscopeOptions::of(style);
    options.handoff = args.load.enable_pd_metrics;
    options.speeds = args.dataset.dataset.starts_with("speed_benchmark");
    options.decides = settled.api.decides();
    scoring.evalscope = options;
    Ok(scoring)
}

/// The files of one run.
pub(super) fn output(folder: &Path) -> OutputSpec {
    let mut output = OutputSpec::default();
    output.run_log = Some(folder.join(RUN_LOG));
    // The database of requests has them, and the bodies of later turns.
    output.keeps_texts = true;
    output
}

const RUN_LOG: &str = "run.runlog.jsonl";

/// The folder of all results. What no file system takes in a name, or what would lead elsewhere, is
/// an underscore.
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
