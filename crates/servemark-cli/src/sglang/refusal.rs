//! Refuses command lines by SGLang's rules between flags, before they become a plan.

use std::cmp::Ordering;

use super::args::{
    ClientArgs, DatasetArgs, LoadArgs, OutputArgs, ProfileArgs, RequestArgs, SglangArgs,
    SharedPrefixArgs, TraceArgs,
};
use crate::argparse::{Flag, ParsedCommandLine};
use crate::error::CliError;

/// Checks SGLang's rules: first those of its parser, then those on which its client exits.
pub(super) fn check(args: &SglangArgs, given: &ParsedCommandLine) -> Result<(), CliError> {
    check_rules(args, given)?;
    check_exits(args)
}

/// Checks the rules of SGLang's parser. Errors have its words.
fn check_rules(args: &SglangArgs, given: &ParsedCommandLine) -> Result<(), CliError> {
    let SharedPrefixArgs { gsp_group_distribution, gsp_zipf_alpha, gsp_num_turns, .. } =
        &args.shared_prefix;
    let is_zipf = gsp_group_distribution == "zipf";
    let is_shared_prefix = args.dataset.dataset_name == "generated-shared-prefix";
    if given.is(ClientArgs::RUST_CLIENT) {
        check_rust_client(args, given)?;
    } else if given.is(ClientArgs::RUST_WORKER_THREADS) {
        return Err(CliError::Together("--rust-worker-threads requires --rust-client"));
    }
    CliError::first_broken([
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
            given.is_requested(LoadArgs::LORA_REQUEST_DISTRIBUTION)
                && given.values(LoadArgs::LORA_NAME).len() < 2,
            "--lora-request-distribution requires --lora-name with two adapters or more",
        ),
        (
            args.load.lora_zipf_alpha.partial_cmp(&1.0) != Some(Ordering::Greater),
            "--lora-zipf-alpha must be greater than 1",
        ),
    ])
}

/// Checks what SGLang's compiled client can do. Errors have the words of SGLang's parser.
fn check_rust_client(args: &SglangArgs, given: &ParsedCommandLine) -> Result<(), CliError> {
    let (backend, dataset) = (&args.target.backend, &args.dataset.dataset_name);
    let refuse = |why: String| Err(CliError::setting(ClientArgs::RUST_CLIENT, why));
    if !RUST_BACKENDS.contains(&backend.as_str()) {
        let all = RUST_BACKENDS.join(", ");
        return refuse(format!("does not implement --backend {backend}; supported: {all}"));
    }
    if !RUST_DATASETS.contains(&dataset.as_str()) {
        let all = RUST_DATASETS.join(", ");
        return refuse(format!("does not implement --dataset-name {dataset}; supported: {all}"));
    }
    // SGLang counts a list as given even if it has no value.
    let needs_refusal = |flag: &&Flag| {
        given.is_requested(**flag) || (**flag == LoadArgs::LORA_NAME && given.is(**flag))
    };
    let requested = NOT_IN_RUST.iter().filter(needs_refusal);
    let requested: Vec<String> = requested.map(|flag| flag.name()[2..].replace('-', "_")).collect();
    if requested.is_empty() {
        return Ok(());
    }
    let requested = requested.join(", ");
    Err(CliError::Peer(format!(
        "--rust-client does not implement: {requested}. Drop --rust-client to run these on the Python \
         client."
    )))
}

/// Backends and data sets of SGLang's compiled client.
const RUST_BACKENDS: [&str; 8] = [
    "lmdeploy",
    "lmdeploy-chat",
    "sglang",
    "sglang-native",
    "sglang-oai",
    "sglang-oai-chat",
    "vllm",
    "vllm-chat",
];
const RUST_DATASETS: [&str; 3] = ["random", "random-ids", "sharegpt"];

/// Flags that SGLang's compiled client does not have, sorted.
const NOT_IN_RUST: [Flag; 14] = [
    DatasetArgs::APPLY_CHAT_TEMPLATE,
    OutputArgs::CACHE_REPORT,
    RequestArgs::FAKE_PREFILL,
    LoadArgs::LORA_NAME,
    ProfileArgs::PD_SEPARATED,
    OutputArgs::PLOT_THROUGHPUT,
    OutputArgs::PRINT_REQUESTS,
    ProfileArgs::PROFILE_BY_STAGE,
    ProfileArgs::PROFILE_NUM_STEPS,
    ProfileArgs::PROFILE_STEPS,
    DatasetArgs::PROMPT_SUFFIX,
    RequestArgs::RETURN_ROUTED_EXPERTS,
    RequestArgs::TOKEN_IDS_LOGPROB,
    TraceArgs::USE_TRACE_TIMESTAMPS,
];

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
