//! Builds the batches in their order, each with its plan and the steps around it.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use servemark_backends::{BackendName, BackendSpec, BatchServer, BatchSpec, CommonSpec};
use servemark_core::JsonObject;
use servemark_datasets::DatasetSpec;
use servemark_plan::{BatchCase, BatchProfile, BenchPlan, Layout, ServerSpec, WorkloadSpec};
use servemark_report::OneBatchAsked;
use servemark_runner::{LoadSpec, WarmupSpec};
use servemark_schedule::{AdapterChoice, AdapterSpec, ArrivalSpec};
use servemark_tokenizer::TokenizerSpec;

use super::args::OneBatchArgs;
use super::{Batch, prompts};
use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, finite, refused};
use crate::python;
use crate::sglang::control::{normal, object};

/// Builds all batches of a command line.
pub(super) struct Grid<'a> {
    pub(super) args: &'a OneBatchArgs,
    pub(super) server: ServerSpec,
    pub(super) environment: &'a Environment,
}

/// Number of prompts of a batch, and the lengths in tokens of its prompts and outputs.
#[derive(Clone, Copy)]
struct Cell {
    size: u32,
    input: u32,
    output: u32,
}

/// Why a batch is sent.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Purpose {
    Measure,
    Profile,
    WarmUp,
}

