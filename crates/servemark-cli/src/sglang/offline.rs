//! Parses command lines of SGLang 0.5.23's benchmark of an engine without a server
//! (`python -m sglang.benchmark.offline_throughput`).
//!
//! The flags about prompts and load are translated into flags of the serving benchmark, whose
//! parser reads them: SGLang's own client also shares its data sets between the two benchmarks.
//! Arguments that are not flags of the benchmark are passed on to the engine.

mod args;
mod candle;

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;
use servemark_core::JsonObject;
use servemark_datasets::{DatasetSpec, RandomSpec, RangeRatio, Source};
use servemark_engine::{
    EngineRunSpec, EngineSpec, PromptForm, Sampling, ScriptedSpec, Submission, WorkerEngine,
    WorkerSpec,
};
use servemark_plan::{BenchPlan, Layout, ModelSpec, ProfileSpec, ServerSpec, WorkloadSpec};
use servemark_runner::WarmupSpec;
use servemark_schedule::ArrivalSpec;
use servemark_tokenizer::TokenizerSpec;

use self::args::{OfflineArgs, TargetArgs};
use super::control::object;
use crate::Parsed;
use crate::argparse::{Given, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::own::OWN_TOLERANCE;
use crate::vllm::{Offline, OfflineMessages};

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
    let given = Given::read(args::command(program), &PEER, &[], &args).map_err(refuse)?;
    let (mut args, _): (OfflineArgs, _) = given.typed(program)?;
    candle::choose_the_rest(&mut args, &given, python);
    args.target.candle = candle::spec(program, &args.target, &given.reading.leftovers)?;
    args.check(&given, environment).map_err(refuse)?;
    let mut run = super::parse(program, args.words().into_iter().map(Into::into), environment)?;
    args.fill(&mut run, &given, python, environment).map_err(refuse)?;
    let warm_up = (!args.skip_warmup).then(|| warm_up(&run));
    Ok(Offline {
        warm_up,
        run,
        told: OfflineMessages::Prompts,
        output_json: None,
        stays: args.do_not_exit,
    })
}

