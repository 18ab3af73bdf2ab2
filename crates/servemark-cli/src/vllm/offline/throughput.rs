//! `vllm bench throughput`: how many requests and tokens there are a second when everything is sent
//! at once.

mod rules;

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, Command, CommandFactory, Parser};
use serde_json::json;
use servemark_core::JsonObject;

use super::names::{THROUGHPUT, THROUGHPUT_SHARED, THROUGHPUT_UNSET};
use super::{
    Callee, Calls, Line, MODEL, Offline, OfflineMessages, engine, here, object, plan, sampling,
    unlogged, with_serve_flags,
};
use crate::argparse::Given;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::at_least;
use crate::own::WorkerArgs;
use crate::python;

/// Benchmark an engine, or a running server: how much it gets through when it has everything at once
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
    /// What is measured: vllm, which over HTTP means text completions; vllm-chat; or hf, a model of
    /// Transformers, not over HTTP
    #[arg(long, value_name = "NAME", default_value = "vllm",
          value_parser = PossibleValuesParser::new(["vllm", "hf", "mii", "vllm-chat"]))]
    backend: String,
    /// What is sent; what reads a file becomes random where there is no --dataset-path
    #[arg(long, value_name = "NAME", default_value = "sharegpt",
          value_parser = PossibleValuesParser::new(DATASETS))]
    dataset_name: String,
    /// Tokens of a prompt, where --random-input-len is not given
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    input_len: Option<i64>,
    /// Tokens of an output, where the data set has no flag for it, or it is not given
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    output_len: Option<i64>,
    /// Tokens with which every prompt begins, where --random-prefix-len is not given
    #[arg(long, value_name = "TOKENS", default_value = "0", value_parser = python::int)]
    prefix_len: i64,
    /// How many outputs a prompt has
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    n: i64,
    /// How many prompts are sent before the measurement, drawn with the next seed
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    num_warmups: i64,
    /// How many prompts --backend hf takes together
    #[arg(long, value_name = "N", value_parser = python::int)]
    hf_max_batch_size: Option<i64>,
    /// Let --backend hf compile its model
    #[arg(long)]
    hf_enable_torch_compile: bool,
    /// The file of the result
    #[arg(long, value_name = "PATH")]
    output_json: Option<String>,
    /// Call the asynchronous engine, with --backend vllm; a server has no other
    #[arg(long)]
    async_engine: bool,
    /// Let the engine begin when everything is queued: not over HTTP
    #[arg(long)]
    prequeue_requests: bool,
    /// Make no texts of the outputs: not over HTTP
    #[arg(long)]
    disable_detokenize: bool,
    /// The adapter that the engine loads, with --enable-lora: not over HTTP
    #[arg(long, value_name = "PATH")]
    lora_path: Option<String>,
    /// How a request's adapter is chosen
    #[arg(long, value_name = "HOW", default_value = "random",
          value_parser = PossibleValuesParser::new(["random", "round-robin"]))]
    lora_assignment: String,
    #[command(flatten)]
    worker: WorkerArgs,
}

