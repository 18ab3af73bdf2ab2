//! Converts each model with each data set into a task with its plan.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use servemark_backends::{
    AisbenchClass, AisbenchSpec as WireSpec, BackendName, BackendSpec, CommonSpec,
};
use servemark_client::{BaseUrl, Credentials};
use servemark_core::IfTaken;
use servemark_datasets::{
    AisbenchData, AisbenchSpec, AisbenchTemplate, AisbenchTurns, DatasetSpec,
};
use servemark_plan::{AisbenchFiles, BenchPlan, Layout, ModelSpec, ServerSpec, WorkloadSpec};
use servemark_runner::{History, LoadSpec, RetrySpec, WarmupSpec};
use servemark_schedule::ArrivalSpec;
use servemark_tokenizer::TokenizerSpec;

use super::args::{AisbenchArgs, OwnArgs};
use super::config::Config;
use super::data::{Data, of_file};
use super::merge::Group;
use super::model::Model;
use super::python::{Located, Place};
use super::{Reuse, Task, Tasks, WORDS, scope, summary};
use crate::argparse::ParsedCommandLine;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, refused};
use crate::own::RunArgs;
use crate::parsed::Parsed;
use crate::plan_file::PlanFormat;
use crate::words::refuse;

/// Returns the tasks of a command line: every model with every group of data sets, all groups of
/// the first model first.
pub(super) fn tasks(
    args: &AisbenchArgs,
    given: &ParsedCommandLine,
    config: &Config,
    environment: &Environment,
) -> Result<Tasks, CliError> {
    let mut warnings = Vec::new();
    scope::check(args, given, &mut warnings)?;
    let models = config.models.iter().map(Model::of).collect::<Result<Vec<_>, _>>()?;
    let mut sets = config.datasets.iter().map(Data::of).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = args.custom_dataset_path.as_deref().filter(|_| args.datasets.is_none()) {
        sets.push(custom(path, args, environment)?);
    }
    if models.is_empty() || sets.is_empty() {
        return Err(CliError::Together(NOTHING));
    }
    let (folder, reuse) = folder(args, config.work_dir.as_deref(), environment)?;
    let whole =
        Whole { args, summarizer: config.summarizer.as_ref(), folder: &folder, environment };
    warnings.extend(unread_settings(&sets, environment));
    let groups = Group::all(&sets, &mut warnings);
    let mut tasks = Vec::new();
    for model in &models {
        for group in &groups {
            tasks.push(whole.task(model, group, std::mem::take(&mut warnings))?);
        }
    }
    if args.run.run_log.is_some() && tasks.len() > 1 {
        let why = "names one file, and there are several tasks; their logs are in the run's folder";
        return Err(CliError::setting(RunArgs::RUN_LOG, why));
    }
    Ok(Tasks { tasks, folder, reuse })
}

/// Returns a warning if a data set is synthetic and the only settings file is in a place that is
/// not read.
fn unread_settings(sets: &[Data], environment: &Environment) -> Option<String> {
    let is_synthetic = |data: &Data| {
        matches!(data.source, AisbenchData::SyntheticText(_) | AisbenchData::SyntheticIds(_))
    };
    let is_there = |path| environment.read(path).is_ok();
    let is_unread = sets.iter().any(is_synthetic) && is_there(SETTINGS) && !is_there(GUIDE);
    is_unread.then(|| {
        format!("{SETTINGS} in this folder is not read; --datasets synthetic_gen reads {GUIDE}")
    })
}

/// Path at which the settings of synthetic data sets are not read.
const SETTINGS: &str = "synthetic_config.py";
/// Path at which AISBench's guide puts the settings of synthetic data sets.
const GUIDE: &str = "ais_bench/datasets/synthetic/synthetic_config.py";

pub(super) const NOTHING: &str = "You must specify a config file path, or specify --models and --datasets (or \
                       --custom-dataset-path).";

