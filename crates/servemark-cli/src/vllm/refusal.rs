//! Command lines that are refused before they become a plan: what is not built, and vLLM's rules
//! between flags.

use super::args::VllmArgs;
use crate::argparse::Given;
use crate::error::CliError;

/// What is not built by name, then vLLM's rules.
pub(super) fn check(args: &VllmArgs, given: &Given) -> Result<(), CliError> {
    if let Some(flag) = NOT_BUILT.iter().find(|flag| given.asks(flag)) {
        return Err(CliError::not_built(*flag));
    }
    let mode = args.target.tokenizer_mode.as_str();
    if !["auto", "hf"].contains(&mode) {
        return Err(CliError::not_built(format!("--tokenizer-mode {mode}")));
    }
    check_dataset(args)?;
    check_timing(args)
}

/// Flags of which nothing is built.
const NOT_BUILT: &[&str] = &["--skip-tokenizer-init"];

fn check_dataset(args: &VllmArgs) -> Result<(), CliError> {
    let (name, path) = (args.dataset.dataset_name.as_str(), &args.dataset.dataset_path);
    match path {
        Some(path) if DRAWN.contains(&name) => Err(CliError::Peer(format!(
            "Cannot use '{name}' dataset with --dataset-path. Please specify the appropriate \
             --dataset-name (e.g., 'sharegpt', 'custom', 'hf') for your dataset file: {path}"
        ))),
        _ => Ok(()),
    }
}

/// Data sets that read no file.
const DRAWN: [&str; 4] = ["random", "random-mm", "random-rerank", "prefix_repetition"];

fn check_timing(args: &VllmArgs) -> Result<(), CliError> {
    let is_trace = args.dataset.dataset_name == "timed_trace";
    let speaks_completions = ["vllm", "openai"].contains(&args.target.backend.as_str());
    if is_trace && !speaks_completions {
        return Err(CliError::Together(
            "timed_trace dataset passes pre-tokenized prompts (list[int]) and requires a \
             completions backend ('vllm' or 'openai').",
        ));
    }
    let timing_is_given = args.timed_trace.self_timed || args.timed_trace.no_self_timed;
    if timing_is_given && !is_trace {
        return Err(CliError::Together(
            "--self-timed/--no-self-timed is only supported with --dataset-name=timed_trace",
        ));
    }
    Ok(())
}