/// Reads the command line of `vllm bench throughput`, without the program's name. `python` is the
/// interpreter that it named.
pub(crate) fn parse(
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Offline, UsageError> {
    let line = Line::<ThroughputArgs>::read(PROGRAM, &THROUGHPUT, command(), args, environment)?;
    let refuse = |error| UsageError::refused(PROGRAM, error);
    line.args.check(&line).map_err(refuse)?;
    let flags = line.args.serve_flags(&line).map_err(refuse)?;
    let words = line.words(flags);
    let mut run = plan(PROGRAM, words.clone(), environment)?;
    let warm_up = line.args.warm_up(words, run.plan.workload.seed).map_err(refuse)?;
    let warm_up = warm_up.map(|words| plan(PROGRAM, words, environment)).transpose()?;
    run.warnings = [line.warnings.clone(), line.args.warnings(&line), run.warnings].concat();
    let offline = Offline {
        warm_up: warm_up.map(unlogged),
        run,
        told: OfflineMessages::Throughput,
        output_json: line.args.output_json.as_ref().map(Into::into),
        stays: false,
    };
    if line.asks_server() {
        return Ok(offline);
    }
    here(offline, &line.args.worker, python, &line.args.calls(&line)).map_err(refuse)
}

/// The whole command.
pub(super) fn command() -> Command {
    let without_default = |arg: Arg| {
        let is_unset = arg.get_long().is_some_and(|name| THROUGHPUT_UNSET.contains(&name));
        if is_unset { arg.default_value(Resettable::Reset) } else { arg }
    };
    with_serve_flags(ThroughputArgs::command(), PROGRAM, &THROUGHPUT_SHARED)
        .mut_args(without_default)
}

impl ThroughputArgs {
    /// How the engine is called.
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

    /// What the worker is told of each call.
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

    /// What Transformers needs to know of the model.
    fn transformers(&self, line: &Line<Self>) -> JsonObject {
        let last = |flag: &str| line.given.values(flag).last().filter(|value| !value.is_empty());
        let model = last("--model").map_or(MODEL, String::as_str);
        let tokenizer = last("--tokenizer").map_or(model, String::as_str);
        let dtype = engine::value(&line.given.reading.leftovers, &["--dtype"]).unwrap_or("auto");
        object([
            ("model", json!(model)),
            ("tokenizer", json!(tokenizer)),
            ("dtype", json!(dtype)),
            ("trust_remote_code", json!(line.given.is("--trust-remote-code"))),
            ("torch_compile", json!(self.hf_enable_torch_compile)),
        ])
    }

    fn loads_adapters(&self, line: &Line<Self>) -> bool {
        let has_path = self.lora_path.as_ref().is_some_and(|path| !path.is_empty());
        has_path && engine::is_on(&line.given.reading.leftovers, rules::ENABLE_LORA)
    }

    /// The adapters among which requests are spread: all are one, under as many numbers as the
    /// engine holds at once.
    fn adapters(&self, line: &Line<Self>) -> Result<Vec<String>, CliError> {
        if !self.loads_adapters(line) {
            return Ok(Vec::new());
        }
        let most = engine::value(&line.given.reading.leftovers, &[MAX_LORAS]).unwrap_or("1");
        let most = python::int(most).map_err(|why| CliError::setting(MAX_LORAS, why))?;
        let most: u32 = at_least(MAX_LORAS, 1, most)?;
        let how = format!("--lora-assignment={}", self.lora_assignment);
        let names = (1..=most).map(|number| number.to_string());
        Ok([how, "--lora-modules".to_owned()].into_iter().chain(names).collect())
    }

    /// What the command means beyond the flags that `bench serve` has as well.
    fn serve_flags(&self, line: &Line<Self>) -> Result<Vec<String>, CliError> {
        let given = &line.given;
        let dataset = self.dataset(given);
        let backend = match self.backend.as_str() {
            "vllm-chat" => "openai-chat",
            _ if line.asks_server() => "openai",
            _ => "vllm",
        };
        at_least::<u32>("--n", 1, self.n)?;
        let mut words = vec![
            format!("--backend={backend}"),
            format!("--dataset-name={dataset}"),
            "--ignore-eos".to_owned(),
            format!("--extra-body={}", sampling(self.n)),
        ];
        // A tokenizer of Mistral's own is none of Transformers'.
        words.extend(
            (self.callee() == Callee::Transformers).then(|| "--tokenizer-mode=hf".to_owned()),
        );
        words.extend(self.lengths(dataset, given)?);
        words.extend(self.adapters(line)?);
        Ok(words)
    }

    /// Without a file there is only what is drawn, and that is `random`.
    fn dataset(&self, given: &Given) -> &str {
        let has_file = given.values("--dataset-path").last().is_some_and(|path| !path.is_empty());
        match self.dataset_name.as_str() {
            name if has_file || name == "prefix_repetition" => name,
            _ => "random",
        }
    }

    /// The short flags under the names that the data set has for them.
    fn lengths(&self, dataset: &str, given: &Given) -> Result<Vec<String>, CliError> {
        let open = |flag: &str| !given.is(flag);
        let prefix = (self.prefix_len != 0).then_some(self.prefix_len);
        let short: &[(&str, Option<i64>)] = match dataset {
            "random" | "random-mm" | "random-rerank" => &[
                ("--random-input-len", self.input_len),
                ("--random-output-len", self.output_len),
                ("--random-prefix-len", prefix),
            ],
            "sharegpt" => &[("--sharegpt-output-len", self.output_len)],
            "hf" => &[("--hf-output-len", self.output_len)],
            // Without it each row says how long its output is.
            "custom_audio" => &[("--custom-output-len", Some(-1))],
            "prefix_repetition" => return prefix_lengths(given),
            _ => &[],
        };
        let given = short.iter().filter(|(flag, _)| open(flag));
        Ok(given.filter_map(|(flag, value)| Some(format!("{flag}={}", (*value)?))).collect())
    }

    /// Returns the arguments of the warm-up: the run's, with other prompts and fewer of them.
    fn warm_up(&self, run: Vec<String>, seed: u32) -> Result<Option<Vec<String>>, CliError> {
        let requests: usize = at_least("--num-warmups", 0, self.num_warmups)?;
        let seed = u64::from(seed) + 1;
        let other = [format!("--seed={seed}"), format!("--num-prompts={requests}")];
        Ok((requests > 0).then(|| run.into_iter().chain(other).collect()))
    }
}

/// vLLM has no default for them, and ends in an error of arithmetic.
fn prefix_lengths(given: &Given) -> Result<Vec<String>, CliError> {
    match PREFIX.into_iter().find(|flag| !given.is(flag)) {
        Some(flag) => Err(CliError::setting(flag, "must be given for prefix_repetition")),
        None => Ok(Vec::new()),
    }
}

const PROGRAM: &str = "vllm bench throughput";

/// How many adapters the engine holds at once.
const MAX_LORAS: &str = "--max-loras";

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

const PREFIX: [&str; 4] = [
    "--prefix-repetition-prefix-len",
    "--prefix-repetition-suffix-len",
    "--prefix-repetition-num-prefixes",
    "--prefix-repetition-output-len",
];
