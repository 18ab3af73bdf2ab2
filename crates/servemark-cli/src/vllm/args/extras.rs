//! Flags that vLLM's Rust client has and its Python client lacks.

use clap::{ArgAction, Args};
use servemark_report::VllmStyle;

use super::choice::datasets;
use super::output::OutputArgs;
use crate::argparse::Limit::{Needs, Unless, UnlessSince, Where};
use crate::argparse::{Effects, LIST, Limit, flags};
use crate::own::JudgingArgs;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(in crate::vllm) struct StyleArgs {
    /// The release of vLLM whose table and result are written: 0.33.0, 0.11.1, 0.11.0, 0.10.2 or 0.10.0
    #[arg(long, value_name = "VERSION", value_parser = parse_style)]
    pub(in crate::vllm) style: Option<VllmStyle>,
}

flags! { StyleArgs {
    STYLE = "--style" => [Where(
        |effects| shows_vllms_table(effects) || OutputArgs::names_files(effects),
        "where neither vLLM's table is printed nor its result is kept",
    )];
}}

fn parse_style(name: &str) -> Result<VllmStyle, String> {
    python::parse_known(name, &VllmStyle::NAMES, VllmStyle::from_name)
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "vLLM's Rust client")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(in crate::vllm) struct ExtrasArgs {
    /// Compare two results as servemark compare does, and send nothing
    #[arg(long, value_name = "FILE", num_args = 1.., action = ArgAction::Set, value_delimiter = LIST)]
    pub(in crate::vllm) compare: Option<Vec<String>>,
    /// Draw the data set, print its number of tokens, and send nothing
    #[arg(long)]
    pub(in crate::vllm) dry_run: bool,
    /// Leave out requests whose prompt and output together have more tokens than this
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    pub(in crate::vllm) max_model_len: Option<i64>,
    /// Send random prompts as token ids, with exactly the requested lengths; for completions and
    /// embeddings
    #[arg(long)]
    pub(in crate::vllm) prompt_token_ids: bool,
    /// Share of prompts that begin with a common prefix, which the server's prefix cache can hold;
    /// with --prompt-token-ids and --random-cache-ratio
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) random_cache_hit_fraction: f64,
    /// Share of such a prompt that is the common prefix
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) random_cache_ratio: f64,
    /// Cut prompts of speed_bench to this number of tokens
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    pub(in crate::vllm) speed_bench_max_input_len: Option<i64>,
    /// Compare the server's token counts with ours for this number of drawn prompts; if all are
    /// equal, the other prompts are not counted by the server. vLLM's Rust client compares 10
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::vllm) align_sample: i64,
    /// Number of runs; the report then shows how much the figures differ between them
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::vllm) num_runs: i64,
    /// Run once with each of these limits on requests in flight: 1,10,100
    #[arg(long, value_name = "LIST")]
    pub(in crate::vllm) sweep_max_concurrency: Option<String>,
    /// Number of requests per request in flight, at each of those limits
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::vllm) sweep_num_prompts_factor: Option<i64>,
    /// Run once with each of these rates: 1,10,inf
    #[arg(long, value_name = "LIST")]
    pub(in crate::vllm) sweep_request_rate: Option<String>,
    /// Percentiles in the table of a sweep, besides the 50th and the 90th
    #[arg(long, value_name = "LIST")]
    pub(in crate::vllm) sweep_summary_percentiles: Option<String>,
    /// Write the numbers of several runs to this file, as JSON
    #[arg(long, value_name = "PATH")]
    pub(in crate::vllm) summary_file: Option<String>,
    /// Empty the server's prefix cache before each run
    #[arg(long)]
    pub(in crate::vllm) reset_prefix_cache: bool,
    /// Also report the steady state: the part of the run in which at least this share of
    /// --max-concurrency was in flight; vLLM's Rust client uses 0.95
    #[arg(long, value_name = "SHARE", value_parser = python::float)]
    pub(in crate::vllm) steady_state_threshold: Option<f64>,
    /// Seconds that the steady state must last to be reported; by default a tenth of the run, and
    /// at least 10
    #[arg(long, value_name = "SECONDS", value_parser = python::float)]
    pub(in crate::vllm) steady_state_min_window: Option<f64>,
    /// Do not report the steady state
    #[arg(long)]
    pub(in crate::vllm) no_steady_state: bool,
    /// Send conversations whose later turns contain the server's earlier answers; with
    /// --dataset-name random or sharegpt and --backend openai-chat
    #[arg(long)]
    pub(in crate::vllm) multi_turn: bool,
    /// Number of turns of a random conversation
    #[arg(long, value_name = "N", default_value = "3", value_parser = python::int)]
    pub(in crate::vllm) multi_turn_num_turns: i64,
    /// Minimum number of turns of a random conversation; 0 uses --multi-turn-num-turns
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(in crate::vllm) multi_turn_min_turns: i64,
    /// Maximum number of turns of a conversation; 0 uses --multi-turn-num-turns, or all turns with
    /// sharegpt
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(in crate::vllm) multi_turn_max_turns: i64,
    /// Number of conversations in flight; by default --max-concurrency
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::vllm) multi_turn_concurrency: Option<i64>,
    /// Milliseconds between an answer and the next turn
    #[arg(long, value_name = "MS", default_value = "0", value_parser = python::int)]
    pub(in crate::vllm) multi_turn_delay_ms: i64,
    /// Share of each turn that is equal in all conversations; turns are then sent without the
    /// earlier ones
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) multi_turn_prefix_global_ratio: f64,
    /// Share of each turn that is equal within its conversation; turns are then sent without the
    /// earlier ones
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(in crate::vllm) multi_turn_prefix_conversation_ratio: f64,
    /// Length of a random conversation's later turns in tokens; 0 uses the length of the first turn
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(in crate::vllm) per_turn_input_len: i64,
}

