//! `vllm bench throughput`: measures requests and tokens per second if all requests are sent at
//! once.

mod rules;

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, Command, CommandFactory, Parser};
use serde_json::json;
use servemark_core::JsonObject;

use super::engine;
use super::here::with_engine;
use super::line::{
    Callee, Calls, Line, MODEL, Serving, asks_server, object, sampling, unlogged, with_serve_flags,
};
use crate::argparse::Limit::{Needs, Never, Only, Where};
use crate::argparse::{Flag, ParsedCommandLine, PeerFlags, flags};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::at_least;
use crate::offline::{Offline, OfflineMessages};
use crate::own::WorkerArgs;
use crate::python;
use crate::vllm::args::{CorporaArgs, DatasetArgs, RandomArgs, TargetArgs, VllmArgs};

/// Benchmark an engine or a running server: throughput if all requests are sent at once
#[derive(Clone, Debug, Parser)]
#[command(
    name = "vllm bench throughput",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(super) struct ThroughputArgs {
    /// Measured interface: vllm (vLLM's engine, or the text completions of a server), vllm-chat
    /// (its chat completions), or hf (a model of Transformers, without a server)
    #[arg(long, value_name = "NAME", default_value = "vllm",
          value_parser = PossibleValuesParser::new(["vllm", "hf", "mii", "vllm-chat"]))]
    backend: String,
    /// Data set of the prompts; without --dataset-path, data sets of a file are replaced by random
    #[arg(long, value_name = "NAME", default_value = "sharegpt",
          value_parser = PossibleValuesParser::new(DATASETS))]
    dataset_name: String,
    /// Length of a prompt in tokens, unless --random-input-len is given
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    input_len: Option<i64>,
    /// Length of an output in tokens, unless the data set's own flag is given
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    output_len: Option<i64>,
    /// Accepted for compatibility; vLLM always takes --random-prefix-len
    #[arg(long, value_name = "TOKENS", default_value = "0", value_parser = python::int)]
    prefix_len: i64,
    /// Number of outputs for each prompt
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    n: i64,
    /// Number of prompts that are sent before the measurement, drawn with the next seed
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    num_warmups: i64,
    /// Maximum batch size of --backend hf
    #[arg(long, value_name = "N", value_parser = python::int)]
    hf_max_batch_size: Option<i64>,
    /// Compile the model of --backend hf with torch.compile
    #[arg(long)]
    hf_enable_torch_compile: bool,
    /// Write the result to this file
    #[arg(long, value_name = "PATH")]
    output_json: Option<String>,
    /// Call the asynchronous engine, with --backend vllm; a server has no other
    #[arg(long)]
    async_engine: bool,
    /// Start the engine after all requests are queued; only for an engine, not for a server
    #[arg(long)]
    prequeue_requests: bool,
    /// Do not convert output tokens to text; only for an engine, not for a server
    #[arg(long)]
    disable_detokenize: bool,
    /// The adapter that the engine loads, with --enable-lora; only for an engine, not for a server
    #[arg(long, value_name = "PATH")]
    lora_path: Option<String>,
    /// Choice of a request's adapter: at random or in turn
    #[arg(long, value_name = "HOW", default_value = "random",
          value_parser = PossibleValuesParser::new(["random", "round-robin"]))]
    lora_assignment: String,
    #[command(flatten)]
    worker: WorkerArgs,
}

flags! { ThroughputArgs {
    BACKEND = "--backend";
    DATASET_NAME = "--dataset-name";
    INPUT_LEN = "--input-len";
    OUTPUT_LEN = "--output-len";
    PREFIX_LEN = "--prefix-len" => [Never(
        "as with vLLM, which takes the default of --random-prefix-len; give --random-prefix-len",
    )];
    N = "--n";
    NUM_WARMUPS = "--num-warmups";
    HF_MAX_BATCH_SIZE = "--hf-max-batch-size";
    HF_ENABLE_TORCH_COMPILE = "--hf-enable-torch-compile" => [Only(Self::BACKEND, &["hf"])];
    OUTPUT_JSON = "--output-json";
    ASYNC_ENGINE = "--async-engine" => [
        Only(Self::BACKEND, &["vllm"]),
        Where(|effects| !asks_server(effects), "on a server, whose engine is asynchronous"),
    ];
    PREQUEUE_REQUESTS = "--prequeue-requests";
    DISABLE_DETOKENIZE = "--disable-detokenize";
    LORA_PATH = "--lora-path";
    LORA_ASSIGNMENT = "--lora-assignment" => [Needs(Self::LORA_PATH)];
}}

