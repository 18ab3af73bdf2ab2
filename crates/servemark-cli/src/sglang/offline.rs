//! Parses command lines of SGLang 0.5.23's benchmark of an engine without a server
//! (`python -m sglang.benchmark.offline_throughput`).
//!
//! The flags about prompts and load fill the arguments of the serving benchmark: SGLang's own
//! client also shares its data sets between the two benchmarks. Arguments that are not flags of
//! the benchmark are passed on to the engine.

mod args;
mod candle;

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;
use servemark_backends::BackendName;
use servemark_core::JsonObject;
use servemark_datasets::{DatasetSpec, RandomSpec, RangeRatio, Source};
use servemark_engine::{
    EngineRunSpec, EngineSpec, PromptForm, Sampling, ScriptedSpec, Submission, WorkerEngine,
    WorkerSpec,
};
use servemark_plan::{
    BenchPlan, EarlierSpec, Layout, ModelSpec, ProfileSpec, ServerSpec, WorkloadSpec,
};
use servemark_runner::WarmupSpec;
use servemark_schedule::ArrivalSpec;
use servemark_tokenizer::TokenizerSpec;

use self::args::{OfflineArgs, PEER, TargetArgs};
use super::args::SglangArgs;
use super::control::object;
use crate::argparse::{Effects, Flag, ParsedCommandLine, texts};
use crate::credentials::keyed;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::offline::{Offline, OfflineMessages};
use crate::own::{JudgingArgs, OWN_TOLERANCE};
use crate::parsed::Parsed;
use crate::results_folder::usual_folder;

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    args::command("servemark bench-offline")
}

/// Parses a command line, which is given without the program's name. `python` is the interpreter
/// that the command line began with, if it did.
pub(crate) fn parse(
    program: &str,
    python: Option<&str>,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Offline, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args = texts(args).map_err(refuse)?;
    let command = args::command(program);
    let given = ParsedCommandLine::read(command, &PEER.names(), &[], &args).map_err(refuse)?;
    let (mut args, _): (OfflineArgs, _) = given.typed(program)?;
    candle::choose_the_rest(&mut args, &given, python);
    args.target.candle = candle::spec(program, &args.target, &given.reading.leftovers)?;
    let mut warnings = Vec::new();
    args.check(&given, environment, &mut warnings).map_err(refuse)?;
    let run = args.run(&given, python, environment, warnings).map_err(refuse)?;
    let prompts = run.plan.workload.requests.min(WARM_UPS);
    // SGLang limits its warm-up by --num-prompts, even for shared prefixes, which ignore the flag.
    let prompts = usize::try_from(args.num_prompts).map_or(prompts, |given| given.min(WARM_UPS));
    let warm_up = (!args.skip_warmup).then(|| warm_up(&run, prompts, &args.dataset_path));
    let skipped = if warm_up.is_none() { prompts } else { 0 };
    Ok(Offline {
        warm_up,
        run,
        message: OfflineMessages::Prompts { skipped },
        output_json: None,
        stays: args.do_not_exit,
    })
}