/// Returns the folder of this run, or of the earlier run that `--reuse` selects, and what happens
/// with run logs in it.
fn folder(
    args: &AisbenchArgs,
    work_dir: Option<&str>,
    environment: &Environment,
) -> Result<(PathBuf, Reuse), CliError> {
    let root = args.work_dir.as_deref().or(work_dir).unwrap_or("outputs/default");
    let again = if args.mode == "perf_viz" { Reuse::Only } else { Reuse::Scored };
    let root_path = Path::new(root);
    match &args.reuse {
        None if again == Reuse::Only => Err(CliError::Together(
            "--mode perf_viz needs --reuse: the run whose results are shown",
        )),
        None => {
            let [date, time] = environment.now().digits();
            Ok((root_path.join(format!("{date}_{time}")), Reuse::Nothing))
        }
        Some(Some(name)) => Ok((root_path.join(name), again)),
        Some(None) => {
            let latest = environment.names_in(root).pop();
            let latest = latest.ok_or_else(|| {
                CliError::setting(AisbenchArgs::REUSE, format!("finds no run in {root}"))
            })?;
            Ok((root_path.join(latest), again))
        }
    }
}

/// Returns the data set of `--custom-dataset-path`. The first line of the file gives the columns.
fn custom(path: &str, args: &AisbenchArgs, environment: &Environment) -> Result<Data, CliError> {
    let refuse = |why: String| CliError::setting(AisbenchArgs::CUSTOM_DATASET_PATH, why);
    let text = environment
        .read(path)
        .map_err(|error| refuse(format!("{path} cannot be read: {error}")))?;
    let first = text.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
    let columns: Vec<String> = if Path::new(path).extension() == Some("csv".as_ref()) {
        first.split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect()
    } else {
        let row: Result<servemark_core::JsonObject, _> = serde_json::from_str(first);
        row.map_err(|error| refuse(format!("{path}:1: {error}")))?.keys().cloned().collect()
    };
    let place = Place { file: path.into(), line: 1 };
    if !columns.iter().any(|column| column == "question") {
        return Err(place.fault("there is no column question").into());
    }
    let is_choice = args.custom_dataset_data_type.as_deref().map(|kind| kind == "mcq");
    let meta = args.custom_dataset_meta_path.as_deref();
    Ok(of_file(path, meta, &columns, is_choice, place))
}

/// Settings that all tasks of a command line share.
struct Whole<'a> {
    args: &'a AisbenchArgs,
    summarizer: Option<&'a Located>,
    folder: &'a Path,
    environment: &'a Environment,
}

