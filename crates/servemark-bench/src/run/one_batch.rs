//! SGLang's one-batch benchmark: each batch is sent as one request, one after the other.

mod facts;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use servemark_backends::BackendSpec;
use servemark_client::ClientError;
use servemark_core::{Clock, MonotonicClock, Prompt, Session, Tokenizer, unix_now};
use servemark_datasets::{DatasetName, DatasetSpec};
use servemark_plan::{BatchCase, BatchProfile, BenchPlan, ProfileSpec};
use servemark_rng::RandomState;
use servemark_tokenizer::TokenizerSpec;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until};

pub use self::facts::{BatchLimits, BatchServer};
use super::files;
use super::measure::measure;
use super::prepare::{PreparedRun, RunClock};
use crate::observer::RunEvent;
use crate::run::discover::{Names, TokenizerSource};
use crate::run::draw::{self, Load};
use crate::run::drawing::drawing;
use crate::run::server::Server;
use crate::runtime::{self, block_on};
use crate::{ExecuteError, Run, RunContext};

/// Sends batches to one server, one after the other. All are drawn from one random state, as in
/// SGLang's client.
pub struct BatchRunner {
    runtime: Runtime,
    context: RunContext,
    server: Server,
    facts: BatchServer,
    names: Names,
    tokenizer: Arc<dyn Tokenizer>,
    random: RandomState,
    clock: RunClock,
    /// Shared prefixes that were drawn for earlier batches, which SGLang's client keeps in a file.
    kept: Vec<(DatasetSpec, Vec<Session>)>,
}

impl std::fmt::Debug for BatchRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchRunner").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A batch that was sent.
#[derive(Debug)]
pub struct BatchRun {
    /// Run of the batch.
    pub run: Run,
    /// Folder of the profiler's traces, if the batch was profiled.
    pub traces: Option<PathBuf>,
}

impl BatchRunner {
    /// Asks the server of a plan for its information and loads the tokenizer.
    pub fn open(plan: &BenchPlan, context: &RunContext) -> Result<Self, ExecuteError> {
        plan.check()?;
        let runtime = runtime::new()?;
        let clock = RunClock::start();
        let server = Server::reach(plan, context, clock.clock)?;
        let meeting = context.unless_stopped(meet(plan, context, &server, clock.clock));
        let (facts, names, found) = block_on(&runtime, meeting)?;
        let dataset = plan.workload.dataset.clone();
        let loading = move |context: &RunContext| Ok(context.tokenizer.get(&found, &dataset)?);
        let tokenizer = block_on(&runtime, drawing(context, loading))?;
        let random = RandomState::seeded(plan.workload.seed.into());
        let context = context.clone();
        let kept = Vec::new();
        Ok(Self { runtime, context, server, facts, names, tokenizer, random, clock, kept })
    }

    /// Returns the information that the server reports about itself.
    pub fn server(&self) -> &BatchServer {
        &self.facts
    }

    /// Empties the server's caches as the case asks, and sends one batch.
    pub fn run(&mut self, case: &BatchCase) -> Result<BatchRun, ExecuteError> {
        case.plan.check()?;
        let gathering =
            files::gather(&case.plan, &self.context, &TokenizerSource::Nowhere, self.clock.clock);
        let before = async {
            self.flush(&case.flush).await?;
            gathering.await
        };
        let files = block_on(&self.runtime, self.context.unless_stopped(before))?;
        let load = self.draw(files.plan)?;
        block_on(&self.runtime, self.send(case, load))
    }

    /// Draws a batch and keeps the advanced random state for the next one. Shared prefixes are drawn
    /// once for all batches of the same size and lengths.
    fn draw(&mut self, plan: BenchPlan) -> Result<Load, ExecuteError> {
        let is_simulated = self.server.is_simulated();
        let (tokenizer, run) = (Arc::clone(&self.tokenizer), self.clock.started_unix_ns);
        let dataset = plan.workload.dataset.clone();
        let kept = self.kept.iter().find(|(drawn, _)| *drawn == dataset);
        let kept = kept.map(|(_, sessions)| sessions.clone());
        let is_new = kept.is_none() && dataset.name() == DatasetName::GeneratedSharedPrefix;
        let mut random = self.random.clone();
        let work = move |context: &RunContext| {
            let tokenizer = tokenizer.as_ref();
            let load = match kept {
                Some(sessions) => draw::load_of(&plan, sessions, is_simulated, &mut random)?,
                None => draw::load_from(&plan, context, is_simulated, tokenizer, run, &mut random)?,
            };
            Ok((load, random))
        };
        let (load, random) = block_on(&self.runtime, drawing(&self.context, work))?;
        self.random = random;
        if is_new {
            self.kept.push((dataset, load.sessions.to_vec()));
        }
        Ok(load)
    }