impl OfflineArgs {
    /// Refuses flags that are invalid, not built or without effect.
    fn check(
        &self,
        given: &ParsedCommandLine,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Result<(), CliError> {
        match self.backend.as_str() {
            "engine" => {}
            "runtime" => self.check_runtime()?,
            _ => {
                let rule = "Please set backend to either \"engine\" or \"runtime\"";
                return Err(CliError::Together(rule));
            }
        }
        if self.profile && environment.variable(TRACES).is_none() {
            return Err(CliError::Together("Please set SGLANG_TORCH_PROFILER_DIR."));
        }
        self.check_engine(given)?;
        let effects = Effects::of(given)
            .with(Self::DATASET_NAME, &self.dataset_name)
            .with(TargetArgs::ENGINE, &self.target.engine);
        effects.check(Self::GROUPS, warnings)
    }

    /// Refuses flags that do not go with `--backend runtime`: SGLang's class for it returns no
    /// tokens one by one and cannot set up a profiler.
    fn check_runtime(&self) -> Result<(), CliError> {
        CliError::first_broken([
            (
                self.target.engine != "sglang",
                "--backend runtime is SGLang's: it needs --engine sglang",
            ),
            (self.target.stream, "--backend runtime gives all requests at once, without --stream"),
            (self.profile, "--backend runtime cannot set up a profiler: leave out --profile"),
        ])
    }

    fn is_runtime(&self) -> bool {
        self.backend == "runtime"
    }

    fn check_engine(&self, given: &ParsedCommandLine) -> Result<(), CliError> {
        let (is_worker, leftovers) = (self.target.worker().is_some(), &given.reading.leftovers);
        if !is_worker && self.target.candle.is_none() {
            given.reading.refuse_leftovers()?;
        }
        if leftovers.iter().any(|word| word == "--use-ray") {
            return Err(CliError::not_built("--use-ray, an engine in a Ray actor,"));
        }
        Ok(())
    }

    /// Returns the arguments of the serving benchmark with the same prompts and the same load.
    fn serving(&self) -> SglangArgs {
        let mut serving = SglangArgs::usual();
        let dataset = &mut serving.dataset;
        dataset.dataset_name.clone_from(&self.dataset_name);
        dataset.dataset_path.clone_from(&self.dataset_path);
        dataset.num_prompts = self.num_prompts;
        dataset.seed = self.seed;
        dataset.sharegpt_output_len = self.sharegpt_output_len;
        dataset.sharegpt_context_len = self.sharegpt_context_len;
        dataset.random_input_len = self.random_input_len;
        dataset.random_output_len = self.random_output_len;
        dataset.random_range_ratio = self.random_range_ratio;
        dataset.prompt_suffix.clone_from(&self.prompt_suffix);
        dataset.apply_chat_template = self.apply_chat_template;
        let shared_prefix = &mut serving.shared_prefix;
        shared_prefix.gsp_num_groups = self.gsp_num_groups;
        shared_prefix.gsp_prompts_per_group = self.gsp_prompts_per_group;
        shared_prefix.gsp_system_prompt_len = self.gsp_system_prompt_len;
        shared_prefix.gsp_question_len = self.gsp_question_len;
        shared_prefix.gsp_output_len = self.gsp_output_len;
        serving.load.request_rate = self.target.request_rate;
        serving.load.max_concurrency = self.target.max_concurrency;
        serving
    }

    /// Returns the run: a serving benchmark's prompts and load, with the engine in the place of the
    /// server, and the scoring, the output files, the model and the profiler of this benchmark.
    fn run(
        &self,
        given: &ParsedCommandLine,
        python: Option<&str>,
        environment: &Environment,
        mut warnings: Vec<String>,
    ) -> Result<Parsed, CliError> {
        let mut plan =
            super::plan(&self.serving(), BackendName::Sglang, environment, &mut warnings)?;
        plan.scoring = self.run.judging.scoring(Layout::Offline)?;
        // Without an interpreter the command is `bench-offline`, which is Servemark's own.
        if python.is_none() && !given.is(JudgingArgs::TOLERATE_FAILURES) {
            plan.scoring.tolerated_failures = OWN_TOLERANCE;
        }
        self.run.keep_log("engine", environment.now(), &mut plan.output)?;
        let usual = python.is_none().then(|| usual_folder(environment));
        let folder = self.results.folder(&self.run, usual, &mut plan.output)?;
        // The summary is in the folder of results, so no line has to be appended to a file.
        let has_lines = folder.is_none() || given.is(Self::RESULT_FILENAME);
        plan.output.result_file = (has_lines && !self.result_filename.is_empty())
            .then(|| self.result_filename.clone().into());
        plan.output.steady_state_file = self.run.steady_state_output_file.as_ref().map(Into::into);
        plan.model = self.target.model();
        plan.load.warmup = WarmupSpec::of(0);
        plan.control.profile = self.profile.then(|| self.profiler());
        plan.control.settle = Duration::ZERO;
        plan.server = ServerSpec::Engine(self.engine(&plan, given, python)?);
        plan.echo = JsonObject::new();
        plan.check().map_err(CliError::Plan)?;
        warnings.extend(candle::remark(&self.target));
        let parsed = Parsed::new(plan, keyed(environment)?, environment, self.run.stopping.grace);
        let (plan_only, json) = (self.run.asking.printed_plan(), self.run.asking.json);
        let full = self.run.judging.is_full();
        Ok(Parsed { folder, json, full, plan_only, warnings, ..parsed })
    }

    fn engine(
        &self,
        plan: &BenchPlan,
        given: &ParsedCommandLine,
        python: Option<&str>,
    ) -> Result<EngineRunSpec, CliError> {
        let engine = match (self.target.worker(), &self.target.candle) {
            (None, Some(candle)) => EngineSpec::Candle(candle.clone()),
            (None, None) => EngineSpec::Scripted(ScriptedSpec::default()),
            (Some(engine), _) => {
                let python = self.target.worker.interpreter(python);
                let engine = if self.is_runtime() { WorkerEngine::SglangRuntime } else { engine };
                let mut worker = WorkerSpec::new(engine, python);
                worker.args =
                    json_object(TargetArgs::ENGINE_ARGS, self.target.engine_args.as_deref())?;
                worker.argv = self.target.argv(engine, &given.reading.leftovers)?;
                worker.call = self.call();
                self.target.worker.keep_log(&plan.output, &mut worker);
                EngineSpec::Worker(Box::new(worker))
            }
        };
        let mut spec = EngineRunSpec::new(engine);
        spec.submission =
            if self.target.stream { Submission::OneByOne } else { Submission::AtOnce };
        spec.sampling = Sampling::default();
        spec.sampling.ignore_eos = !self.disable_ignore_eos;
        spec.sampling.extra =
            json_object(Self::EXTRA_REQUEST_BODY, self.extra_request_body.as_deref())?;
        spec.patience = self.target.worker.patience()?;
        // The server of `--backend runtime` takes no token ids.
        spec.prompts = if self.is_runtime() { PromptForm::Text } else { PromptForm::Tokens };
        Ok(spec)
    }

    /// Returns the arguments of every call of the engine besides its requests.
    fn call(&self) -> JsonObject {
        if !self.return_logprob {
            return JsonObject::new();
        }
        object([
            ("return_logprob", json!(true)),
            ("logprob_start_len", json!(self.logprob_start_len)),
        ])
    }

    fn profiler(&self) -> ProfileSpec {
        let mut spec = ProfileSpec::default();
        // vLLM's profiler is set up by the engine's own arguments.
        if self.target.engine == "sglang" {
            spec.start = object([
                ("num_steps", json!(self.profile_steps)),
                ("activities", json!(self.profile_activities)),
            ]);
        }
        spec.stop = Some(JsonObject::new());
        spec
    }
}

impl TargetArgs {
    /// Returns the engine that runs in a worker process; `None` if the engine is in this program.
    fn worker(&self) -> Option<WorkerEngine> {
        match self.engine.as_str() {
            "sglang" => Some(WorkerEngine::Sglang),
            "vllm" => Some(WorkerEngine::Vllm),
            _ => None,
        }
    }

