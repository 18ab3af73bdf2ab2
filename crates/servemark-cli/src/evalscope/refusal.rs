//! Refuses command lines before they become plans: flags that are not built, and violated rules of
//! the data sets.

use servemark_datasets::{DatasetSpec, EvalscopeHub, EvalscopeName};

use super::args::{ClientArgs, EvalscopeArgs, LoadArgs};
use super::resolved::ResolvedArgs;
use crate::argparse::{Flag, ParsedCommandLine};
use crate::error::CliError;

/// Refuses flags that are not built, by name.
pub(super) fn check_built(given: &ParsedCommandLine) -> Result<(), CliError> {
    let requested = NOT_BUILT.iter().find(|flag| given.is_requested(**flag));
    requested.map_or(Ok(()), |flag| Err(CliError::not_built(flag.name())))
}

/// Checks `--data-source` for a data set without a local file, and sets its hub.
pub(super) fn check_source(
    source: Option<&str>,
    dataset: &mut DatasetSpec,
) -> Result<(), CliError> {
    match source {
        Some("modelscope") if dataset.unfiled().is_some() => from_modelscope(dataset),
        Some("local") if dataset.unfiled().is_some() => {
            Err(CliError::Together("--data-source local needs --dataset-path"))
        }
        _ => Ok(()),
    }
}

/// Sets ModelScope as the hub of a data set. Refuses a data set that ModelScope has in another form
/// only.
fn from_modelscope(dataset: &mut DatasetSpec) -> Result<(), CliError> {
    if let DatasetSpec::Evalscope(spec) = dataset {
        spec.hub = EvalscopeHub::ModelScope;
    }
    if dataset.unfiled().is_some() {
        return Ok(());
    }
    let name = dataset.name();
    Err(CliError::not_built(format!(
        "--data-source modelscope of {name} (use huggingface, or give it with --dataset-path)"
    )))
}

/// Flags that are not built.
pub(super) const NOT_BUILT: &[Flag] = &[
    LoadArgs::SCENARIO,
    ClientArgs::SWANLAB_API_KEY,
    ClientArgs::VISUALIZER,
    ClientArgs::WANDB_API_KEY,
];

/// Data sets whose rows are whole requests.
const WHOLE: [EvalscopeName; 3] =
    [EvalscopeName::LineByLine, EvalscopeName::OpenDecisions, EvalscopeName::WorkloadTrace];

/// Refuses a data set without the flags that it needs, or with flags or an API that it does not
/// support.
pub(super) fn check_dataset(args: &EvalscopeArgs, resolved: &ResolvedArgs) -> Result<(), CliError> {
    let name = resolved.dataset;
    if args.own_prompt().is_some() {
        let rule = "Decision perf requires complete JSON objects via --dataset line_by_line.";
        return if resolved.api.decides() { Err(CliError::Together(rule)) } else { Ok(()) };
    }
    if name.needs_tokenizer() && !args.has_tokenizer() {
        return Err(CliError::Peer(format!("--dataset {name} needs --tokenizer-path")));
    }
    if resolved.api.decides() && !WHOLE.contains(&name) {
        return Err(CliError::Peer(format!(
            "--api {} sends whole requests: give --dataset line_by_line or open_decisions",
            resolved.api
        )));
    }
    if name == EvalscopeName::WorkloadTrace && !args.load.open_loop {
        return Err(CliError::Together(
            "workload_trace requires open-loop mode. Add --open-loop to your command.",
        ));
    }
    let shows = [EvalscopeName::RandomVl, EvalscopeName::MmmuMultiImage].contains(&name);
    if args.sampling.tokenize_prompt && (shows || args.turns.multi_turn) {
        let rule = format!("--tokenize-prompt cannot be used with --dataset {name}");
        return Err(CliError::Peer(rule));
    }
    match (name.is_multi_turn(), args.turns.multi_turn) {
        (true, false) => Err(CliError::Peer(format!("--dataset {name} needs --multi-turn"))),
        (false, true) => {
            Err(CliError::Peer(format!("--dataset {name} has no conversations for --multi-turn")))
        }
        _ => Ok(()),
    }
}
