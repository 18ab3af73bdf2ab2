//! The flags of the one-batch benchmark: SGLang's, those of its server that the benchmark uses,
//! then Servemark's own.

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, Command, CommandFactory, Parser};
use servemark_datasets::BadLine;

use crate::argparse::Limit::{Except, Needs, Never, Only, Unless, Where};
use crate::argparse::{Group, LIST, Limit, PeerFlags, flags};
use crate::own::{
    AskingArgs, ConnectionArgs, JudgingArgs, NOT_SIMULATED, ProtocolArgs, ReuseArgs, RunArgs,
    SimulatorArgs, StoppingArgs, TrustArgs,
};
use crate::python;
use crate::sglang::args::parse_bad_line;

/// Benchmark batches that are sent as one request each: SGLang's command line, and more
#[derive(Clone, Debug, Parser)]
#[command(
    name = "one-batch-server",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(super) struct OneBatchArgs {
    /// A name of your choice that every result repeats
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) run_name: String,
    /// Number of prompts in a batch; several numbers make several batches
    #[arg(long, value_name = "N", num_args = 1.., action = ArgAction::Set, value_delimiter = LIST,
          default_values = ["1"], value_parser = python::int)]
    pub(super) batch_size: Vec<i64>,
    /// The length of a prompt; several numbers make several batches
    #[arg(long, value_name = "TOKENS", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, default_values = ["1024"], value_parser = python::int)]
    pub(super) input_len: Vec<i64>,
    /// The length of an output; several numbers make several batches
    #[arg(long, value_name = "TOKENS", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, default_values = ["16"], value_parser = python::int)]
    pub(super) output_len: Vec<i64>,
    /// The sampling temperature
    #[arg(long, value_name = "T", default_value = "0.0", value_parser = python::float)]
    pub(super) temperature: f64,
    /// Let answers stop before the length asked for, as they do with real prompts
    #[arg(long)]
    pub(super) disable_ignore_eos: bool,
    /// Ask for log-probabilities
    #[arg(long)]
    pub(super) return_logprob: bool,
    /// Number of tokens that the server puts into one event
    #[arg(long, value_name = "TOKENS", default_value = "1", value_parser = python::int)]
    pub(super) client_stream_interval: i64,
    /// Accepted for compatibility; SGLang's client does not use it either
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(super) input_len_step_percentage: f64,
    /// The lengths of the prompts, with commas, starting over after the last; for random and
    /// random-ids
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    pub(super) input_len_list: String,
    /// The server's address; without one a server is started
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub(super) base_url: String,
    /// The tokenizer; by default the one that the server names
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    pub(super) local_tokenizer_path: String,
    /// Measure without a warm-up
    #[arg(long)]
    pub(super) skip_warmup: bool,
    /// Send batches that the server says it cannot hold
    #[arg(long)]
    pub(super) skip_token_capacity_check: bool,
    /// Print a table of all batches in Markdown
    #[arg(long)]
    pub(super) show_report: bool,
    /// Send every batch once more with the server's profiler on
    #[arg(long)]
    pub(super) profile: bool,
    /// Activities that the profiler records
    #[arg(long, value_name = "NAME", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, default_values = ["CPU", "GPU"],
          value_parser = PossibleValuesParser::new(["CPU", "GPU", "XPU"]))]
    pub(super) profile_activities: Vec<String>,
    /// After how many steps the profiler starts
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(super) profile_start_step: Option<i64>,
    /// After how many steps the profiler stops
    #[arg(long, value_name = "N", default_value = "5", value_parser = python::int)]
    pub(super) profile_steps: i64,
    /// Profile prefill and decoding apart
    #[arg(long)]
    pub(super) profile_by_stage: bool,
    /// Beginning of the names of the profiler's traces
    #[arg(long, value_name = "TEXT")]
    pub(super) profile_prefix: Option<String>,
    /// The folder of the profiler's traces; by default SGLANG_TORCH_PROFILER_DIR, else /tmp
    #[arg(long, value_name = "PATH")]
    pub(super) profile_output_dir: Option<String>,
    /// The file of the data set
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    pub(super) dataset_path: String,
    /// Source of the prompts
    #[arg(long, value_name = "NAME", default_value = "random",
          value_parser = PossibleValuesParser::new(DATASETS))]
    pub(super) dataset_name: String,
    /// A file whose text is used as every prompt
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    pub(super) fixed_prompt_file: String,
    /// Render each prompt with the tokenizer's chat template; for sharegpt, custom and
    /// --fixed-prompt-file
    #[arg(long)]
    pub(super) apply_chat_template: bool,
    /// Number of system prompts of generated-shared-prefix
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(super) gsp_num_groups: i64,
    /// The length of a system prompt of generated-shared-prefix
    #[arg(long, value_name = "TOKENS", default_value = "2048", value_parser = python::int)]
    pub(super) gsp_system_prompt_len: i64,
    /// The length of the question after a system prompt of generated-shared-prefix
    #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = python::int)]
    pub(super) gsp_question_len: i64,
    /// The length of the output of generated-shared-prefix, whatever --output-len says
    #[arg(long, value_name = "TOKENS", default_value = "256", value_parser = python::int)]
    pub(super) gsp_output_len: i64,
    /// Ask the server to process the prompts of a batch in parallel
    #[arg(long)]
    pub(super) parallel_batch: bool,
    /// The file to which a line about every batch is appended
    #[arg(long, value_name = "PATH", default_value = "result.jsonl")]
    pub(super) result_filename: String,
    /// The file of a JSON list of all batches
    #[arg(long, value_name = "PATH")]
    pub(super) pydantic_result_filename: Option<String>,
    /// Do not append the table to the summary of a GitHub job
    #[arg(long)]
    pub(super) no_append_to_github_summary: bool,
    /// The seed of prompts
    #[arg(long, value_name = "N", default_value = "42", value_parser = python::int)]
    pub(super) seed: i64,
    /// The share of every prompt that is put into the server's cache first, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.0", value_parser = python::float)]
    pub(super) cache_hit_rate: f64,
    /// Engine that the server runs
    #[arg(long, value_name = "NAME", default_value = "sglang",
          value_parser = PossibleValuesParser::new(["sglang", "vllm"]))]
    pub(super) backend: String,
    /// Mark prompts as prefilled elsewhere, to measure a server that only decodes
    #[arg(long)]
    pub(super) fake_prefill: bool,
    /// Before every batch, also empty the storage behind the server's cache
    #[arg(long)]
    pub(super) flush_hicache_storage: bool,
    /// Texts about the server that the JSON list repeats
    #[arg(long, value_name = "TEXT", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(super) server_args_for_metrics: Option<Vec<String>>,
    /// The adapters (LoRA) that the prompts ask for
    #[arg(long, value_name = "NAME", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(super) lora_name: Option<Vec<String>>,
    /// Choice of a prompt's adapter
    #[arg(long, value_name = "HOW", default_value = "uniform",
          value_parser = PossibleValuesParser::new(["uniform", "distinct", "skewed"]))]
    pub(super) lora_request_distribution: String,
    /// Ratio of the requests for an adapter to those for the next one, with
    /// --lora-request-distribution skewed
    #[arg(long, value_name = "TIMES", default_value = "1.1", value_parser = python::float)]
    pub(super) lora_zipf_alpha: f64,
    /// Send batches of more prompts than the server works on at once
    #[arg(long)]
    pub(super) enable_multi_batch: bool,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) simulator: SimulatorArgs,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