    fn model_name(&self) -> Option<&str> {
        self.model_path.as_deref().or(self.model.as_deref())
    }

    fn model(&self) -> ModelSpec {
        ModelSpec {
            name: self.model_name().map(str::to_owned),
            tokenizer: self.tokenizer_path.as_ref().map(TokenizerSpec::new),
            ..ModelSpec::default()
        }
    }

    /// Returns the engine's own command line: the model and the tokenizer by the engine's flags,
    /// and the arguments that are not Servemark's.
    fn argv(&self, engine: WorkerEngine, leftovers: &[String]) -> Result<Vec<String>, CliError> {
        let (model, tokenizer) = match engine {
            WorkerEngine::Vllm => ("--model", "--tokenizer"),
            _ => ("--model-path", "--tokenizer-path"),
        };
        let Some(path) = self.model_name() else {
            return Err(CliError::Together("the following arguments are required: --model-path"));
        };
        let mut argv = vec![model.to_owned(), path.to_owned()];
        argv.extend(
            self.tokenizer_path.iter().flat_map(|path| [tokenizer.to_owned(), path.clone()]),
        );
        argv.extend(leftovers.iter().cloned());
        Ok(argv)
    }
}

/// Returns SGLang's warm-up: prompts of 256 tokens, each with 16 tokens of output, drawn after
/// those of the run from the file of ShareGPT's layout at `path`. Without a path they are drawn
/// from the vocabulary, so that ShareGPT need not be downloaded.
fn warm_up(run: &Parsed, prompts: usize, path: &str) -> Parsed {
    let mut warm_up = run.clone();
    let source = if path.is_empty() {
        Source::Vocabulary
    } else {
        Source::Sharegpt { path: Some(path.into()) }
    };
    let mut random = RandomSpec { source, ..RandomSpec::default() };
    (random.input_tokens, random.output_tokens) = (256, 16);
    random.range_ratio = RangeRatio::new(1.0).unwrap_or_default();
    let plan = &mut warm_up.plan;
    let after = (!path.is_empty()).then(|| EarlierSpec::of(plan));
    let seed = plan.workload.seed;
    plan.workload = WorkloadSpec::new(DatasetSpec::Random(random), prompts);
    plan.workload.seed = seed;
    plan.workload.after = after.into_iter().collect();
    plan.load.arrivals = ArrivalSpec::Burst;
    plan.load.max_concurrency = None;
    warm_up
}

fn json_object(flag: Flag, text: Option<&str>) -> Result<JsonObject, CliError> {
    let Some(text) = text else { return Ok(JsonObject::new()) };
    let refused = |error| CliError::setting(flag, format!("is no JSON object: {error}"));
    serde_json::from_str(text).map_err(refused)
}

/// Maximum number of prompts of the warm-up.
const WARM_UPS: usize = 16;

const TRACES: &str = "SGLANG_TORCH_PROFILER_DIR";

#[cfg(test)]
mod tests;