    async fn send(&self, case: &BatchCase, load: Load) -> Result<BatchRun, ExecuteError> {
        self.context.unless_stopped(self.fill_cache(case, &load)).await?;
        let traces = case.profile.as_ref().map(|profile| self.folder(profile)).transpose()?;
        let mut plan = case.plan.clone();
        plan.control.profile = traces.as_ref().zip(case.profile.as_ref()).map(profiler);
        let (names, tokenizer) = (self.names.clone(), Arc::clone(&self.tokenizer));
        let prepared = PreparedRun { names, tokenizer, load };
        let run = measure(&self.server, &plan, &self.context, &prepared, self.clock, None).await?;
        Ok(BatchRun { run, traces })
    }

    /// Empties the server's caches; retries if the server is busy.
    async fn flush(&self, routes: &[String]) -> Result<(), ExecuteError> {
        for route in routes {
            let mut tries = 1;
            while let Err(error) = self.server.control.flush_cache(route).await {
                if tries == FLUSHES {
                    return Err(ExecuteError::Flush(error));
                }
                tries += 1;
                let again = self.clock.clock.instant(self.clock.clock.now() + PAUSE);
                sleep_until(Instant::from_std(again)).await;
            }
        }
        Ok(())
    }

    /// Fills the server's cache with the first part of every prompt.
    async fn fill_cache(&self, case: &BatchCase, load: &Load) -> Result<(), ExecuteError> {
        let (Prompt::Batch(prompts), BackendSpec::Batch(wire)) =
            (&load.sessions[0].first.prompt, &case.plan.wire)
        else {
            return Ok(());
        };
        let mean = prompts.iter().map(Vec::len).sum::<usize>() / prompts.len().max(1);
        let tokens = share_of(mean, case.cached_share);
        if tokens == 0 {
            return Ok(());
        }
        let share = case.cached_share;
        self.context.emit(&RunEvent::FillingCache { share, tokens });
        let mut wire = wire.clone();
        wire.common.model.clone_from(&self.names.served);
        let (path, body) = wire.prefixes(prompts, tokens);
        self.server.control.post(path, &body).await.map_err(ExecuteError::CacheFill)?;
        self.context.emit(&RunEvent::CacheFilled);
        Ok(())
    }

    /// Creates a folder for a batch's traces, with the server's information in it, as SGLang's
    /// client does.
    fn folder(&self, profile: &BatchProfile) -> Result<PathBuf, ExecuteError> {
        let folder = profile.folder.join(format!("{:?}", unix_now().as_secs_f64()));
        let made = fs::create_dir_all(&folder).and_then(|()| {
            fs::write(folder.join("server_args.json"), self.facts.value().to_string())
        });
        made.map_err(ExecuteError::Machine)?;
        Ok(folder)
    }
}

#[expect(clippy::cast_sign_loss, reason = "a length is not negative")]
fn share_of(length: usize, share: f64) -> usize {
    (length as f64 * share) as usize
}

fn profiler((folder, profile): (&PathBuf, &BatchProfile)) -> ProfileSpec {
    let mut spec = ProfileSpec::default();
    spec.start.insert("output_dir".to_owned(), json!(folder));
    spec.start.extend(profile.start.clone());
    spec
}

/// Returns the server's information, the names and the local tokenizer.
async fn meet(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
    clock: MonotonicClock,
) -> Result<(BatchServer, Names, TokenizerSource), ExecuteError> {
    let facts = ask(plan, server).await.map_err(ExecuteError::NotReady)?;
    let model = facts.model().ok_or_else(|| ExecuteError::NoModel { url: server.url() })?;
    if !plan.server_kind().has_info() {
        context.emit(&RunEvent::ModelFound { name: model, root: model });
    }
    let server_tokenizer = || facts.tokenizer().map(TokenizerSpec::new);
    let tokenizer = match plan.model.tokenizer.clone() {
        Some(spec) => TokenizerSource::At(spec),
        None if server.is_simulated() => TokenizerSource::Bundled,
        None => TokenizerSource::At(server_tokenizer().ok_or(ExecuteError::NoTokenizer)?),
    };
    let found = files::gather(plan, context, &tokenizer, clock).await?.tokenizer;
    let names = Names { model: model.to_owned(), served: model.to_owned(), tokenizer };
    Ok((facts, names, found))
}

async fn ask(plan: &BenchPlan, server: &Server) -> Result<BatchServer, ClientError> {
    if plan.server_kind().has_info() {
        let info = server.control.server_info().await?;
        return Ok(BatchServer::of_sglang(info.value().clone()));
    }
    let models = server.control.served_models().await?;
    let first = models.into_iter().next().map(|model| model.id);
    Ok(BatchServer::of_vllm(first.map_or(Value::Null, |name| json!({"model_name": name}))))
}

/// Maximum number of attempts to empty a cache.
const FLUSHES: u32 = 3;
/// Pause between two attempts to empty a cache.
const PAUSE: Duration = Duration::from_secs(2);
