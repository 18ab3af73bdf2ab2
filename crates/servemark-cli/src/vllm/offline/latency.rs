//! `vllm bench latency`: measures the latency of batches that are sent one after the other.

use std::ffi::OsString;
use std::num::{NonZero, NonZeroUsize};

use clap::{Command, CommandFactory, Parser};
use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_datasets::{DatasetSpec, VllmBatchSpec, VllmData, VllmSpec};
use servemark_runner::WarmupSpec;

use super::here::with_engine;
use super::line::{Callee, Calls, Line, Serving, sampling, unlogged, with_serve_flags};
use crate::argparse::{PeerFlags, flags};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::at_least;
use crate::offline::{Offline, OfflineMessages};
use crate::own::WorkerArgs;
use crate::parsed::Parsed;
use crate::python;
use crate::vllm::args::TargetArgs;

/// Benchmark an engine or a running server: the latency of a batch
#[derive(Clone, Debug, Parser)]
#[command(
    name = "vllm bench latency",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
pub(super) struct LatencyArgs {
    /// Length of a prompt in tokens
    #[arg(long, value_name = "TOKENS", default_value = "32", value_parser = python::int)]
    input_len: i64,
    /// Length of an output in tokens
    #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = python::int)]
    output_len: i64,
    /// Number of prompts in a batch
    #[arg(long, value_name = "N", default_value = "8", value_parser = python::int)]
    batch_size: i64,
    /// Number of outputs for each prompt
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    n: i64,
    /// Use beam search with --n beams
    #[arg(long)]
    use_beam_search: bool,
    /// Number of batches that are sent before the measurement
    #[arg(long, value_name = "N", default_value = "10", value_parser = python::int)]
    num_iters_warmup: i64,
    /// Number of measured batches
    #[arg(long, value_name = "N", default_value = "30", value_parser = python::int)]
    num_iters: i64,
    /// Run the profiler on one more batch, and report no times
    #[arg(long)]
    profile: bool,
    /// Write the result to this file
    #[arg(long, value_name = "PATH")]
    output_json: Option<String>,
    /// Do not convert output tokens to text; only for an engine, not for a server
    #[arg(long)]
    disable_detokenize: bool,
    #[command(flatten)]
    worker: WorkerArgs,
}

flags! { LatencyArgs {
    INPUT_LEN = "--input-len";
    OUTPUT_LEN = "--output-len";
    BATCH_SIZE = "--batch-size";
    N = "--n";
    USE_BEAM_SEARCH = "--use-beam-search";
    NUM_ITERS_WARMUP = "--num-iters-warmup";
    NUM_ITERS = "--num-iters";
    PROFILE = "--profile";
    OUTPUT_JSON = "--output-json";
    DISABLE_DETOKENIZE = "--disable-detokenize";
}}

/// Parses the command line of `vllm bench latency`, without the program's name. `python` is the
/// interpreter that the command line began with, if it did.
pub(crate) fn parse(
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Offline, UsageError> {
    let command = (command(), LatencyArgs::FLAGS);
    let line = Line::<LatencyArgs>::read(PROGRAM, PEER, command, args, environment)?;
    let refuse = |error| UsageError::refused(PROGRAM, error);
    let batches = line.args.batches(line.asks_server()).map_err(refuse)?;
    let mut serving = line.serving(PROGRAM)?;
    line.args.fill(&mut serving);
    let mut run = serving.parsed(environment).map_err(refuse)?;
    let mut warm_up = run.clone();
    warm_up.plan.control.profile = None;
    batches.fill(&mut run, batches.measured);
    batches.fill(&mut warm_up, batches.warm_up);
    run.warnings = [line.warnings.clone(), run.warnings].concat();
    let offline = Offline {
        warm_up: (batches.warm_up > 0).then(|| unlogged(warm_up)),
        run,
        message: if line.args.profile {
            OfflineMessages::Traces
        } else {
            OfflineMessages::Latency(batches.size())
        },
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
    let of_engine = [TargetArgs::MODEL, TargetArgs::SERVED_MODEL_NAME];
    with_serve_flags(LatencyArgs::command(), PROGRAM, PEER, &of_engine)
}

/// Number of batches and their size.
struct Batches {
    spec: VllmBatchSpec,
    warm_up: usize,
    measured: usize,
}

impl LatencyArgs {
    /// Returns how the engine is called. Its prefix cache is off, because all batches are equal.
    fn calls(&self, line: &Line<Self>) -> Calls {
        let mut call = JsonObject::new();
        call.insert("detokenize".to_owned(), json!(!self.disable_detokenize));
        if self.use_beam_search {
            call.insert("beam_width".to_owned(), json!(self.n));
        }
        let argv = ["--no-enable-prefix-caching".to_owned()].into_iter().chain(line.argv());
        let (callee, args) = (Callee::Vllm, JsonObject::new());
        Calls { callee, argv: argv.collect(), args, call, n: self.n, streams: false }
    }

    fn batches(&self, asks_server: bool) -> Result<Batches, CliError> {
        if self.disable_detokenize && asks_server {
            let why = "needs an engine of one's own: a server answers in text; leave it out";
            return Err(CliError::setting(Self::DISABLE_DETOKENIZE, why));
        }
        at_least::<u32>(Self::N, 1, self.n)?;
        let size: u32 = at_least(Self::BATCH_SIZE, 1, self.batch_size)?;
        let spec = VllmBatchSpec {
            size: NonZero::new(size).unwrap_or(NonZero::<u32>::MIN),
            input_tokens: at_least(Self::INPUT_LEN, 0, self.input_len)?,
            output_tokens: at_least(Self::OUTPUT_LEN, 1, self.output_len)?,
        };
        let measured = if self.profile { 1 } else { at_least(Self::NUM_ITERS, 1, self.num_iters)? };
        // A negative number counts as zero, as in vLLM.
        let warm_up = at_least(Self::NUM_ITERS_WARMUP, 0, self.num_iters_warmup.max(0))?;
        Ok(Batches { spec, warm_up, measured })
    }

    /// Sets the arguments of a serving benchmark, except for its prompts.
    fn fill(&self, serving: &mut Serving) {
        let mut body = sampling(self.n);
        if self.use_beam_search {
            body["use_beam_search"] = Value::from(true);
            // vLLM's beam search keeps the likeliest outputs and samples none.
            body["temperature"] = json!(0.0);
        }
        let args = &mut serving.args;
        "openai".clone_into(&mut args.target.backend);
        "random".clone_into(&mut args.dataset.dataset_name);
        args.request.ignore_eos = true;
        args.request.extra_body = Some(body);
        args.load.profile = self.profile;
    }
}

impl Batches {
    /// Sets the plan's workload to `batches` batches, one after the other.
    fn fill(&self, parsed: &mut Parsed, batches: usize) {
        let plan = &mut parsed.plan;
        plan.workload.dataset =
            DatasetSpec::Vllm(VllmSpec::new(VllmData::Batch(self.spec.clone())));
        plan.workload.requests = batches.max(1) * self.size().get();
        plan.load.max_concurrency = Some(self.size());
        plan.load.in_waves = true;
        plan.load.warmup = WarmupSpec::of(0);
        plan.model.untokenized = true;
    }

    fn size(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.spec.size.get() as usize).unwrap_or(NonZeroUsize::MIN)
    }
}

const PROGRAM: &str = "vllm bench latency";

/// Recorded flags of vLLM 0.33.0's `bench latency`, without the engine's.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../../flags/vllm/latency_flags.txt"));
