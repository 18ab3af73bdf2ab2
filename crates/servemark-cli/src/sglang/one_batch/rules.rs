//! Refuses what SGLang's client refuses, in its words, and warns of flags that have no effect.

use std::path::Path;

use super::args::{OneBatchArgs, ServerArgs};
use crate::address::{doubled_slash, is_encrypted};
use crate::argparse::{Effects, ParsedCommandLine, split_value};
use crate::error::CliError;
use crate::python;

impl OneBatchArgs {
    /// Returns whether the prompts are recorded ones.
    pub(super) fn replays(&self) -> bool {
        ["sharegpt", "custom"].contains(&self.dataset_name.as_str())
    }

    pub(super) fn is_vllm(&self) -> bool {
        self.backend == "vllm"
    }

    pub(super) fn has_fixed_prompt(&self) -> bool {
        !self.fixed_prompt_file.is_empty()
    }

    fn is_random(&self) -> bool {
        self.dataset_name.starts_with("random") && !self.has_fixed_prompt()
    }

    /// Returns the lengths of the prompts of a batch; `None` if there is no list of them.
    pub(super) fn input_lengths(&self) -> Result<Option<Vec<u32>>, CliError> {
        let list = &self.input_len_list;
        if list.is_empty() {
            return Ok(None);
        }
        let length = |entry: &str| entry.trim().parse().ok().filter(|length| *length > 0);
        let lengths: Option<Vec<u32>> = list.split(',').map(length).collect();
        let why = || {
            let list = python::repr(list);
            format!("--input-len-list must be comma-separated positive integers, got {list}")
        };
        lengths.map(Some).ok_or_else(|| CliError::Peer(why()))
    }
}

pub(super) fn check(
    args: &OneBatchArgs,
    given: &ParsedCommandLine,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    // A value that no flag of the benchmark takes may belong to a flag of the server before it, but
    // not if it is the first unknown argument.
    if given.reading.leftovers.first().is_some_and(|word| !word.starts_with('-')) {
        return Err(given.reading.unrecognized(&given.reading.leftovers));
    }
    // This refuses misspelt flags of the benchmark. Flags of a started server, and abbreviations of
    // them, are not refused, because only that server knows them.
    let is_abbreviated = |word: &String| {
        given.reading.suggested.iter().any(|flag| flag.starts_with(split_value(word).0))
    };
    let is_misspelt = given.reading.leftovers.first().is_some_and(|word| !is_abbreviated(word));
    if !is_launched(args) && !given.reading.suggested.is_empty() && is_misspelt {
        return Err(given.reading.unrecognized(&given.reading.leftovers));
    }
    CliError::first_broken(rules_of_stops(args))?;
    args.input_lengths()?;
    CliError::first_broken(rules_of_prompts(args))?;
    check_custom(args)?;
    check_adapters(args)?;
    if args.dataset_name == "mmmu" && !args.has_fixed_prompt() {
        return Err(CliError::not_built("--dataset-name mmmu in a batch"));
    }
    if args.is_vllm() && args.base_url.is_empty() && args.simulator.spec(None).is_none() {
        return Err(CliError::Together("--backend vllm asks a server that runs: give --base-url"));
    }
    let effects = Effects::of(given)
        .with(OneBatchArgs::BACKEND, &args.backend)
        .encrypted(is_encrypted(&args.base_url));
    effects.check(OneBatchArgs::GROUPS, warnings)?;
    warnings.extend(doubled_slash(&args.base_url, "SGLang"));
    warn_of_launch(args, given, warnings);
    Ok(())
}

