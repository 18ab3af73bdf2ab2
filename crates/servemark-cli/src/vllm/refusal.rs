//! Command lines that are refused before they become a plan: what is not built, and vLLM's rules
//! between flags.

use super::args::VllmArgs;
use super::tokenizer_mode;
use crate::argparse::Reading;
use crate::error::CliError;

/// Refuses features that are not implemented, and then what breaks vLLM's rules.
pub(super) fn check(args: &VllmArgs) -> Result<(), CliError> {
    tokenizer_mode::check(args)?;
    check_dataset(args)?;
    check_untokenized(args)?;
    check_timing(args)
}

/// Refuses flags that only vLLM's Rust client has, by name, before unknown flags are refused.
pub(super) fn check_leftovers(reading: &Reading) -> Result<(), CliError> {
    let name = |arg: &str| arg.split_once('=').map_or(arg, |(name, _)| name).to_owned();
    let named = |(flag, _): &&(&str, &str)| reading.leftovers.iter().any(|arg| name(arg) == *flag);
    match RUST_CLIENTS_ALONE.iter().find(named) {
        Some((flag, why)) => Err(CliError::setting(*flag, why)),
        None => reading.refuse_leftovers(),
    }
}

/// Flags of vLLM's Rust client that are not implemented, with what to do instead.
const RUST_CLIENTS_ALONE: [(&str, &str); 4] = [
    (
        "--hf-text-column",
        "is not built: save the column as \"prompt\" of a JSON lines file and give --dataset-name custom",
    ),
    ("--profile-batch-threshold", PROFILE),
    ("--profile-duration", PROFILE),
    ("--speed-bench-config", "is --speed-bench-dataset-subset here, as with vLLM's Python client"),
];

const PROFILE: &str = "is not built: a client that waits for a batch asks /metrics over and over \
                       while it measures; give the server's profiler its own limits \
                       (vllm serve --profiler-config) and --profile";

fn check_dataset(args: &VllmArgs) -> Result<(), CliError> {
    let (name, path) = (args.dataset.dataset_name.as_str(), &args.dataset.dataset_path);
    match path {
        Some(path) if FILELESS_DATASETS.contains(&name) => Err(CliError::Peer(format!(
            "Cannot use '{name}' dataset with --dataset-path. Please specify the appropriate \
             --dataset-name (e.g., 'sharegpt', 'custom', 'hf') for your dataset file: {path}"
        ))),
        _ => Ok(()),
    }
}

/// Data sets that read no file.
const FILELESS_DATASETS: [&str; 4] = ["random", "random-mm", "random-rerank", "prefix_repetition"];

/// Refuses data sets that need a tokenizer if there is none, as vLLM does.
fn check_untokenized(args: &VllmArgs) -> Result<(), CliError> {
    let name = args.dataset.dataset_name.as_str();
    if !args.target.skip_tokenizer_init || AS_THEY_ARE.contains(&name) {
        return Ok(());
    }
    Err(CliError::Peer(format!(
        "Tokenizer must be initialized for the '{name}' dataset: leave --skip-tokenizer-init out; \
         {} do without",
        AS_THEY_ARE.join(" and ")
    )))
}

/// Data sets whose rows can be sent unchanged.
const AS_THEY_ARE: [&str; 2] = ["custom", "custom_image"];

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
