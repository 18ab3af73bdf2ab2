//! Converts the flags of the files that vLLM's client writes.

use servemark_plan::{SaveMode, VllmFiles};

use super::args::{OutputArgs, VllmArgs};
use super::namespace::namespace;
use crate::argparse::ParsedCommandLine;
use crate::environment::Environment;
use crate::error::CliError;
use crate::python;

/// Returns the files to write; `None` if there are none.
pub(super) fn files(
    args: &VllmArgs,
    given: &ParsedCommandLine,
    environment: &Environment,
) -> Result<Option<VllmFiles>, CliError> {
    let output = &args.output;
    if !are_wanted(output) {
        return if output.plot_dataset_stats { Err(UNNAMED) } else { Ok(None) };
    }
    let mut files = VllmFiles {
        folder: non_empty(output.result_dir.as_ref()).map(Into::into),
        name: non_empty(output.result_filename.as_ref()).cloned(),
        ..VllmFiles::default()
    };
    files.label.clone_from(&output.label);
    files.save = save_mode(output);
    files.details = output.save_detailed;
    files.timeline = output.plot_timeline.then(|| thresholds(output)).transpose()?;
    files.dataset_stats = output.plot_dataset_stats;
    files.utc_offset_s = environment.now().utc_offset_s;
    if environment.variable("SAVE_TO_PYTORCH_BENCHMARK_FORMAT").is_some() {
        files.pytorch = namespace(args, given);
    }
    Ok(Some(files))
}

/// Returns whether a file is requested from whose name the others are derived.
pub(super) fn are_wanted(output: &OutputArgs) -> bool {
    save_mode(output).is_some() || output.plot_timeline
}

/// Returns how the result is saved. Appending has precedence, as with vLLM.
fn save_mode(output: &OutputArgs) -> Option<SaveMode> {
    match (output.append_result, output.save_result) {
        (true, _) => Some(SaveMode::Append),
        (_, true) => Some(SaveMode::Replace),
        _ => None,
    }
}

/// Returns the text unless it is empty, which means none, as with vLLM.
fn non_empty(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

/// Error of a plot without a result file, from whose name that of the plot is derived.
const UNNAMED: CliError = CliError::Together(
    "--plot-dataset-stats needs a result to be named after; add --save-result, --append-result or \
     --plot-timeline",
);

fn thresholds(output: &OutputArgs) -> Result<[f64; 2], CliError> {
    let refused = |why| CliError::Peer(format!("Invalid --timeline-itl-thresholds format: {why}"));
    let numbers = output.timeline_itl_thresholds.split(',').map(|text| {
        let rendered = python::repr(text.trim());
        python::float(text)
            .map_err(|_| refused(format!("could not convert string to float: {rendered}")))
    });
    let numbers = numbers.collect::<Result<Vec<f64>, _>>()?;
    let count = numbers.len();
    let two = || refused(format!("Expected 2 ITL threshold values, got {count}"));
    numbers.try_into().map_err(|_| two())
}
