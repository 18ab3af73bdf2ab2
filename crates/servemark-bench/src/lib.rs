//! Servemark as a library: execute a benchmark plan, or compose the crates yourself.
//!
//! [`execute`] runs a whole [`BenchPlan`](plan::BenchPlan): it waits for the server, draws the
//! samples, warms up, measures, and returns the [`RunLog`](core::RunLog), which [`Scores`] turns
//! into tables. A [`Sweep`] runs several plans, an [`SloSearch`] searches for the largest load that
//! keeps its objectives. [`selftest()`] measures the capacity and the accuracy of this machine as a
//! client. The component crates are re-exported for custom harnesses.
//!
//! The [`guide`] has three whole programs. The examples of the package are smaller: `own_backend`,
//! `own_dataset`, `own_transport`, `own_metric`, `own_report`, `own_panel`, `mock_in_tests`,
//! `sse_alone`, `simulate`.
//!
//! # Writing a custom backend
//!
//! A wire dialect is a [`Backend`](backends::Backend), which encodes requests, and a
//! [`Decoder`](backends::Decoder), which decodes answers. Both are independent of sockets,
//! runtimes and clocks.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde::Deserialize;
//! use servemark::backends::{Backend, Decoder, Flow, WireRequest};
//! use servemark::core::{Delta, ErrorKind, RequestError, Sample, Sink};
//! use servemark::sse::Event;
//!
//! /// A server that streams `{"piece": "text"}` and ends with `{"done": true}`.
//! struct Pieces;
//!
//! #[derive(Default)]
//! struct PiecesDecoder {
//!     whole: bool,
//! }
//!
//! #[derive(Deserialize)]
//! struct Frame<'a> {
//!     piece: Option<&'a str>,
//!     #[serde(default)]
//!     done: bool,
//! }
//!
//! impl Backend for Pieces {
//!     type Decoder = PiecesDecoder;
//!
//!     fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
//!         let body = serde_json::json!({"ask": sample.prompt, "most": sample.output_tokens});
//!         WireRequest::json("/pieces", &body)
//!     }
//!
//!     fn decoder(&self, _sample: &Sample) -> PiecesDecoder {
//!         PiecesDecoder::default()
//!     }
//! }
//!
//! impl Decoder for PiecesDecoder {
//!     fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
//!         let frame: Frame<'_> = serde_json::from_slice(event.data())
//!             .map_err(|error| RequestError::new(ErrorKind::Decode, error.to_string()))?;
//!         frame.piece.into_iter().for_each(|piece| out.delta(Delta::content(piece)));
//!         self.whole = frame.done;
//!         Ok(if frame.done { Flow::Done } else { Flow::Continue })
//!     }
//!
//!     fn end(&mut self) -> Result<(), RequestError> {
//!         let cut = || RequestError::new(ErrorKind::Truncated, "no end mark");
//!         self.whole.then_some(()).ok_or_else(cut)
//!     }
//! }
//!
//! // From here on it is a benchmark like any other: a target, a data set, a load.
//! use servemark::core::Session;
//! use servemark::runner::LoadSpec;
//! use servemark::schedule::ArrivalSpec;
//! use servemark::{Bench, Scores};
//!
//! # fn bench() -> Result<(), Box<dyn std::error::Error>> {
//! let stories = vec![Session::from(Sample::new("Tell me a story.", 5, 64)); 100];
//! let (target, load) = ("http://127.0.0.1:9000".parse()?, LoadSpec::new(ArrivalSpec::Burst));
//! let bench = Bench::at(target, ("pieces", Pieces), ("stories", stories), 100, load);
//! let run = bench.run()?;
//! Scores::of(&run.log, &bench.plan.scoring).write_tables(&mut std::io::stdout())?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Bench`] has everything that a run of a bundled dialect has: the run log, the audit of the
//! client, warm-up, several client threads, gates, [`Sweep`] and [`SloSearch`]. `Bench::over` takes
//! a whole transport instead, for servers that do not speak HTTP. `Bench::deferred` takes a
//! [`DeferredBackend`](backends::DeferredBackend), which encodes all requests before the run and
//! decodes answers after they have ended, for dialects that are too slow for the measured path. The
//! [`guide`] adds a latency and a report of the program's own.
//!
//! # Inside an asynchronous program
//!
//! [`execute`] blocks its thread and refuses to do so inside a runtime. [`start`] runs a plan on
//! threads of its own and returns a future, which stops the run when it is dropped. The observer
//! of the [`RunContext`] receives every event and every record; the [`guide`] has a whole program.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use servemark::metrics::{MetricPolicy, Metrics};
//! use servemark::plan::BenchPlan;
//! use servemark::{RunContext, start};
//!
//! # async fn bench(plan: BenchPlan) -> Result<(), Box<dyn std::error::Error>> {
//! let task = start(plan, RunContext::default());
//! // When the time is over, the task is dropped and the run sends nothing more.
//! let run = tokio::time::timeout(Duration::from_secs(60), task).await??;
//! let metrics = Metrics::score(&run.log, &MetricPolicy::native());
//! println!("p99 TTFT: {:?} ms", metrics.latencies.ttft.percentile_ms(99.0));
//! # Ok(())
//! # }
//! ```
//!
//! # Single crates
//!
//! Each component works alone. A run without a plan is a transport, a runner and a place for the
//! records:
//!
//! ```
//! use std::sync::Arc;
//!
//! use servemark::backends::{BackendName, BackendSpec, CommonSpec};
//! use servemark::client::{Credentials, HttpTransport, Target, TargetSpec};
//! use servemark::core::{MonotonicClock, Sample, Session};
//! use servemark::mock::{MockServer, MockSpec};
//! use servemark::pacer::SystemPacer;
//! use servemark::runner::{Collector, LoadSpec, Runner, StopHandle};
//! use servemark::schedule::{ArrivalSpec, Schedule};
//!
//! # async fn bench() -> Result<(), Box<dyn std::error::Error>> {
//! let server = MockServer::start(MockSpec::default())?;
//! let clock = MonotonicClock::start();
//! let target = Target::new(&TargetSpec::new(server.base_url().parse()?), Credentials::new())?;
//! let dialect = BackendSpec::new(BackendName::VllmChat, CommonSpec::new("mock")).build();
//! let transport = Arc::new(HttpTransport::new(target, dialect, clock));
//! let story = Session::from(Sample::new("Tell me a story.", 5, 4));
//! let sessions: Arc<[Session]> = vec![story; 10].into();
//! let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
//! let load = LoadSpec::new(ArrivalSpec::Burst);
//! let runner = Runner::new(SystemPacer::new(clock)?, &load, records.clone(), stop.signal());
//! runner.measure(&transport, &sessions, &Schedule::burst(sessions.len())).await;
//! assert!(records.take().iter().all(|record| record.deltas.first_at().is_some()));
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(bench())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ab;
mod bench;
mod command;
mod compare;
mod context;
mod error;
mod exit_code;
mod explore;
mod full_disk;
mod grace;
pub mod guide;
mod new_path;
mod observer;
mod outputs;
mod parts;
mod peer_files;
mod process;
mod ranks;
mod replace;
mod run;
mod runtime;
mod score;
mod search;
mod selftest;
mod signals;
#[cfg(feature = "peers")]
mod slices;
mod sweep;

