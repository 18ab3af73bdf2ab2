//! The flags of the offline benchmark: SGLang's, then Servemark's own.

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, Command, CommandFactory, Parser};
use servemark_engine::CandleSpec;

use crate::argparse::Limit::{Needs, Only, Redundant};
use crate::argparse::{Group, LIST, Limit, PeerFlags, flags};
use crate::own::{AskingArgs, JudgingArgs, RunArgs, StoppingArgs, WorkerArgs};
use crate::python;
use crate::results_folder::ResultsArgs;

/// Benchmark an engine without a server: SGLang's command line, and more
#[derive(Clone, Debug, Parser)]
#[command(
    name = "bench-offline",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(super) struct OfflineArgs {
    /// Form in which SGLang is run: engine, in one process with its client, or runtime, a server
    /// that is started and asked over HTTP
    #[arg(long, value_name = "NAME", default_value = "engine")]
    pub(super) backend: String,
    /// The file to which a line about the run is appended
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    pub(super) result_filename: String,
    /// Source of the prompts
    #[arg(long, value_name = "NAME", default_value = "sharegpt",
          value_parser = PossibleValuesParser::new(DATASETS))]
    pub(super) dataset_name: String,
    /// The file of the data set
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    pub(super) dataset_path: String,
    /// Number of prompts to send
    #[arg(long, value_name = "N", default_value = "1000", value_parser = python::int)]
    pub(super) num_prompts: i64,
    /// The output length of every request of sharegpt; by default the data's
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    pub(super) sharegpt_output_len: Option<i64>,
    /// Leave out requests of sharegpt that are longer, prompt and output together
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    pub(super) sharegpt_context_len: Option<i64>,
    /// The longest prompt of random
    #[arg(long, value_name = "TOKENS", default_value = "1024", value_parser = python::int)]
    pub(super) random_input_len: i64,
    /// The longest output of random
    #[arg(long, value_name = "TOKENS", default_value = "1024", value_parser = python::int)]
    pub(super) random_output_len: i64,
    /// The shortest length as a share of the longest, 0 to 1; 1 makes every length the same
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(super) random_range_ratio: f64,
    /// Number of system prompts of generated-shared-prefix
    #[arg(long, value_name = "N", default_value = "64", value_parser = python::int)]
    pub(super) gsp_num_groups: i64,
    /// Number of prompts for each system prompt; --num-prompts does not count here
    #[arg(long, value_name = "N", default_value = "16", value_parser = python::int)]
    pub(super) gsp_prompts_per_group: i64,
    /// The length of a system prompt of generated-shared-prefix
    #[arg(long, value_name = "TOKENS", default_value = "2048", value_parser = python::int)]
    pub(super) gsp_system_prompt_len: i64,
    /// The length of the question after a system prompt of generated-shared-prefix
    #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = python::int)]
    pub(super) gsp_question_len: i64,
    /// The length of the output of generated-shared-prefix
    #[arg(long, value_name = "TOKENS", default_value = "256", value_parser = python::int)]
    pub(super) gsp_output_len: i64,
    /// The seed of prompts and lengths
    #[arg(long, value_name = "N", default_value = "42", value_parser = python::int)]
    pub(super) seed: i64,
    /// Let the model stop before the length asked for
    #[arg(long)]
    pub(super) disable_ignore_eos: bool,
    /// A JSON object whose keys are added to every request's sampling parameters
    #[arg(long, value_name = "JSON")]
    pub(super) extra_request_body: Option<String>,
    /// Render each prompt of sharegpt with the tokenizer's chat template
    #[arg(long)]
    pub(super) apply_chat_template: bool,
    /// Run the engine's profiler during the measurement
    #[arg(long)]
    pub(super) profile: bool,
    /// Activities that the profiler records
    #[arg(long, value_name = "NAME", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, default_values = ["CPU", "GPU"],
          value_parser = PossibleValuesParser::new(ACTIVITIES))]
    pub(super) profile_activities: Vec<String>,
    /// After how many steps the profiler stops by itself
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(super) profile_steps: Option<i64>,
    /// Measure without a warm-up
    #[arg(long)]
    pub(super) skip_warmup: bool,
    /// Keep the program running when all is done and the engine has ended, until Ctrl-C
    #[arg(long)]
    pub(super) do_not_exit: bool,
    /// Text put at the end of each prompt of sharegpt
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(super) prompt_suffix: String,
    /// Ask for log-probabilities
    #[arg(long)]
    pub(super) return_logprob: bool,
    /// The position of the prompt from which on log-probabilities are asked for; -1 for the output
    /// only
    #[arg(long, value_name = "N", default_value = "-1", value_parser = python::int)]
    pub(super) logprob_start_len: i64,
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
    #[command(flatten)]
    pub(super) results: ResultsArgs,
}

