//! SGLang's benchmark of one batch: batches that leave as one request each, one after the other.

mod facts;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use servemark_backends::BackendSpec;
use servemark_client::ClientError;
use servemark_core::{Clock, MonotonicClock, Prompt, Tokenizer, unix_now};
use servemark_plan::{BatchCase, BatchProfile, BenchPlan, ProfileSpec};
use servemark_rng::RandomState;
use servemark_tokenizer::TokenizerSpec;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until};

pub use self::facts::{BatchLimits, BatchServer};
use crate::audience::News;
use crate::discover::{self, Names, TokenizerSource};
use crate::draw::{self, Load};
use crate::drawing::drawing;
use crate::execute::{Drawn, measure};
use crate::server::Server;
use crate::{ExecuteError, Run, RunContext, files};

/// Sends batches to one server, one after the other. All are drawn from one random state, as
/// SGLang's client draws them.
pub struct BatchRunner {
    runtime: Runtime,
    context: RunContext,
    server: Server,
    facts: BatchServer,
    names: Names,
    tokenizer: Arc<dyn Tokenizer>,
    random: RandomState,
    clock: MonotonicClock,
    clock_started: u64,
}

impl std::fmt::Debug for BatchRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchRunner").field("server", &self.server).finish_non_exhaustive()
    }
}

/// One batch that was sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchRun {
    /// What came of it.
    pub run: Run,
    /// Where the profiler's traces of it are.
    pub traces: Option<PathBuf>,
}

impl BatchRunner {
    /// Asks the server of a plan about itself and loads the tokenizer.
    pub fn open(plan: &BenchPlan, context: &RunContext) -> Result<Self, ExecuteError> {
        plan.check()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ExecuteError::Machine)?;
        let clock = MonotonicClock::start();
        let clock_started = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
        let server = Server::reach(plan, context, clock)?;
        let meeting = context.unless_stopped(meet(plan, context, &server, clock));
        let (facts, names, tokenizer) = runtime.block_on(meeting)?;
        let tokenizer = tokenizer.into();
        let random = RandomState::seeded(plan.workload.seed.into());
        let context = context.clone();
        Ok(Self { runtime, context, server, facts, names, tokenizer, random, clock, clock_started })
    }

    /// What the server says of itself.
    pub fn server(&self) -> &BatchServer {
        &self.facts
    }

    /// Sends one batch.
    pub fn run(&mut self, case: &BatchCase) -> Result<BatchRun, ExecuteError> {
        case.plan.check()?;
        let gathering =
            files::gather(&case.plan, &self.context, &TokenizerSource::Nowhere, self.clock);
        let before = async {
            self.flush(&case.flush).await?;
            gathering.await
        };
        let files = self.runtime.block_on(self.context.unless_stopped(before))?;
        let load = self.draw(files.plan)?;
        self.runtime.block_on(self.send(case, load))
    }

    /// Draws a batch, and leaves the random state behind it for the next one.
    fn draw(&mut self, plan: BenchPlan) -> Result<Load, ExecuteError> {
        let is_simulated = self.server.is_simulated();
        let (tokenizer, run) = (Arc::clone(&self.tokenizer), self.clock_started);
        let mut random = self.random.clone();
        let work = move |context: &RunContext| {
            let tokenizer = tokenizer.as_ref();
            let load = draw::load_from(&plan, context, is_simulated, tokenizer, run, &mut random)?;
            Ok((load, random))
        };
        let (load, random) = self.runtime.block_on(drawing(&self.context, work))?;
        self.random = random;
        Ok(load)
    }

    async fn send(&self, case: &BatchCase, load: Load) -> Result<BatchRun, ExecuteError> {
        self.context.unless_stopped(self.fill_cache(case, &load)).await?;
        let traces = case.profile.as_ref().map(|profile| self.folder(profile)).transpose()?;
        let mut plan = case.plan.clone();
        plan.control.profile = traces.as_ref().zip(case.profile.as_ref()).map(profiler);
        let drawn = Drawn {
            server: &self.server,
            names: &self.names,
            tokenizer: self.tokenizer.as_ref(),
            load: &load,
        };
        let run = measure(&plan, &self.context, &drawn, self.clock, self.clock_started).await?;
        Ok(BatchRun { run, traces })
    }

    /// Empties what the server has in its caches. One that is busy is asked again.
    async fn flush(&self, routes: &[String]) -> Result<(), ExecuteError> {
        for route in routes {
            let mut tries = 1;
            while let Err(error) = self.server.control.flush_cache(route).await {
                if tries == FLUSHES {
                    return Err(ExecuteError::Flush(error));
                }
                tries += 1;
                sleep_until(Instant::from_std(self.clock.instant(self.clock.now() + PAUSE))).await;
            }
        }
        Ok(())
    }

    /// Puts the first part of every prompt into the server's cache.
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
        self.context.tell(&News::FillingCache { share, tokens });
        let mut wire = wire.clone();
        wire.common.model.clone_from(&self.names.served);
        let (path, body) = wire.prefixes(prompts, tokens);
        self.server.control.post(path, &body).await.map_err(ExecuteError::CacheFill)?;
        self.context.tell(&News::CacheFilled);
        Ok(())
    }

    /// A folder for one batch's traces, with what the server says of itself, as SGLang's client
    /// makes it.
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

async fn meet(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
    clock: MonotonicClock,
) -> Result<(BatchServer, Names, Box<dyn Tokenizer>), ExecuteError> {
    let facts = ask(plan, server).await.map_err(ExecuteError::NotReady)?;
    let model = facts.model().ok_or_else(|| ExecuteError::NoModel { url: server.url() })?;
    let told = || facts.tokenizer().map(TokenizerSpec::new);
    let tokenizer = match plan.model.tokenizer.clone() {
        Some(spec) => TokenizerSource::At(spec),
        None if server.is_simulated() => TokenizerSource::Bundled,
        None => TokenizerSource::At(told().ok_or(ExecuteError::NoTokenizer)?),
    };
    let found = files::gather(plan, context, &tokenizer, clock).await?.tokenizer;
    let loaded = discover::tokenizer(&found, &plan.workload.dataset)?;
    let names = Names { model: model.to_owned(), served: model.to_owned(), tokenizer };
    Ok((facts, names, loaded))
}

async fn ask(plan: &BenchPlan, server: &Server) -> Result<BatchServer, ClientError> {
    if plan.backend.is_sglang() {
        let info = server.control.server_info().await?;
        return Ok(BatchServer::of_sglang(info.value().clone()));
    }
    let models = server.control.served_models().await?;
    let first = models.into_iter().next().map(|model| model.id);
    Ok(BatchServer::of_vllm(first.map_or(Value::Null, |name| json!({"model_name": name}))))
}

/// How often a server is asked to empty its cache, and how long to wait between.
const FLUSHES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);