/// Returns SGLang's rules about prompts that may end early, each with whether it is broken.
fn rules_of_stops(args: &OneBatchArgs) -> [(bool, &'static str); 3] {
    let stops = args.disable_ignore_eos;
    [
        (stops && args.is_vllm(), STOPS_VLLM),
        (stops && args.fake_prefill, STOPS_FAKE),
        (stops && args.client_stream_interval != 1, STOPS_INTERVAL),
    ]
}

/// Returns SGLang's rules about where prompts come from, each with whether it is broken.
fn rules_of_prompts(args: &OneBatchArgs) -> [(bool, &'static str); 5] {
    let is_listed = !args.input_len_list.is_empty();
    let several_lengths = args.input_len.len() > 1;
    let takes_chats = args.has_fixed_prompt() || args.replays();
    [
        (is_listed && (!args.is_random() || several_lengths), LISTED),
        (args.replays() && args.is_vllm(), REPLAY_VLLM),
        (args.replays() && args.has_fixed_prompt(), REPLAY_FIXED),
        (args.replays() && several_lengths, REPLAY_LENGTHS),
        (args.apply_chat_template && !takes_chats, CHAT),
    ]
}

fn check_custom(args: &OneBatchArgs) -> Result<(), CliError> {
    let path = &args.dataset_path;
    if args.dataset_name != "custom" || Path::new(path).is_file() {
        return Ok(());
    }
    Err(CliError::Peer(format!(
        "--dataset-name custom requires --dataset-path pointing at a JSONL conversation file; got \
         {}.",
        python::repr(path)
    )))
}

fn check_adapters(args: &OneBatchArgs) -> Result<(), CliError> {
    let count = args.lora_name.as_ref().map_or(0, Vec::len);
    if args.lora_request_distribution != "uniform" && count < 2 {
        return Err(CliError::Together(ONE_ADAPTER));
    }
    if args.lora_zipf_alpha > 1.0 {
        return Ok(());
    }
    let alpha = args.lora_zipf_alpha;
    Err(CliError::Peer(format!("--lora-zipf-alpha must be > 1, got {alpha:?}")))
}

/// Returns whether a server is started.
fn is_launched(args: &OneBatchArgs) -> bool {
    args.base_url.is_empty() && args.simulator.spec(None).is_none()
}

/// Warns of arguments for a server that is started, if none is started.
fn warn_of_launch(args: &OneBatchArgs, given: &ParsedCommandLine, warnings: &mut Vec<String>) {
    if is_launched(args) {
        return;
    }
    let mut ignored: Vec<String> = [ServerArgs::HOST, ServerArgs::PORT, ServerArgs::PYTHON]
        .into_iter()
        .filter(|flag| given.is_requested(*flag))
        .map(|flag| flag.to_string())
        .collect();
    ignored.extend(given.reading.leftovers.iter().cloned());
    if !ignored.is_empty() {
        let words = ignored.join(" ");
        warnings.push(format!("no server is started, so these have no effect: {words}"));
    }
}

/// Returns the lines that SGLang's client prints first.
pub(super) fn notes(args: &OneBatchArgs) -> Vec<String> {
    let note = format!(
        "NOTE: replay prompts have recorded lengths; the token-capacity skip guard assumes \
         --input-len ({}) per prompt, so set it near the trace's mean length.",
        args.input_len.first().copied().unwrap_or_default()
    );
    args.replays().then_some(note).into_iter().collect()
}

const STOPS_VLLM: &str = "--disable-ignore-eos requires the sglang backend: vllm stream chunks \
                          carry no cumulative token counts, so early-stop-aware accounting is \
                          impossible.";
const STOPS_FAKE: &str = "--disable-ignore-eos is incompatible with --fake-prefill: decode \
                          conditions on uninitialized KV, so EOS timing is meaningless.";
const STOPS_INTERVAL: &str = "--disable-ignore-eos requires --client-stream-interval 1: the \
                              steady-state window needs per-token cumulative counts, and larger \
                              intervals quantize them by up to interval-1 tokens per request.";
const LISTED: &str = "--input-len-list sizes random/random-ids prompts and replaces --input-len: \
                      use one of those datasets, one --input-len value and no \
                      --fixed-prompt-file.";
const REPLAY_VLLM: &str = "Replay datasets require the sglang backend: vllm stream chunks carry \
                           no token counts, so the decode-window token accounting replay \
                           throughput relies on is impossible.";
const REPLAY_FIXED: &str = "--fixed-prompt-file bypasses --dataset-name; drop one of them.";
const REPLAY_LENGTHS: &str = "Replay datasets take prompt lengths from the recorded data; sweeping \
                              --input-len is meaningless. Pass at most one value (used only by \
                              the token-capacity skip guard).";
const CHAT: &str = "--apply-chat-template requires --fixed-prompt-file or a replay text dataset \
                    (sharegpt/custom): the other datasets generate token ids directly, so there \
                    is no prompt text to run through a chat template.";
const ONE_ADAPTER: &str = "--lora-request-distribution=distinct/skewed requires more than one \
                           adapter via --lora-name.";