flags! { OfflineArgs {
    BACKEND = "--backend";
    RESULT_FILENAME = "--result-filename";
    DATASET_NAME = "--dataset-name";
    DATASET_PATH = "--dataset-path";
    NUM_PROMPTS = "--num-prompts";
    SHAREGPT_OUTPUT_LEN = "--sharegpt-output-len" => [OF_SHAREGPT];
    SHAREGPT_CONTEXT_LEN = "--sharegpt-context-len" => [OF_SHAREGPT];
    RANDOM_INPUT_LEN = "--random-input-len" => [OF_RANDOM];
    RANDOM_OUTPUT_LEN = "--random-output-len" => [OF_RANDOM];
    RANDOM_RANGE_RATIO = "--random-range-ratio" => [OF_RANDOM];
    GSP_NUM_GROUPS = "--gsp-num-groups" => [OF_SHARED_PREFIX];
    GSP_PROMPTS_PER_GROUP = "--gsp-prompts-per-group" => [OF_SHARED_PREFIX];
    GSP_SYSTEM_PROMPT_LEN = "--gsp-system-prompt-len" => [OF_SHARED_PREFIX];
    GSP_QUESTION_LEN = "--gsp-question-len" => [OF_SHARED_PREFIX];
    GSP_OUTPUT_LEN = "--gsp-output-len" => [OF_SHARED_PREFIX];
    SEED = "--seed";
    DISABLE_IGNORE_EOS = "--disable-ignore-eos";
    EXTRA_REQUEST_BODY = "--extra-request-body";
    APPLY_CHAT_TEMPLATE = "--apply-chat-template" => [OF_SHAREGPT];
    PROFILE = "--profile" => [OF_WORKERS];
    PROFILE_ACTIVITIES = "--profile-activities" => [Needs(Self::PROFILE)];
    PROFILE_STEPS = "--profile-steps" => [Needs(Self::PROFILE)];
    SKIP_WARMUP = "--skip-warmup";
    DO_NOT_EXIT = "--do-not-exit";
    PROMPT_SUFFIX = "--prompt-suffix" => [OF_SHAREGPT];
    RETURN_LOGPROB = "--return-logprob" => [Only(TargetArgs::ENGINE, &["sglang"])];
    LOGPROB_START_LEN = "--logprob-start-len" => [Needs(Self::RETURN_LOGPROB)];
}}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: engine")]
pub(super) struct TargetArgs {
    /// Name of the engine: candle, which is in this program; sglang; vllm; or scripted, which
    /// computes nothing. By default candle, and sglang where --model-path, --python or
    /// --engine-args is given
    #[arg(long, value_name = "NAME", default_value = "sglang", hide_default_value = true,
          value_parser = PossibleValuesParser::new(ENGINES))]
    pub(super) engine: String,
    /// The model, passed on to the engine as it is (for candle a folder, or a name on the hub);
    /// --model means the same
    #[arg(long, value_name = "PATH")]
    pub(super) model_path: Option<String>,
    #[arg(long, value_name = "PATH", hide = true)]
    pub(super) model: Option<String>,
    /// The tokenizer, for the prompts and for the engine; by default the model's
    #[arg(long, value_name = "PATH")]
    pub(super) tokenizer_path: Option<String>,
    /// A JSON object of arguments for the engine's constructor, beside those of the command line
    #[arg(long, value_name = "JSON")]
    pub(super) engine_args: Option<String>,
    /// Hand requests over one by one, so that every token has its time
    #[arg(long)]
    pub(super) stream: bool,
    /// Requests per second, with --stream; by default all at once
    #[arg(long, value_name = "N", default_value = "inf", value_parser = python::float)]
    pub(super) request_rate: f64,
    /// Maximum number of requests in flight, with --stream
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(super) max_concurrency: Option<i64>,
    #[command(flatten)]
    pub(super) worker: WorkerArgs,
    /// Settings of the engine `candle`; `None` if another engine is selected.
    #[arg(skip)]
    pub(super) candle: Option<CandleSpec>,
}