impl OfflineArgs {
    /// Refuses flags that are invalid, not built or without effect.
    fn check(&self, given: &Given, environment: &Environment) -> Result<(), CliError> {
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
        self.check_engine(given)
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

    fn check_engine(&self, given: &Given) -> Result<(), CliError> {
        let (is_worker, leftovers) = (self.target.worker().is_some(), &given.reading.leftovers);
        if !is_worker && self.target.candle.is_none() {
            given.reading.refuse_leftovers()?;
        }
        if leftovers.iter().any(|word| word == "--use-ray") {
            return Err(CliError::not_built("--use-ray, an engine in a Ray actor,"));
        }
        let streams = self.target.stream;
        let is_sglang = self.target.engine == "sglang";
        let without_effect = [
            (is_worker, "--python", "beyond --engine sglang and vllm"),
            (is_worker, "--engine-args", "beyond --engine sglang and vllm"),
            (is_worker, "--engine-log", "beyond --engine sglang and vllm"),
            (is_worker, "--profile", "beyond --engine sglang and vllm"),
            (streams, "--request-rate", "without --stream: all requests are given at once"),
            (streams, "--max-concurrency", "without --stream: all requests are given at once"),
            (is_sglang, "--return-logprob", "beyond --engine sglang"),
        ];
        let found = without_effect.into_iter().find(|(in_use, flag, _)| !in_use && given.is(flag));
        found.map_or(Ok(()), |(_, flag, when)| Err(CliError::NoEffect { flag, when }))
    }

    /// Returns the prompts and the load as flags of the serving benchmark.
    fn words(&self) -> Vec<String> {
        let number = |flag: &str, value: i64| format!("{flag}={value}");
        let some = |flag: &str, value: Option<i64>| value.map(|value| number(flag, value));
        let mut words = vec![
            "--backend=sglang".to_owned(),
            format!("--dataset-name={}", self.dataset_name),
            format!("--dataset-path={}", self.dataset_path),
            format!("--prompt-suffix={}", self.prompt_suffix),
            format!("--random-range-ratio={}", self.random_range_ratio),
            number("--num-prompts", self.num_prompts),
            number("--random-input-len", self.random_input_len),
            number("--random-output-len", self.random_output_len),
            number("--gsp-num-groups", self.gsp_num_groups),
            number("--gsp-prompts-per-group", self.gsp_prompts_per_group),
            number("--gsp-system-prompt-len", self.gsp_system_prompt_len),
            number("--gsp-question-len", self.gsp_question_len),
            number("--gsp-output-len", self.gsp_output_len),
            number("--seed", self.seed),
            format!("--request-rate={}", self.target.request_rate),
        ];
        words.extend(some("--sharegpt-output-len", self.sharegpt_output_len));
        words.extend(some("--sharegpt-context-len", self.sharegpt_context_len));
        words.extend(some("--max-concurrency", self.target.max_concurrency));
        words.extend(self.apply_chat_template.then(|| "--apply-chat-template".to_owned()));
        words
    }

    /// Turns a parsed serving benchmark into this benchmark: puts the engine in the place of the
    /// server, and sets the scoring, the output files, the model and the profiler.
    fn fill(
        &self,
        run: &mut Parsed,
        given: &Given,
        python: Option<&str>,
        environment: &Environment,
    ) -> Result<(), CliError> {
        let plan = &mut run.plan;
        plan.scoring = self.run.judging.scoring(Layout::Offline)?;
        // Without an interpreter the command is `bench-offline`, which is Servemark's own.
        if python.is_none() && !given.is("--tolerate-failures") {
            plan.scoring.tolerated_failures = OWN_TOLERANCE;
        }
        self.run.keep_log("engine", environment.now(), &mut plan.output)?;
        plan.output.result_file =
            (!self.result_filename.is_empty()).then(|| self.result_filename.clone().into());
        plan.output.steady_state_file = self.run.steady_state_output_file.as_ref().map(Into::into);
        plan.model = self.target.model();
        plan.load.warmup = WarmupSpec::of(0);
        plan.control.profile = self.profile.then(|| self.profiler());
        plan.control.settle = Duration::ZERO;
        plan.server = ServerSpec::Engine(self.engine(plan, given, python)?);
        plan.echo = JsonObject::new();
        run.grace = self.run.stopping.grace;
        run.plan_only = self.run.asking.plan_only;
        run.warnings.clear();
        run.warnings.extend(candle::remark(&self.target));
        run.plan.check().map_err(CliError::Plan)
    }

    fn engine(
        &self,
        plan: &BenchPlan,
        given: &Given,
        python: Option<&str>,
    ) -> Result<EngineRunSpec, CliError> {
        let engine = match (self.target.worker(), &self.target.candle) {
            (None, Some(candle)) => EngineSpec::Candle(candle.clone()),
            (None, None) => EngineSpec::Scripted(ScriptedSpec::default()),
            (Some(engine), _) => {
                let python = self.target.worker.interpreter(python);
                let engine = if self.is_runtime() { WorkerEngine::SglangRuntime } else { engine };
                let mut worker = WorkerSpec::new(engine, python);
                worker.args = json_object("--engine-args", self.target.engine_args.as_deref())?;
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
            json_object("--extra-request-body", self.extra_request_body.as_deref())?;
        spec.patience = self.target.worker.patience()?;
        // The server of `--backend runtime` takes no token ids.
        spec.prompts = if self.is_runtime() { PromptForm::Text } else { PromptForm::Tokens };
        Ok(spec)
    }

    /// Returns the arguments that every call of the engine has besides.
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
        let mut model = ModelSpec::default();
        model.name = self.model_name().map(str::to_owned);
        model.tokenizer = self.tokenizer_path.as_ref().map(TokenizerSpec::new);
        model
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

/// Returns SGLang's warm-up: up to 16 prompts of 256 tokens, each with 16 tokens of output. SGLang
/// draws their texts from ShareGPT; here they are drawn from the vocabulary, so that ShareGPT need
/// not be downloaded.
fn warm_up(run: &Parsed) -> Parsed {
    let mut warm_up = run.clone();
    let mut random = RandomSpec::default();
    random.source = Source::Vocabulary;
    (random.input_tokens, random.output_tokens) = (256, 16);
    random.range_ratio = RangeRatio::new(1.0).unwrap_or_default();
    let plan = &mut warm_up.plan;
    let requests = plan.workload.requests.min(16);
    plan.workload = WorkloadSpec::new(DatasetSpec::Random(random), requests);
    plan.load.arrivals = ArrivalSpec::Burst;
    plan.load.max_concurrency = None;
    warm_up
}

fn json_object(flag: &'static str, text: Option<&str>) -> Result<JsonObject, CliError> {
    let Some(text) = text else { return Ok(JsonObject::new()) };
    let refused = |error| CliError::setting(flag, format!("is no JSON object: {error}"));
    serde_json::from_str(text).map_err(refused)
}

const TRACES: &str = "SGLANG_TORCH_PROFILER_DIR";

/// The flags of SGLang 0.5.23's offline benchmark in their order, without the engine's.
const PEER: [&str; 28] = [
    "--help",
    "--backend",
    "--result-filename",
    "--dataset-name",
    "--dataset-path",
    "--num-prompts",
    "--sharegpt-output-len",
    "--sharegpt-context-len",
    "--random-input-len",
    "--random-output-len",
    "--random-range-ratio",
    "--gsp-num-groups",
    "--gsp-prompts-per-group",
    "--gsp-system-prompt-len",
    "--gsp-question-len",
    "--gsp-output-len",
    "--seed",
    "--disable-ignore-eos",
    "--extra-request-body",
    "--apply-chat-template",
    "--profile",
    "--profile-activities",
    "--profile-steps",
    "--skip-warmup",
    "--do-not-exit",
    "--prompt-suffix",
    "--return-logprob",
    "--logprob-start-len",
];

#[cfg(test)]
mod tests;
