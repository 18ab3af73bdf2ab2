//! `vllm bench throughput`: how many requests and tokens there are a second when everything is sent
//! at once.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, Command, CommandFactory, Parser};
use serde_json::json;
use servemark_core::JsonObject;

use super::names::{THROUGHPUT, THROUGHPUT_SHARED, THROUGHPUT_UNSET};
use super::{Calls, Line, Offline, Told, engine, here, plan, sampling, unlogged, with_serve_flags};
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
    /// What is measured: vllm, which over HTTP means text completions; or vllm-chat, over HTTP
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
    /// Call the asynchronous engine; a server has no other
    #[arg(long)]
    async_engine: bool,
    /// Let the engine begin when everything is queued: not over HTTP
    #[arg(long)]
    prequeue_requests: bool,
    /// Make no texts of the outputs: not over HTTP
    #[arg(long)]
    disable_detokenize: bool,
    /// The adapter that the engine loads: not over HTTP
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
    let meant = line.args.meant(&line).map_err(refuse)?;
    let words = line.words(meant);
    let mut run = plan(PROGRAM, words.clone(), environment)?;
    let warm_up = line.args.warm_up(words, run.plan.workload.seed).map_err(refuse)?;
    let warm_up = warm_up.map(|words| plan(PROGRAM, words, environment)).transpose()?;
    run.warnings = [line.warnings.clone(), line.args.warnings(&line), run.warnings].concat();
    let offline = Offline {
        warm_up: warm_up.map(unlogged),
        run,
        told: Told::Throughput,
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
    /// vLLM's rules in its words, and then what cannot be done.
    fn check(&self, line: &Line<Self>) -> Result<(), CliError> {
        self.check_rules(line)?;
        if line.asks_server() { self.check_server() } else { self.check_engine() }
    }

    fn check_rules(&self, line: &Line<Self>) -> Result<(), CliError> {
        let is_vllms = ["vllm", "vllm-chat"].contains(&self.backend.as_str());
        let leftovers = &line.given.reading.leftovers;
        let rules = [
            (
                self.prequeue_requests && !is_vllms,
                "--prequeue-requests requires --backend vllm or vllm-chat",
            ),
            (
                self.prequeue_requests && self.async_engine,
                "--prequeue-requests is not supported with --async-engine",
            ),
            (
                self.backend == "hf" && self.hf_max_batch_size.is_none(),
                "HF max batch size is required for HF backend",
            ),
            (
                self.backend != "hf" && self.hf_max_batch_size.is_some(),
                "HF max batch size is only for HF backend.",
            ),
            (
                self.lora_path.is_none() && leftovers.iter().any(|arg| arg == "--enable-lora"),
                "LoRA path must be provided when enable_lora is True",
            ),
            (engine::value(leftovers, &REPLICAS).is_some_and(|n| n != "1"), ONE_REPLICA),
        ];
        let broken = rules.into_iter().find(|(is_broken, _)| *is_broken);
        broken.map_or(Ok(()), |(_, rule)| Err(CliError::Together(rule)))
    }

    /// What needs an engine of one's own.
    fn check_server(&self) -> Result<(), CliError> {
        let is_vllms = ["vllm", "vllm-chat"].contains(&self.backend.as_str());
        let within = [
            (!is_vllms, "--backend", NOT_THIS_BACKEND),
            (self.prequeue_requests, "--prequeue-requests", NOT_QUEUED),
            (self.disable_detokenize, "--disable-detokenize", NOT_WITHOUT_TEXT),
            (self.lora_path.is_some(), "--lora-path", NOT_LOADED),
        ];
        match within.into_iter().find(|(is_given, ..)| *is_given) {
            Some((_, flag, why)) => Err(CliError::setting(flag, why)),
            None => Ok(()),
        }
    }

    /// What is not built of engines.
    fn check_engine(&self) -> Result<(), CliError> {
        match self.backend.as_str() {
            "vllm" => {}
            "vllm-chat" => return Err(CliError::not_built("--backend vllm-chat without a server")),
            other => return Err(CliError::not_built(format!("--backend {other}"))),
        }
        if self.lora_path.is_some() {
            return Err(CliError::not_built("--lora-path"));
        }
        Ok(())
    }

    /// How the engine is called.
    fn calls(&self, line: &Line<Self>) -> Calls {
        let mut call = JsonObject::new();
        call.insert("detokenize".to_owned(), json!(!self.disable_detokenize));
        call.insert("prequeue".to_owned(), json!(self.prequeue_requests));
        Calls { argv: line.argv(), call, n: self.n, streams: self.async_engine }
    }

    /// What the command means beyond the flags that `bench serve` has as well.
    fn meant(&self, line: &Line<Self>) -> Result<Vec<String>, CliError> {
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
        words.extend(self.lengths(dataset, given)?);
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

    /// The same run for other prompts, and fewer.
    fn warm_up(&self, run: Vec<String>, seed: u32) -> Result<Option<Vec<String>>, CliError> {
        let requests: usize = at_least("--num-warmups", 0, self.num_warmups)?;
        let seed = u64::from(seed) + 1;
        let other = [format!("--seed={seed}"), format!("--num-prompts={requests}")];
        Ok((requests > 0).then(|| run.into_iter().chain(other).collect()))
    }

    fn warnings(&self, line: &Line<Self>) -> Vec<String> {
        let (given, asks_server) = (&line.given, line.asks_server());
        let says = [
            (self.dataset(given) != self.dataset_name && given.is("--dataset-name"), NO_PATH),
            (
                self.async_engine && asks_server,
                "--async-engine has no effect: a server's engine is one",
            ),
            (self.hf_enable_torch_compile, "--hf-enable-torch-compile has no effect here"),
            (given.is("--lora-assignment"), "--lora-assignment has no effect without --lora-path"),
        ];
        let said = says.into_iter().filter(|(is_so, _)| *is_so);
        said.map(|(_, warning)| warning.to_owned()).collect()
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

/// How many copies of a model there are.
const REPLICAS: [&str; 2] = ["--data-parallel-size", "-dp"];
const ONE_REPLICA: &str = "Data parallel is only supported with external launcher mode with \
                           synchronous engine in offline benchmark, please use benchmark serving \
                           instead";
const NO_PATH: &str = "When dataset path is not set, it will default to random dataset";
const NOT_THIS_BACKEND: &str = "says how the server is asked, and here that is vllm (text \
                                completions) or vllm-chat; the others run a model in vLLM's own \
                                process";
const NOT_QUEUED: &str = "needs an engine of one's own: a running server begins with the first \
                          request that it gets; leave it out";
const NOT_WITHOUT_TEXT: &str = "needs an engine of one's own: a server answers in text; leave it \
                                out";
const NOT_LOADED: &str = "names an adapter that the engine loads, and over HTTP the engine runs \
                          already: give it to vllm serve with --lora-modules, and measure it with \
                          vllm bench serve --lora-modules";