impl Whole<'_> {
    fn task(
        &self,
        model: &Model,
        group: &Group<'_>,
        mut warnings: Vec<String>,
    ) -> Result<Task, CliError> {
        for data in group.sets() {
            check(model, data, self.is_simulated())?;
            warn(model, data, self.args, &mut warnings);
        }
        let plan = self.plan(model, group, &mut warnings)?;
        let (credentials, grace) = (self.credentials(model)?, self.args.run.stopping.grace);
        let plan_only =
            self.args.run.asking.printed_plan().or(self.args.dry_run.then_some(PlanFormat::Json));
        let parsed = Parsed::new(plan, credentials, self.environment, grace);
        let (json, full) = (self.args.run.asking.json, self.args.run.judging.is_full());
        let parsed = Parsed { json, full, plan_only, warnings, ..parsed };
        let name = format!("{}/{}", model.abbr, group.name());
        Ok(Task { name, data: group.places(), tokenizer: model.tokenizer.to_string(), parsed })
    }

    fn is_simulated(&self) -> bool {
        self.args.simulator.simulate.is_some()
    }

    fn plan(
        &self,
        model: &Model,
        group: &Group<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<BenchPlan, CliError> {
        let dataset = DatasetSpec::Aisbench(self.datasets(model, group)?);
        let requests =
            at_least(AisbenchArgs::NUM_PROMPTS, 1, self.args.num_prompts.unwrap_or(i64::MAX))?;
        let mut workload =
            WorkloadSpec::new(dataset, if requests == i64::MAX as usize { 0 } else { requests });
        workload.seed = at_least(OwnArgs::SEED, 0, self.args.own.seed)?;
        let load = self.load(model, group.first)?;
        let mut plan =
            BenchPlan::new(self.server(model)?, BackendName::Vllm, wire(model), workload, load);
        plan.control.ready_timeout = Duration::ZERO;
        plan.control.counters = self.args.spec_decode;
        self.args.telemetry.apply(&mut plan.control)?;
        plan.model = self.model(model);
        plan.scoring = self.args.run.judging.scoring(Layout::Aisbench)?;
        self.args.until.apply(&mut plan)?;
        plan.scoring.aisbench =
            summary::options(&model.abbr, &group.name(), self.summarizer, warnings)?;
        plan.scoring.aisbench = plan.scoring.aisbench.of_release(self.args.own.style);
        plan.scoring.aisbench.batch_size =
            model.use_timestamp.then(|| model.batch_size.get() as usize);
        plan.output.run_log = self.run_log(model, &group.name())?;
        if plan.output.run_log.is_some() {
            plan.output.run_log_if_taken = self.if_taken();
        }
        let steady = self.args.run.steady_state_output_file.as_ref();
        plan.output.steady_state_file = steady.map(Into::into);
        plan.output.aisbench = Some(AisbenchFiles::new(self.folder));
        plan.check().map_err(refuse(WORDS))?;
        Ok(plan)
    }

    fn datasets(&self, model: &Model, group: &Group<'_>) -> Result<AisbenchSpec, CliError> {
        let mut spec = self.dataset(model, group.first)?;
        for data in &group.others {
            spec.name.clone_from(&group.first.abbr);
            spec.followed_by.push((data.abbr.clone(), self.dataset(model, data)?));
        }
        Ok(spec)
    }

    fn dataset(&self, model: &Model, data: &Data) -> Result<AisbenchSpec, CliError> {
        let mut spec = AisbenchSpec::new(data.source.clone(), model.max_out_len);
        // AISBench sends an empty prompt if the model's class takes no messages of parts.
        let is_lost = loses_parts(model, data);
        let nothing = || AisbenchTemplate::Text(String::new());
        spec.template = if is_lost { nothing() } else { data.template.clone() };
        spec.answer.clone_from(&data.answer);
        spec.messages = model.class.sends_messages();
        spec.own_lengths = data.has_own_lengths();
        spec.timed = model.use_timestamp;
        if let Some((from, until)) = data.range {
            (spec.from, spec.until) = (from, until);
        }
        spec.repeats = model.repeats()?;
        spec.adapters = model.adapters();
        spec.ids = model.class == AisbenchClass::Triton;
        spec.counted = model.path.is_some() || self.is_simulated();
        Ok(spec)
    }

    fn load(&self, model: &Model, data: &Data) -> Result<LoadSpec, CliError> {
        let mut load = LoadSpec::new(model.arrivals.clone());
        load.max_concurrency = NonZeroUsize::new(model.batch_size.get() as usize);
        let rows = at_least(AisbenchArgs::NUM_WARMUPS, 0, self.args.num_warmups)?;
        load.warmup = WarmupSpec::rows(rows, model.repeats()?);
        load.retry = Some(RetrySpec::of_unanswered(model.tries));
        self.args.shards.apply(&mut load)?;
        if model.use_timestamp {
            (load.arrivals, load.max_concurrency) = (ArrivalSpec::Timetable, None);
        }
        if self.args.pressure {
            let seconds: u32 = at_least(AisbenchArgs::PRESSURE_TIME, 1, self.args.pressure_time)?;
            load.arrivals = ArrivalSpec::Burst;
            load.lasts = Some(Duration::from_secs(seconds.into()));
            load.in_rounds = true;
            load.opening = model.rate;
        }
        if data.turns() == Some(AisbenchTurns::EveryWithAnswers) {
            load.sessions.history = History::Left;
        }
        Ok(load)
    }

    fn server(&self, model: &Model) -> Result<ServerSpec, CliError> {
        if let Some(simulator) = self.args.simulator.spec(model.name.as_deref()) {
            self.args.trust.refuse()?;
            return Ok(ServerSpec::Simulated(simulator));
        }
        let bad = |error: servemark_client::BaseUrlError| {
            CliError::from(
                model.address.fault(format!("the server's address cannot be used: {error}")),
            )
        };
        let base_url: BaseUrl = match model.base_url() {
            Some(url) => url.parse().map_err(bad)?,
            None if model.tls => {
                format!("https://{}:{}", model.host, model.port).parse().map_err(bad)?
            }
            None => BaseUrl::at_host(&model.host, model.port).map_err(bad)?,
        };
        let target = self.args.connection.target(base_url)?;
        Ok(ServerSpec::At(self.args.trust.applied_to(target)?))
    }

    /// Returns the model's name and tokenizer. If requests carry no model name, the short name is
    /// used, so that the server is not asked for its model.
    fn model(&self, model: &Model) -> ModelSpec {
        let mut spec = ModelSpec::default();
        let simulated = self.args.simulator.spec(model.name.as_deref()).map(|spec| spec.model);
        let nameless = [AisbenchClass::Tgi, AisbenchClass::MindieStream].contains(&model.class);
        let abbr = nameless.then(|| model.abbr.clone());
        spec.name = simulated.or_else(|| model.name.clone()).or(abbr);
        spec.tokenizer = model.path.as_ref().map(TokenizerSpec::new);
        spec.untokenized = model.path.is_none() && !self.is_simulated();
        spec
    }

    fn run_log(&self, model: &Model, name: &str) -> Result<Option<PathBuf>, CliError> {
        let given = self.args.run.run_log("ais_bench", self.environment.now())?;
        let is_named = self.args.run.run_log.is_some();
        let name = format!("{}.runlog.jsonl", name.replace('/', "_"));
        let usual =
            || self.folder.join("performances").join(model.abbr.replace('/', "_")).join(name);
        Ok(given.map(|path| if is_named { path } else { usual() }))
    }

    /// Returns what happens if the run log already exists. With `--reuse` it is replaced: a task
    /// whose log holds a measurement is scored and not run, so a log that is replaced holds none.
    fn if_taken(&self) -> IfTaken {
        match (&self.args.run.run_log, &self.args.reuse) {
            (Some(_), _) => self.args.run.if_taken(),
            (None, Some(_)) => IfTaken::Replace,
            (None, None) => IfTaken::Refuse,
        }
    }

    /// Returns the API key. As in AISBench, only vLLM's model classes send the key of the config;
    /// all others send that of the environment.
    fn credentials(&self, model: &Model) -> Result<Credentials, CliError> {
        let own = model.api_key.as_deref().filter(|_| model.class.sends_key());
        let key = own.or(self.environment.variable(KEY));
        match key {
            Some(key) => Credentials::new().bearer(key).map_err(refused("the API key")),
            None => Ok(Credentials::new()),
        }
    }
}

