//! Rules between flags of `vllm bench throughput`, and warnings about flags without effect.

use super::ThroughputArgs;
use crate::error::CliError;
use crate::vllm::args::{LoadArgs, TargetArgs};
use crate::vllm::offline::engine;
use crate::vllm::offline::line::{Callee, Line};

impl ThroughputArgs {
    /// Checks vLLM's rules, with its messages, and then refuses what is not supported.
    pub(super) fn check(&self, line: &Line<Self>) -> Result<(), CliError> {
        self.check_adapters(line)?;
        self.check_backend(line)?;
        match (line.asks_server(), self.callee()) {
            (true, _) => self.check_server(),
            (false, Callee::Transformers) => check_transformers(line),
            (false, _) => Ok(()),
        }
    }

    fn check_adapters(&self, line: &Line<Self>) -> Result<(), CliError> {
        let is_enabled = engine::is_on(&line.given.reading.leftovers, ENABLE_LORA);
        CliError::first_broken([
            (
                is_enabled && self.backend != "vllm",
                "LoRA benchmarking is only supported for vLLM backend",
            ),
            (
                is_enabled && self.lora_path.is_none(),
                "LoRA path must be provided when enable_lora is True",
            ),
        ])
    }

    fn check_backend(&self, line: &Line<Self>) -> Result<(), CliError> {
        let leftovers = &line.given.reading.leftovers;
        let is_hf = self.backend == "hf";
        CliError::first_broken([
            (
                self.prequeue_requests && !self.is_vllms(),
                "--prequeue-requests requires --backend vllm or vllm-chat",
            ),
            (
                self.prequeue_requests && self.async_engine,
                "--prequeue-requests is not supported with --async-engine",
            ),
            (
                is_hf && self.hf_max_batch_size.is_none(),
                "HF max batch size is required for HF backend",
            ),
            (
                !is_hf && self.hf_max_batch_size.is_some(),
                "HF max batch size is only for HF backend.",
            ),
            (
                !self.is_vllms() && engine::value(leftovers, &["--quantization", "-q"]).is_some(),
                "Quantization is only for vLLM backend.",
            ),
            (engine::value(leftovers, &REPLICAS).is_some_and(|n| n != "1"), ONE_REPLICA),
            (
                is_hf && line.given.is(LoadArgs::PROFILE),
                "Profiling not implemented yet for backend='hf'.",
            ),
            (self.backend == "mii", "Unknown backend: mii"),
        ])
    }

    /// Refuses flags that need a started engine.
    fn check_server(&self) -> Result<(), CliError> {
        let within = [
            (!self.is_vllms(), Self::BACKEND, NOT_THIS_BACKEND),
            (self.prequeue_requests, Self::PREQUEUE_REQUESTS, NOT_QUEUED),
            (self.disable_detokenize, Self::DISABLE_DETOKENIZE, NOT_WITHOUT_TEXT),
            (self.lora_path.is_some(), Self::LORA_PATH, NOT_LOADED),
        ];
        match within.into_iter().find(|(is_given, ..)| *is_given) {
            Some((_, flag, why)) => Err(CliError::setting(flag, why)),
            None => Ok(()),
        }
    }

    /// Returns warnings about flags that vLLM accepts and ignores.
    pub(super) fn warnings(&self, line: &Line<Self>) -> Vec<String> {
        let given = &line.given;
        let has_path = self.lora_path.is_some();
        let is_enabled = engine::is_on(&given.reading.leftovers, ENABLE_LORA);
        let is_hf = self.callee() == Callee::Transformers;
        let rules = [
            (self.dataset(given) != self.dataset_name && given.is(Self::DATASET_NAME), NO_PATH),
            (has_path && !is_enabled, "--lora-path has no effect without --enable-lora"),
        ];
        let message =
            rules.into_iter().filter(|(is_so, _)| *is_so).map(|(_, warning)| warning.into());
        let unused =
            is_hf.then(|| engine::flags_of(&given.reading.leftovers)).into_iter().flatten();
        let unused = unused.filter(|flag| *flag != DTYPE);
        message
            .chain(unused.map(|flag| format!("{flag} has no effect with --backend hf")))
            .collect()
    }

    fn is_vllms(&self) -> bool {
        ["vllm", "vllm-chat"].contains(&self.backend.as_str())
    }
}

/// Checks the arguments for Transformers, because no engine's parser follows that would refuse
/// unknown ones.
fn check_transformers(line: &Line<ThroughputArgs>) -> Result<(), CliError> {
    let reading = &line.given.reading;
    let mode = line.given.values(TargetArgs::TOKENIZER_MODE).last();
    let has_hf_tokenizer = mode.is_none_or(|mode| ["auto", "hf"].contains(&mode.as_str()));
    let devices = engine::value(&reading.leftovers, &["--tensor-parallel-size", "-tp"]);
    CliError::first_broken([
        (!has_hf_tokenizer, "the hf backend only supports HF tokenizers"),
        (
            devices.is_some_and(|devices| devices != "1"),
            "--backend hf runs on one device: leave --tensor-parallel-size out",
        ),
    ])?;
    if engine::are_known(&reading.leftovers) { Ok(()) } else { reading.refuse_leftovers() }
}

/// Flag of the number type in which an engine computes.
pub(super) const DTYPE: &str = "--dtype";
/// The engine's switch for adapters.
pub(super) const ENABLE_LORA: &str = "--enable-lora";
/// Flags of the number of copies of a model.
const REPLICAS: [&str; 2] = ["--data-parallel-size", "-dp"];
const ONE_REPLICA: &str = "Data parallel is only supported with external launcher mode with \
                           synchronous engine in offline benchmark, please use benchmark serving \
                           instead";
const NO_PATH: &str = "When dataset path is not set, it will default to random dataset";
const NOT_THIS_BACKEND: &str = "says how the server is asked, and here that is vllm (text \
                                completions) or vllm-chat; hf runs a model in a process of ours";
const NOT_QUEUED: &str = "needs an engine of one's own: a running server begins with the first \
                          request that it gets; leave it out";
const NOT_WITHOUT_TEXT: &str = "needs an engine of one's own: a server answers in text; leave it \
                                out";
const NOT_LOADED: &str = "names an adapter that the engine loads, and over HTTP the engine runs \
                          already: give it to vllm serve with --lora-modules, and measure it with \
                          vllm bench serve --lora-modules";