pub use ab::{Ab, AbRun, AbServers};
pub use bench::Bench;
pub use command::run_command;
pub use compare::{
    CompareError, ComparedResults, KnownNoise, NoiseStore, compare, compare_for_page,
};
pub use context::RunContext;
pub use error::ExecuteError;
pub use exit_code::ExitCode;
pub use explore::{
    Capacity, ChatRoute, Engine, Exploration, ExploreEvent, ExploreSpec, ExploredServer,
    LevelFigures, OneUser, explore, find_local_server,
};
pub use grace::Grace;
pub use new_path::{create_new_folder, numbered};
pub use observer::{Activity, Live, LiveCounts, Profiler, RunEvent, RunObserver, Switch};
pub use outputs::{OutputError, Outputs};
pub use parts::Parts;
pub use peer_files::{AisbenchSaved, VllmSaved};
pub use process::{ChildStdout, ProcessError, ServerProcess, is_ready, post_to_server};
pub use ranks::{
    LoadDigest, RankError, RankFuture, RankGroup, RankPlace, RankRun, host_name, rank_machine,
};
pub use replace::{is_replaceable, replace_file};
#[cfg(feature = "engine")]
pub use run::check_presence;
pub use run::{
    BatchLimits, BatchRun, BatchRunner, BatchServer, DryRun, Figures, FiguresSource, KeptTokenizer,
    Run, RunTask, SentBodies, SentRequests, dry_run, execute, local_faults, rank_log, start,
};
pub use score::{Scores, offline_latency, offline_throughput, scoring_of, write_runs};
pub use search::{SloAnswer, SloSearch, TierAnswer, Trial, TrialVerdict};
pub use selftest::{
    Accuracy, Cost, Fitness, Lateness, MachineLimits, Placement, Selftest, SelftestSpec,
    SelftestVerdict, StreamCapacity, StreamLimit, StreamResource, selftest,
};
pub use signals::{StopCause, stay_until_stopped, stop_on_signals, stopped_by};
#[cfg(feature = "peers")]
pub use slices::cut_text;
pub use sweep::{
    Origin, PointRun, PointRunner, PointScore, Probe, Sweep, SweepOutcome, SweepRunError,
};

pub use servemark_backends as backends;
pub use servemark_client as client;
pub use servemark_core as core;
pub use servemark_datasets as datasets;
#[cfg(feature = "engine")]
pub use servemark_engine as engines;
pub use servemark_hub as hub;
pub use servemark_metrics as metrics;
pub use servemark_mock as mock;
pub use servemark_pacer as pacer;
pub use servemark_page as page;
pub use servemark_plan as plan;
pub use servemark_report as report;
pub use servemark_rng as rng;
pub use servemark_runner as runner;
pub use servemark_schedule as schedule;
pub use servemark_sse as sse;
pub use servemark_tokenizer as tokenizer;

/// The crates of the body and the headers of a [`WireRequest`](backends::WireRequest).
pub use servemark_backends::{bytes, http};
