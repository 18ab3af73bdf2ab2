//! Command lines that are refused before they become plans: what is not built, and rules of the
//! data sets.

use servemark_datasets::{DatasetSpec, EvalscopeHub, EvalscopeName};

use super::args::EvalscopeArgs;
use super::dataset::has_tokenizer;
use super::settled::Settled;
use crate::argparse::Given;
use crate::error::CliError;

/// What is not built, by name.
pub(super) fn check_built(given: &Given) -> Result<(), CliError> {
    let asked = NOT_BUILT.iter().find(|flag| given.asks(flag));
    asked.map_or(Ok(()), |flag| Err(CliError::not_built(*flag)))
}

/// Where a data set is to come from that is given no file.
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

/// Some data sets are there in another form.
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

/// Flags of which nothing is built.
pub(super) const NOT_BUILT: &[&str] =
    &["--scenario", "--swanlab-api-key", "--visualizer", "--wandb-api-key"];

/// Data sets of whole requests.
const WHOLE: [EvalscopeName; 3] =
    [EvalscopeName::LineByLine, EvalscopeName::OpenDecisions, EvalscopeName::WorkloadTrace];

/// What a data set needs.
pub(super) fn check_dataset(args: &EvalscopeArgs, settled: &Settled) -> Result<(), CliError> {
    let name = settled.dataset;
    if args.prompt.prompt.is_some() && !settled.api.decides() {
        return Ok(());
    }
    if name.needs_tokenizer() && !has_tokenizer(args) {
        return Err(CliError::Peer(format!("--dataset {name} needs --tokenizer-path")));
    }
    if settled.api.decides() && !WHOLE.contains(&name) {
        return Err(CliError::Peer(format!(
            "--api {} sends whole requests: give --dataset line_by_line or open_decisions",
            settled.api
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