flags! { OneBatchArgs {
    RUN_NAME = "--run-name";
    BATCH_SIZE = "--batch-size";
    INPUT_LEN = "--input-len";
    OUTPUT_LEN = "--output-len";
    TEMPERATURE = "--temperature";
    DISABLE_IGNORE_EOS = "--disable-ignore-eos";
    RETURN_LOGPROB = "--return-logprob";
    CLIENT_STREAM_INTERVAL = "--client-stream-interval" => [SGLANG];
    INPUT_LEN_STEP_PERCENTAGE = "--input-len-step-percentage"
        => [Never("with SGLang's client either")];
    INPUT_LEN_LIST = "--input-len-list";
    BASE_URL = "--base-url" => [NOT_SIMULATED];
    LOCAL_TOKENIZER_PATH = "--local-tokenizer-path" => [SGLANG];
    SKIP_WARMUP = "--skip-warmup";
    SKIP_TOKEN_CAPACITY_CHECK = "--skip-token-capacity-check";
    SHOW_REPORT = "--show-report";
    PROFILE = "--profile";
    PROFILE_ACTIVITIES = "--profile-activities" => [Needs(Self::PROFILE)];
    PROFILE_START_STEP = "--profile-start-step" => [Needs(Self::PROFILE)];
    PROFILE_STEPS = "--profile-steps" => [Needs(Self::PROFILE)];
    PROFILE_BY_STAGE = "--profile-by-stage" => [Needs(Self::PROFILE)];
    PROFILE_PREFIX = "--profile-prefix" => [Needs(Self::PROFILE)];
    PROFILE_OUTPUT_DIR = "--profile-output-dir" => [Needs(Self::PROFILE)];
    DATASET_PATH = "--dataset-path" => [Except(
        Self::DATASET_NAME,
        &["generated-shared-prefix", "random-ids"],
        "whose prompts are drawn",
    )];
    DATASET_NAME = "--dataset-name";
    FIXED_PROMPT_FILE = "--fixed-prompt-file";
    APPLY_CHAT_TEMPLATE = "--apply-chat-template";
    GSP_NUM_GROUPS = "--gsp-num-groups" => [SHARED_PREFIX];
    GSP_SYSTEM_PROMPT_LEN = "--gsp-system-prompt-len" => [SHARED_PREFIX];
    GSP_QUESTION_LEN = "--gsp-question-len" => [SHARED_PREFIX];
    GSP_OUTPUT_LEN = "--gsp-output-len" => [SHARED_PREFIX];
    PARALLEL_BATCH = "--parallel-batch" => [SGLANG];
    RESULT_FILENAME = "--result-filename";
    PYDANTIC_RESULT_FILENAME = "--pydantic-result-filename";
    NO_APPEND_TO_GITHUB_SUMMARY = "--no-append-to-github-summary" => [Needs(Self::SHOW_REPORT)];
    SEED = "--seed";
    CACHE_HIT_RATE = "--cache-hit-rate";
    BACKEND = "--backend";
    FAKE_PREFILL = "--fake-prefill" => [SGLANG];
    FLUSH_HICACHE_STORAGE = "--flush-hicache-storage" => [SGLANG];
    SERVER_ARGS_FOR_METRICS = "--server-args-for-metrics";
    LORA_NAME = "--lora-name" => [SGLANG];
    LORA_REQUEST_DISTRIBUTION = "--lora-request-distribution";
    LORA_ZIPF_ALPHA = "--lora-zipf-alpha"
        => [Only(Self::LORA_REQUEST_DISTRIBUTION, &["skewed"])];
    ENABLE_MULTI_BATCH = "--enable-multi-batch";
}}