fn wire(model: &Model) -> BackendSpec {
    let mut common = CommonSpec::new(model.name.clone().unwrap_or_default());
    common.stream = model.stream;
    common.extra_body.clone_from(&model.generation);
    BackendSpec::Aisbench(WireSpec::new(model.class, common))
}

/// Refuses a combination of model and data set that cannot be run.
fn check(model: &Model, data: &Data, is_simulated: bool) -> Result<(), CliError> {
    if data.needs_tokenizer() && model.path.is_none() && !is_simulated {
        let why = format!("the data set {} needs the model's tokenizer: give its path", data.abbr);
        return Err(model.place.fault(why).into());
    }
    if model.use_timestamp && !data.has_times() {
        let why = format!("use_timestamp is set, and the data set {} has no timestamps", data.abbr);
        return Err(model.place.fault(why).into());
    }
    Ok(())
}

/// Returns whether the data set has messages of parts, which the model's class cannot send.
fn loses_parts(model: &Model, data: &Data) -> bool {
    matches!(data.template, AisbenchTemplate::Parts(_)) && !model.class.sends_messages()
}

/// Environment variable with an API key, which every model class sends.
const KEY: &str = "OPENAI_API_KEY";

/// Adds warnings about settings that are not used, or only in part: the key, parts of messages,
/// timestamps, and the row range.
fn warn(model: &Model, data: &Data, args: &AisbenchArgs, warnings: &mut Vec<String>) {
    if model.api_key.is_some() && !model.class.sends_key() {
        let (place, class) = (&model.place, model.class);
        warnings.push(format!("{place}: {class} sends no api_key; the variable {KEY} is sent"));
    }
    if loses_parts(model, data) {
        let (place, abbr, class) = (&data.place, &data.abbr, model.class);
        warnings.push(format!(
            "{place}: the data set {abbr} has messages of parts, of which {class} sends nothing: every \
             prompt is empty, as with AISBench; choose a model of chats, such as vllm_api_stream_chat"
        ));
    }
    if data.has_times() && !model.use_timestamp {
        let place = &data.place;
        warnings.push(format!("{place}: timestamps are not used without use_timestamp=True"));
    }
    if data.range.is_some() && args.num_prompts.is_some() {
        let place = &data.place;
        warnings.push(format!("{place}: of the rows of test_range, --num-prompts takes the first"));
    }
}