/// Parses the command line of `vllm bench throughput`, without the program's name. `python` is the
/// interpreter that the command line began with, if it did.
pub(crate) fn parse(
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Offline, UsageError> {
    let command = (command(), ThroughputArgs::FLAGS);
    let line = Line::<ThroughputArgs>::read(PROGRAM, PEER, command, args, environment)?;
    let refuse = |error| UsageError::refused(PROGRAM, error);
    line.args.check(&line).map_err(refuse)?;
    let mut serving = line.serving(PROGRAM)?;
    line.args.fill(&line, &mut serving.args).map_err(refuse)?;
    let mut run = serving.parsed(environment).map_err(refuse)?;
    let warm_up = line.args.warm_up(&serving, run.plan.workload.seed).map_err(refuse)?;
    let warm_up = warm_up.map(|warm_up| warm_up.parsed(environment));
    let warm_up = warm_up.transpose().map_err(refuse)?;
    run.warnings = [line.warnings.clone(), line.args.warnings(&line), run.warnings].concat();
    let offline = Offline {
        warm_up: warm_up.map(unlogged),
        run,
        message: OfflineMessages::Throughput,
        output_json: line.args.output_json.as_ref().map(Into::into),
        stays: false,
    };
    if line.asks_server() {
        return Ok(offline);
    }
    with_engine(offline, &line.args.worker, python, &line.args.calls(&line)).map_err(refuse)
}

/// Returns the command with all flags.
pub(crate) fn command() -> Command {
    let without_default = |arg: Arg| {
        let is_unset = UNSET.iter().any(|flag| arg.get_long() == Some(flag.long()));
        if is_unset { arg.default_value(Resettable::Reset) } else { arg }
    };
    with_serve_flags(ThroughputArgs::command(), PROGRAM, PEER, &OF_ENGINE).mut_args(without_default)
}

impl ThroughputArgs {
    /// Returns how the engine is called.
    fn calls(&self, line: &Line<Self>) -> Calls {
        let callee = self.callee();
        let (argv, args) = match callee {
            Callee::Transformers => (Vec::new(), self.transformers(line)),
            Callee::Vllm | Callee::VllmChat => (line.argv(), JsonObject::new()),
        };
        let streams = self.async_engine && callee == Callee::Vllm;
        Calls { callee, argv, args, call: self.call(line), n: self.n, streams }
    }

    fn callee(&self) -> Callee {
        match self.backend.as_str() {
            "hf" => Callee::Transformers,
            "vllm-chat" => Callee::VllmChat,
            _ => Callee::Vllm,
        }
    }

    /// Returns the settings of each call that the worker process gets.
    fn call(&self, line: &Line<Self>) -> JsonObject {
        let mut call = object([("detokenize", json!(!self.disable_detokenize))]);
        match self.hf_max_batch_size {
            Some(most) => call.extend(object([("max_batch_size", json!(most))])),
            None => call.extend(object([("prequeue", json!(self.prequeue_requests))])),
        }
        if self.loads_adapters(line) {
            call.extend(object([("lora_path", json!(self.lora_path))]));
        }
        call
    }

    /// Returns the settings of the model for Transformers.
    fn transformers(&self, line: &Line<Self>) -> JsonObject {
        let last = |flag: Flag| Some(line.given.value(flag)).filter(|value| !value.is_empty());
        let model = last(TargetArgs::MODEL).unwrap_or(MODEL);
        let tokenizer = last(TargetArgs::TOKENIZER).unwrap_or(model);
        let dtype = engine::value(&line.given.reading.leftovers, &[rules::DTYPE]).unwrap_or("auto");
        object([
            ("model", json!(model)),
            ("tokenizer", json!(tokenizer)),
            ("dtype", json!(dtype)),
            ("trust_remote_code", json!(line.given.is(TargetArgs::TRUST_REMOTE_CODE))),
            ("torch_compile", json!(self.hf_enable_torch_compile)),
        ])
    }

    fn loads_adapters(&self, line: &Line<Self>) -> bool {
        let has_path = self.lora_path.as_ref().is_some_and(|path| !path.is_empty());
        has_path && engine::is_on(&line.given.reading.leftovers, rules::ENABLE_LORA)
    }

    /// Distributes requests among adapters: copies of one adapter, with as many numbers as the
    /// engine can hold at once.
    fn spread(&self, line: &Line<Self>, serving: &mut VllmArgs) -> Result<(), CliError> {
        if !self.loads_adapters(line) {
            return Ok(());
        }
        let most = engine::value(&line.given.reading.leftovers, &[MAX_LORAS.name()]);
        let most = python::int(most.unwrap_or("1"));
        let most: u32 =
            at_least(MAX_LORAS, 1, most.map_err(|why| CliError::setting(MAX_LORAS, why))?)?;
        serving.load.lora_assignment.clone_from(&self.lora_assignment);
        serving.load.lora_modules = Some((1..=most).map(|number| number.to_string()).collect());
        Ok(())
    }

    /// Sets the arguments of a serving benchmark with the same prompts.
    fn fill(&self, line: &Line<Self>, serving: &mut VllmArgs) -> Result<(), CliError> {
        let given = &line.given;
        let dataset = self.dataset(given);
        let backend = match self.backend.as_str() {
            "vllm-chat" => "openai-chat",
            _ if line.asks_server() => "openai",
            _ => "vllm",
        };
        at_least::<u32>(Self::N, 1, self.n)?;
        backend.clone_into(&mut serving.target.backend);
        dataset.clone_into(&mut serving.dataset.dataset_name);
        serving.request.ignore_eos = true;
        serving.request.extra_body = Some(sampling(self.n));
        // Mistral's own tokenizer is not one of Transformers', so the mode auto must not select it.
        if self.callee() == Callee::Transformers {
            "hf".clone_into(&mut serving.target.tokenizer_mode);
        }
        self.set_lengths(dataset, given, serving)?;
        self.spread(line, serving)
    }

    /// Returns the data set: without a file it is `random`, unless it is `prefix_repetition`.
    fn dataset(&self, given: &ParsedCommandLine) -> &str {
        let has_file = !given.value(DatasetArgs::DATASET_PATH).is_empty();
        match self.dataset_name.as_str() {
            name if has_file || name == "prefix_repetition" => name,
            _ => "random",
        }
    }

    /// Sets the lengths of the short flags, if the flags of the data set are not given.
    fn set_lengths(
        &self,
        dataset: &str,
        given: &ParsedCommandLine,
        serving: &mut VllmArgs,
    ) -> Result<(), CliError> {
        let open = |flag: Flag| !given.is(flag);
        match dataset {
            "random" | "random-mm" | "random-rerank" => {
                let random = &mut serving.random;
                if let Some(input) = self.input_len.filter(|_| open(RandomArgs::RANDOM_INPUT_LEN)) {
                    random.random_input_len = input;
                }
                if let Some(output) =
                    self.output_len.filter(|_| open(RandomArgs::RANDOM_OUTPUT_LEN))
                {
                    random.random_output_len = output;
                }
            }
            "sharegpt" => serving.corpora.sharegpt_output_len = self.output_len,
            "hf" => serving.corpora.hf_output_len = self.output_len,
            // Without the flag, each row gives the length of its output.
            "custom_audio" if open(CorporaArgs::CUSTOM_OUTPUT_LEN) => {
                serving.corpora.custom_output_len = -1;
            }
            "prefix_repetition" => return check_prefix_lengths(given),
            _ => {}
        }
        Ok(())
    }

    /// Returns the arguments of the warm-up: those of the run, with other prompts and fewer of
    /// them.
    fn warm_up(&self, run: &Serving, seed: u32) -> Result<Option<Serving>, CliError> {
        // A negative number counts as zero, as in vLLM.
        let requests: usize = at_least(Self::NUM_WARMUPS, 0, self.num_warmups.max(0))?;
        let mut warm_up = run.clone();
        warm_up.args.dataset.seed = i64::from(seed) + 1;
        warm_up.args.dataset.num_prompts = self.num_warmups;
        Ok((requests > 0).then_some(warm_up))
    }
}

/// Refuses missing prefix lengths. vLLM has no default for them and fails with an arithmetic error.
fn check_prefix_lengths(given: &ParsedCommandLine) -> Result<(), CliError> {
    match PREFIX.into_iter().find(|flag| !given.is(*flag)) {
        Some(flag) => Err(CliError::setting(flag, "must be given for prefix_repetition")),
        None => Ok(()),
    }
}

const PROGRAM: &str = "vllm bench throughput";

/// Flag of the number of adapters that the engine can hold at once.
const MAX_LORAS: Flag = Flag::new("--max-loras");

const DATASETS: [&str; 8] = [
    "sharegpt",
    "random",
    "burstgpt",
    "hf",
    "prefix_repetition",
    "random-mm",
    "random-rerank",
    "custom_audio",
];

const PREFIX: [Flag; 4] = [
    RandomArgs::PREFIX_REPETITION_PREFIX_LEN,
    RandomArgs::PREFIX_REPETITION_SUFFIX_LEN,
    RandomArgs::PREFIX_REPETITION_NUM_PREFIXES,
    RandomArgs::PREFIX_REPETITION_OUTPUT_LEN,
];

/// Flags with a default in `bench serve` and without one here.
const UNSET: [Flag; 5] = [
    CorporaArgs::CUSTOM_OUTPUT_LEN,
    RandomArgs::PREFIX_REPETITION_PREFIX_LEN,
    RandomArgs::PREFIX_REPETITION_SUFFIX_LEN,
    RandomArgs::PREFIX_REPETITION_NUM_PREFIXES,
    RandomArgs::PREFIX_REPETITION_OUTPUT_LEN,
];

/// Flags of the engine about the model and its prompts that the serving benchmark has, too.
const OF_ENGINE: [Flag; 6] = [
    TargetArgs::MODEL,
    DatasetArgs::SEED,
    TargetArgs::SERVED_MODEL_NAME,
    TargetArgs::TOKENIZER,
    TargetArgs::TOKENIZER_MODE,
    TargetArgs::TRUST_REMOTE_CODE,
];

/// Recorded flags of vLLM 0.33.0's `bench throughput`, without the engine's.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../../flags/vllm/throughput_flags.txt"));