/// Flags of SGLang's server that the benchmark uses, and Servemark's own flags about the server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArgs {
    /// The model of a server that is started; --model means the same
    #[arg(long, value_name = "PATH")]
    pub(super) model_path: Option<String>,
    #[arg(long, value_name = "PATH", hide = true)]
    pub(super) model: Option<String>,
    /// The host on which a server that is started listens
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(super) host: String,
    /// The port on which a server that is started listens
    #[arg(long, value_name = "PORT", default_value = "30000", value_parser = python::int)]
    pub(super) port: i64,
    /// Number of GPUs that share a model, from which the costs in the table follow; also as
    /// --tensor-parallel-size and --tp
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(super) tp_size: i64,
    #[arg(long, value_name = "N", hide = true, value_parser = python::int)]
    pub(super) tensor_parallel_size: Option<i64>,
    #[arg(long, value_name = "N", hide = true, value_parser = python::int)]
    pub(super) tp: Option<i64>,
    /// The Python that can import SGLang, to start a server
    #[arg(long, value_name = "PATH")]
    pub(super) python: Option<String>,
    /// Handling of a line of a data file that is not JSON: fail, or skip it and warn; by default
    /// skip for custom, as SGLang does, and fail for longbench_v2
    #[arg(long, value_name = "WHAT", value_parser = parse_bad_line)]
    pub(super) bad_lines: Option<BadLine>,
    /// Price of a GPU per hour in dollars; SGLang takes 2, and 4 for a Blackwell
    #[arg(long, value_name = "DOLLARS", default_value = "2", value_parser = python::float)]
    pub(super) gpu_hourly_cost: f64,
}