flags! { ExtrasArgs {
    COMPARE = "--compare";
    DRY_RUN = "--dry-run";
    MAX_MODEL_LEN = "--max-model-len"
        => [UnlessSince(Self::MULTI_TURN, "whose prompts grow with their answers")];
    PROMPT_TOKEN_IDS = "--prompt-token-ids" => [RANDOM, Unless(Self::MULTI_TURN)];
    RANDOM_CACHE_HIT_FRACTION = "--random-cache-hit-fraction"
        => [RANDOM, Unless(Self::MULTI_TURN)];
    RANDOM_CACHE_RATIO = "--random-cache-ratio"
        => [RANDOM, Unless(Self::MULTI_TURN), Where(Self::is_warm, "without --random-cache-hit-fraction")];
    SPEED_BENCH_MAX_INPUT_LEN = "--speed-bench-max-input-len" => [datasets(&["speed_bench"])];
    ALIGN_SAMPLE = "--align-sample" => [
        datasets(&["random", "prefix_repetition"]),
        Unless(Self::PROMPT_TOKEN_IDS),
        Unless(Self::MULTI_TURN),
    ];
    NUM_RUNS = "--num-runs";
    SWEEP_MAX_CONCURRENCY = "--sweep-max-concurrency";
    SWEEP_NUM_PROMPTS_FACTOR = "--sweep-num-prompts-factor" => [Needs(Self::SWEEP_MAX_CONCURRENCY)];
    SWEEP_REQUEST_RATE = "--sweep-request-rate";
    SWEEP_SUMMARY_PERCENTILES = "--sweep-summary-percentiles" => [Where(
        is_swept,
        "without --sweep-max-concurrency or --sweep-request-rate",
    )];
    SUMMARY_FILE = "--summary-file" => [Where(
        |effects| is_swept(effects) || effects.is_requested(Self::NUM_RUNS),
        "for one run",
    )];
    RESET_PREFIX_CACHE = "--reset-prefix-cache";
    STEADY_STATE_THRESHOLD = "--steady-state-threshold" => [Unless(Self::NO_STEADY_STATE)];
    STEADY_STATE_MIN_WINDOW = "--steady-state-min-window" => [Unless(Self::NO_STEADY_STATE)];
    NO_STEADY_STATE = "--no-steady-state";
    MULTI_TURN = "--multi-turn";
    MULTI_TURN_NUM_TURNS = "--multi-turn-num-turns" => [Needs(Self::MULTI_TURN), RANDOM];
    MULTI_TURN_MIN_TURNS = "--multi-turn-min-turns" => [Needs(Self::MULTI_TURN), RANDOM];
    MULTI_TURN_MAX_TURNS = "--multi-turn-max-turns" => [Needs(Self::MULTI_TURN)];
    MULTI_TURN_CONCURRENCY = "--multi-turn-concurrency" => [Needs(Self::MULTI_TURN)];
    MULTI_TURN_DELAY_MS = "--multi-turn-delay-ms" => [Needs(Self::MULTI_TURN)];
    MULTI_TURN_PREFIX_GLOBAL_RATIO = "--multi-turn-prefix-global-ratio"
        => [Needs(Self::MULTI_TURN), RANDOM];
    MULTI_TURN_PREFIX_CONVERSATION_RATIO = "--multi-turn-prefix-conversation-ratio"
        => [Needs(Self::MULTI_TURN), RANDOM];
    PER_TURN_INPUT_LEN = "--per-turn-input-len" => [Needs(Self::MULTI_TURN), RANDOM];
}}

impl ExtrasArgs {
    /// Returns whether the flags ask for exactly one run.
    pub(in crate::vllm) fn asks_for_one_run(&self) -> bool {
        let is_swept = self.sweep_max_concurrency.is_some() || self.sweep_request_rate.is_some();
        self.compare.is_none() && !self.dry_run && self.num_runs == 1 && !is_swept
    }
}

impl ExtrasArgs {
    /// Returns whether some prompts are to begin alike.
    fn is_warm(effects: &Effects<'_>) -> bool {
        effects.is_requested(Self::RANDOM_CACHE_HIT_FRACTION)
    }
}

fn is_swept(effects: &Effects<'_>) -> bool {
    effects.is(ExtrasArgs::SWEEP_MAX_CONCURRENCY) || effects.is(ExtrasArgs::SWEEP_REQUEST_RATE)
}

fn shows_vllms_table(effects: &Effects<'_>) -> bool {
    let rendered = effects.value(JudgingArgs::LAYOUT);
    rendered.is_empty() || rendered.split(',').any(|name| name == "vllm")
}

const RANDOM: Limit = datasets(&["random"]);