impl Grid<'_> {
    /// Builds the measured batches: one for every combination of size, input length and output
    /// length.
    pub(super) fn measured(&self) -> Result<Vec<Batch>, CliError> {
        self.cells()?.into_iter().map(|cell| self.batch(cell, Purpose::Measure)).collect()
    }

    /// Builds the [measured](Self::measured) batches once more, with the profiler on; none without
    /// `--profile`.
    pub(super) fn profiled(&self) -> Result<Vec<Batch>, CliError> {
        if !self.args.profile {
            return Ok(Vec::new());
        }
        self.cells()?.into_iter().map(|cell| self.batch(cell, Purpose::Profile)).collect()
    }

    /// Builds the warm-up: one batch for every size, in the order in which Python iterates over a
    /// set of them; none with `--skip-warmup`.
    pub(super) fn warm_up(&self) -> Result<Vec<Batch>, CliError> {
        if self.args.skip_warmup {
            return Ok(Vec::new());
        }
        let sizes: Vec<u32> = numbers(OneBatchArgs::BATCH_SIZE, 1, &self.args.batch_size)?;
        let cell = |size| Cell { size, input: 1024, output: 16 };
        python::set_order(&sizes)
            .into_iter()
            .map(|size| self.batch(cell(size), Purpose::WarmUp))
            .collect()
    }

    fn cells(&self) -> Result<Vec<Cell>, CliError> {
        let sizes = numbers(OneBatchArgs::BATCH_SIZE, 1, &self.args.batch_size)?;
        let inputs: Vec<u32> = numbers(OneBatchArgs::INPUT_LEN, 1, &self.args.input_len)?;
        let outputs: Vec<u32> = numbers(OneBatchArgs::OUTPUT_LEN, 1, &self.args.output_len)?;
        let mut cells = Vec::new();
        for size in sizes {
            for &input in &inputs {
                cells.extend(outputs.iter().map(|&output| Cell { size, input, output }));
            }
        }
        Ok(cells)
    }

    fn batch(&self, cell: Cell, purpose: Purpose) -> Result<Batch, CliError> {
        let Cell { size, input, output } = cell;
        let lengths = self.args.input_lengths()?.filter(|_| purpose != Purpose::WarmUp);
        let listed = lengths.as_ref().map(|lengths| sum_of(lengths, size));
        let output_len = prompts::output_len(self.args, output)?;
        let prompts = prompts::batch(self.args, size, input, output_len, lengths)?;
        let mut case = BatchCase::new(self.plan(prompts, cell, purpose)?, size, input, output);
        case.input_tokens = listed.unwrap_or(case.input_tokens);
        case.flush = self.flush();
        if purpose != Purpose::WarmUp {
            case.cached_share = self.cached_share()?;
        }
        case.profile = (purpose == Purpose::Profile).then(|| self.profile(cell));
        Ok(Batch { case, requested: self.requested_batch(output_len, purpose) })
    }

    fn requested_batch(&self, output_len: u32, purpose: Purpose) -> OneBatchAsked {
        let mut requested = OneBatchAsked::default();
        requested.run_name.clone_from(&self.args.run_name);
        requested.output_len = output_len;
        requested.stops_at_eos = self.args.disable_ignore_eos && purpose != Purpose::WarmUp;
        requested.replays = self.args.replays();
        requested.is_sglang = !self.args.is_vllm();
        requested
    }

    fn plan(
        &self,
        prompts: servemark_datasets::BatchSpec,
        cell: Cell,
        purpose: Purpose,
    ) -> Result<BenchPlan, CliError> {
        let args = self.args;
        let mut workload = WorkloadSpec::new(DatasetSpec::Batch(prompts), 1);
        workload.seed = at_least(OneBatchArgs::SEED, 0, args.seed)?;
        let backend = if args.is_vllm() { BackendName::Vllm } else { BackendName::Sglang };
        let wire = BackendSpec::Batch(self.wire(purpose)?);
        let mut plan = BenchPlan::new(self.server.clone(), backend, wire, workload, self.load()?);
        plan.control.ready_timeout = Duration::ZERO;
        plan.control.counters = true;
        let tokenizer = Some(&args.local_tokenizer_path).filter(|path| !path.is_empty());
        plan.model.tokenizer = tokenizer.map(TokenizerSpec::new);
        plan.scoring = args.run.judging.scoring(Layout::Native)?;
        plan.scoring.layouts.dedup();
        if purpose == Purpose::Measure {
            plan.output.run_log = self.run_log(cell)?;
            if plan.output.run_log.is_some() {
                plan.output.run_log_if_taken = args.run.if_taken();
            }
            plan.output.steady_state_file =
                args.run.steady_state_output_file.as_ref().map(Into::into);
        }
        plan.check().map_err(CliError::Plan)?;
        Ok(plan)
    }

    /// Returns the load of a run that sends one batch: everything at once, without a warm-up.
    fn load(&self) -> Result<LoadSpec, CliError> {
        let mut load = LoadSpec::new(ArrivalSpec::Burst);
        load.warmup = WarmupSpec::of(0);
        if let Some(names) = self.adapters().filter(|names| names.len() > 1).map(<[_]>::to_vec) {
            let alpha = self.args.lora_zipf_alpha;
            let choice = match self.args.lora_request_distribution.as_str() {
                "distinct" => AdapterChoice::Distinct,
                "skewed" => AdapterChoice::Skewed { alpha },
                _ => AdapterChoice::Uniform,
            };
            let adapters =
                AdapterSpec::new(names, choice).map_err(refused(OneBatchArgs::LORA_NAME))?;
            load.adapters = Some(adapters);
        }
        Ok(load)
    }

    fn wire(&self, purpose: Purpose) -> Result<BatchSpec, CliError> {
        let args = self.args;
        let server = if args.is_vllm() { BatchServer::Vllm } else { BatchServer::Sglang };
        let mut common = CommonSpec::default();
        common.ignore_eos = !args.disable_ignore_eos || purpose == Purpose::WarmUp;
        common.extra_body = self.extra_body();
        let mut spec = BatchSpec::new(common, server);
        spec.temperature = finite(OneBatchArgs::TEMPERATURE, args.temperature)?;
        spec.return_logprob = args.return_logprob;
        spec.stream_interval = args.client_stream_interval;
        spec.parallel = args.parallel_batch;
        Ok(spec)
    }

    /// Returns further fields of the request. If there is only one adapter, it is named here for
    /// all prompts; several adapters belong to the load.
    fn extra_body(&self) -> JsonObject {
        let mut extra = JsonObject::new();
        if self.args.fake_prefill {
            extra = object([("bootstrap_host", json!("2.2.2.2")), ("bootstrap_room", json!(0))]);
        }
        if let Some([name]) = self.adapters() {
            extra.insert("lora_path".to_owned(), json!(name));
        }
        extra
    }

    /// Returns the adapters; like SGLang's client, vLLM's server is asked for none.
    fn adapters(&self) -> Option<&[String]> {
        self.args.lora_name.as_deref().filter(|_| !self.args.is_vllm())
    }

    fn flush(&self) -> Vec<String> {
        if self.args.is_vllm() {
            return vec!["/reset_prefix_cache".to_owned()];
        }
        let storage = self.args.flush_hicache_storage.then_some("/hicache/storage-backend/clear");
        ["/flush_cache"].into_iter().chain(storage).map(str::to_owned).collect()
    }

    fn cached_share(&self) -> Result<f64, CliError> {
        // Beyond 1 it is the whole prompt and below 0 nothing, as with SGLang.
        finite(OneBatchArgs::CACHE_HIT_RATE, self.args.cache_hit_rate)
    }

    /// Returns the fields that start the profiler, in SGLang's order and with numbers as texts, as
    /// SGLang's client sends them.
    fn profile(&self, cell: Cell) -> BatchProfile {
        let args = self.args;
        let prefix = args.profile_prefix.as_deref().unwrap_or_default();
        let mut start = object([
            ("num_steps", json!(args.profile_steps.to_string())),
            ("activities", json!(args.profile_activities)),
            ("profile_by_stage", json!(args.profile_by_stage)),
            ("merge_profiles", json!(false)),
            ("profile_prefix", json!(format!("{prefix}bs-{}-il-{}", cell.size, cell.input))),
        ]);
        if let Some(step) = args.profile_start_step {
            start.insert("start_step".to_owned(), json!(step.to_string()));
        }
        let folder = args.profile_output_dir.as_deref();
        let folder = folder.or(self.environment.variable("SGLANG_TORCH_PROFILER_DIR"));
        let folder = self.environment.directory().join(folder.unwrap_or("/tmp"));
        BatchProfile::new(normal(&folder), start)
    }

    /// Returns the path of a batch's run log; `None` if none is kept. If there are several batches,
    /// its name contains the sizes of this one, so that every batch has a log of its own.
    fn run_log(&self, cell: Cell) -> Result<Option<PathBuf>, CliError> {
        let Some(path) = self.args.run.run_log("one-batch", self.environment.now())? else {
            return Ok(None);
        };
        if self.cells()?.len() == 1 {
            return Ok(Some(path));
        }
        let path = path.to_string_lossy().into_owned();
        let stem = path.strip_suffix(".runlog.jsonl").unwrap_or(&path);
        let Cell { size, input, output } = cell;
        Ok(Some(format!("{stem}.bs-{size}.il-{input}.ol-{output}.runlog.jsonl").into()))
    }
}

/// Converts the numbers of a list; refuses any below `least`.
pub(super) fn numbers(flag: Flag, least: i64, values: &[i64]) -> Result<Vec<u32>, CliError> {
    values.iter().map(|value| at_least(flag, least, *value)).collect()
}

/// Returns the number of tokens of `size` prompts, whose lengths are `lengths`, starting over after
/// the last.
fn sum_of(lengths: &[u32], size: u32) -> u64 {
    lengths.iter().cycle().take(size as usize).map(|length| u64::from(*length)).sum()
}