flags! { TargetArgs {
    ENGINE = "--engine";
    MODEL_PATH = "--model-path";
    MODEL = "--model" => [Redundant(Self::MODEL_PATH, "which names the model")];
    TOKENIZER_PATH = "--tokenizer-path";
    ENGINE_ARGS = "--engine-args" => [OF_WORKERS];
    STREAM = "--stream";
    REQUEST_RATE = "--request-rate" => [Needs(Self::STREAM)];
    MAX_CONCURRENCY = "--max-concurrency" => [Needs(Self::STREAM)];
}}

impl OfflineArgs {
    /// All flags with the limits on their effects.
    pub(super) const GROUPS: &'static [Group] = &[
        Group::of(Self::FLAGS),
        Group::of(TargetArgs::FLAGS),
        Group::of(WorkerArgs::FLAGS).limited(&[OF_WORKERS], &[WorkerArgs::ENGINE_PATIENCE]),
        Group::of(RunArgs::FLAGS),
        Group::of(ResultsArgs::FLAGS),
        Group::of(JudgingArgs::FLAGS),
        Group::of(StoppingArgs::FLAGS),
        Group::of(AskingArgs::FLAGS),
    ];
}

/// Creates the command with all flags.
pub(super) fn command(program: &str) -> Command {
    let mut command = OfflineArgs::command().after_help(NOTES).bin_name(program);
    command.build();
    command
}

const DATASETS: [&str; 3] = ["sharegpt", "random", "generated-shared-prefix"];

const ACTIVITIES: [&str; 4] = ["CPU", "GPU", "CUDA_PROFILER", "XPU"];

const ENGINES: [&str; 4] = ["candle", "sglang", "vllm", "scripted"];

const NOTES: &str = "\
Examples:
  bench-offline                                  a small model on this CPU
  bench-offline --engine vllm --model-path org/model --num-prompts 200

A flag that is not listed here is an argument of the engine and is passed on to it unchanged \
(--load-format dummy --dtype float32 ...). SGLang's flags may be abbreviated as Python allows it; \
ours are written in full.

The engine candle computes models of Llama, Mistral, Qwen2 and Qwen3 on the CPU, from a folder or by \
their name on the hub; without --model-path it makes a small model with random weights. Of an \
engine's arguments it knows --load-format auto or dummy, --max-running-requests N (default 32), \
--chunked-prefill-size TOKENS, the prompt tokens of one step (default 2048), and --random-seed N (default 0). Flags \
that are not given have defaults for a short run: 128 random prompts of 64 to 128 tokens, 32 to 64 \
tokens of output, and servemark_candle.jsonl as the file of results where no folder of results is made.

Environment: SGLANG_TORCH_PROFILER_DIR, where --profile keeps its traces. The engine's process has \
the whole environment.

Exit codes: 0 done, 1 internal error, 2 usage, 3 a gate failed, 4 engine not loaded, 5 too many \
requests failed, 130 interrupted (129 by SIGHUP, 143 by SIGTERM).";

/// Limits a flag to the data set `sharegpt`.
const OF_SHAREGPT: Limit = Only(OfflineArgs::DATASET_NAME, &["sharegpt"]);
const OF_RANDOM: Limit = Only(OfflineArgs::DATASET_NAME, &["random"]);
const OF_SHARED_PREFIX: Limit = Only(OfflineArgs::DATASET_NAME, &["generated-shared-prefix"]);

/// Limits a flag to engines that run in a worker process.
const OF_WORKERS: Limit = Only(TargetArgs::ENGINE, &["sglang", "vllm"]);

/// The flags of SGLang 0.5.23's offline benchmark, without the engine's.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../../flags/sglang/offline_flags.txt"));