flags! { ServerArgs {
    MODEL_PATH = "--model-path";
    MODEL = "--model" => [Unless(Self::MODEL_PATH)];
    HOST = "--host";
    PORT = "--port";
    TP_SIZE = "--tp-size" => [PARALLEL];
    TENSOR_PARALLEL_SIZE = "--tensor-parallel-size" => [PARALLEL];
    TP = "--tp" => [PARALLEL];
    PYTHON = "--python";
    BAD_LINES = "--bad-lines";
    GPU_HOURLY_COST = "--gpu-hourly-cost" => [Needs(OneBatchArgs::SHOW_REPORT)];
}}

/// Limit of flags about the data set of shared prefixes.
const SHARED_PREFIX: Limit = Only(OneBatchArgs::DATASET_NAME, &["generated-shared-prefix"]);

/// Limit of flags about the number of GPUs: a started server and the costs of the table use it.
const PARALLEL: Limit = Where(
    |effects| {
        let is_named = effects.is(OneBatchArgs::BASE_URL) || effects.is(SimulatorArgs::SIMULATE);
        effects.is(OneBatchArgs::SHOW_REPORT) || !is_named
    },
    "without --show-report where no server is started",
);

impl OneBatchArgs {
    /// All flags with the limits on their effects.
    pub(super) const GROUPS: &'static [Group] = &[
        Group::of(Self::FLAGS),
        Group::of(ServerArgs::FLAGS),
        Group::of(SimulatorArgs::FLAGS),
        Group::of(ConnectionArgs::FLAGS),
        Group::of(ProtocolArgs::FLAGS),
        Group::of(ReuseArgs::FLAGS),
        Group::of(TrustArgs::FLAGS),
        Group::of(RunArgs::FLAGS),
        Group::of(JudgingArgs::FLAGS),
        Group::of(StoppingArgs::FLAGS),
        Group::of(AskingArgs::FLAGS),
    ];
}

/// Creates the command with all flags.
pub(super) fn command(program: &str) -> Command {
    let mut command = OneBatchArgs::command().after_help(NOTES).bin_name(program);
    command.build();
    command
}

const DATASETS: [&str; 7] = [
    "mmmu",
    "random",
    "random-ids",
    "generated-shared-prefix",
    "sharegpt",
    "custom",
    "longbench_v2",
];

const NOTES: &str = "\
Example:
  python -m sglang.bench_one_batch_server --model-path None \\
    --base-url http://gpu-box:30000 --batch-size 1 16 --input-len 1024

Without --base-url a server is started by python -m sglang.launch_server, with --model-path, --host, \
--port and all flags that are not listed here, and ended after the benchmark; a server that listens there \
already is measured instead. SGLang's flags may be abbreviated as Python allows it; ours and its server's \
are written in full.

Environment: SGLANG_IS_IN_CI and GITHUB_STEP_SUMMARY, the file to which the report is appended in a \
job of GitHub Actions.

Exit codes: 0 done, 1 internal error, 2 usage, 3 a gate failed, 4 server not ready, 5 a batch failed, \
130 interrupted (129 by SIGHUP, 143 by SIGTERM).";

const SGLANG: Limit = Only(OneBatchArgs::BACKEND, &["sglang"]);

/// The flags of SGLang 0.5.23's one-batch benchmark, without the server's.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../../flags/sglang/one_batch_flags.txt"));
