//! Refuses command lines by SGLang's rules between flags, before they become a plan.

use std::cmp::Ordering;

use super::args::{ClientArgs, LoadArgs, SglangArgs, SharedPrefixArgs};
use crate::argparse::Given;
use crate::error::CliError;

/// Checks SGLang's rules: first those of its parser, then those on which its client exits.
pub(super) fn check(args: &SglangArgs, given: &Given) -> Result<(), CliError> {
    check_rules(args, given)?;
    check_exits(args)
}

/// Checks the rules of SGLang's parser. Errors have its words.
fn check_rules(args: &SglangArgs, given: &Given) -> Result<(), CliError> {
    let SharedPrefixArgs { gsp_group_distribution, gsp_zipf_alpha, gsp_num_turns, .. } =
        &args.shared_prefix;
    let is_zipf = gsp_group_distribution == "zipf";
    let is_shared_prefix = args.dataset.dataset_name == "generated-shared-prefix";
    CliError::first_broken([
        (
            given.is(ClientArgs::RUST_WORKER_THREADS) && !given.is(ClientArgs::RUST_CLIENT),
            "--rust-worker-threads requires --rust-client",
        ),
        (
            is_zipf && gsp_zipf_alpha.is_none(),
            "--gsp-group-distribution=zipf requires --gsp-zipf-alpha (a finite float > 0)",
        ),
        (
            !is_zipf && gsp_zipf_alpha.is_some(),
            "--gsp-zipf-alpha is only meaningful with --gsp-group-distribution=zipf; remove \
             --gsp-zipf-alpha or set --gsp-group-distribution=zipf",
        ),
        (
            args.dataset.tokenize_prompt && is_shared_prefix && *gsp_num_turns > 1,
            "--tokenize-prompt requires --gsp-num-turns=1",
        ),
        (
            args.output.print_requests && args.target.backend != "sglang-oai-chat",
            "--print-requests requires --backend sglang-oai-chat",
        ),
        (
            given.asks(LoadArgs::LORA_REQUEST_DISTRIBUTION)
                && given.values(LoadArgs::LORA_NAME).len() < 2,
            "--lora-request-distribution requires --lora-name with two adapters or more",
        ),
        (
            args.load.lora_zipf_alpha.partial_cmp(&1.0) != Some(Ordering::Greater),
            "--lora-zipf-alpha must be greater than 1",
        ),
    ])
}

/// Checks the rules on which SGLang's client ends with a message and exit code 1. Errors have its
/// words.
fn check_exits(args: &SglangArgs) -> Result<(), CliError> {
    let backend = args.target.backend.as_str();
    let is_nameless = args.target.model.is_none() && args.simulator.simulate.is_none();
    let is_embedding = ["sglang-embedding", "vllm-embedding"].contains(&backend);
    let refusal = match (backend, args.dataset.dataset_name.as_str()) {
        ("trt", _) if is_nameless => {
            "Please provide a model using `--model` when using `trt` backend."
        }
        ("truss", _) if is_nameless => {
            "Please provide a model with `--model` when using truss backend. e.g. --model \
             meta-llama/Llama-3.1-8B-Instruct"
        }
        (_, "image") if is_embedding => "image dataset is unsupported for embeddings benchmark",
        (_, "mmmu") if is_embedding => "mmmu dataset is unsupported for embeddings benchmark",
        (_, "mooncake") if is_embedding => {
            "mooncake dataset is unsupported for embeddings benchmark"
        }
        _ => return Ok(()),
    };
    Err(CliError::Together(refusal))
}
