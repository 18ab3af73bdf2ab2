//! Servemark, embedded: execute a benchmark plan, or compose the crates yourself.
//!
//! [`execute`] runs a whole [`BenchPlan`](plan::BenchPlan): it waits for the server, draws the
//! samples, warms up, measures, and gives back the [`RunLog`](core::RunLog), which [`Scores`]
//! turns into tables. A [`Sweep`] runs several. [`selftest()`] says what this machine is worth as a client. The parts are re-exported under their own names for a harness of one's own.
//!
//! # A backend of one's own
//!
//! A wire dialect is a [`Backend`](backends::Backend) that encodes and a
//! [`Decoder`](backends::Decoder) that reads. Neither knows a socket, a runtime or a clock.
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
//! // From here on it is a benchmark like any other: a target, a load, and records.
//! use servemark::client::{Credentials, HttpTransport, Target, TargetSpec};
//! use servemark::core::{MonotonicClock, Session};
//! use servemark::pacer::SystemPacer;
//! use servemark::runner::{Collector, LoadSpec, Runner, StopHandle};
//! use servemark::schedule::{ArrivalSpec, Schedule};
//!
//! # async fn bench() -> Result<(), Box<dyn std::error::Error>> {
//! let clock = MonotonicClock::start();
//! let target = Target::new(&TargetSpec::new("http://127.0.0.1:9000".parse()?), Credentials::new())?;
//! let transport = Arc::new(HttpTransport::new(target, Pieces, clock));
//! let story = Session::from(Sample::new("Tell me a story.", 5, 64));
//! let sessions: Arc<[Session]> = vec![story; 100].into();
//! let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
//! let load = LoadSpec::new(ArrivalSpec::Burst);
//! let runner = Runner::new(SystemPacer::new(clock)?, &load, records.clone(), stop.signal());
//! runner.measure(&transport, &sessions, &Schedule::burst(sessions.len())).await;
//! for record in records.take() {
//!     println!("{}: first piece {:?}", record.index, record.deltas.first_at());
//! }
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(bench())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ab;
mod affinity;
mod afterwards;
mod aisbench_files;
mod align;
mod audience;
mod capacity;
mod command;
mod compare;
mod context;
mod differences;
mod discover;
mod draw;
mod drawing;
#[cfg(feature = "engine")]
mod engine;
mod error;
mod evalscope_files;
mod execute;
mod facts;
mod files;
mod grace;
mod greeting;
mod journal;
mod known;
mod noise;
mod offline;
mod one_batch;
mod outputs;
mod probes;
mod process;
mod profiler;
mod replace;
mod salt;
mod score;
mod search;
mod selftest;
mod sent;
mod server;
mod signals;
mod slices;
mod stage;
mod sweep;
mod until;
mod vllm_files;

pub use ab::{Ab, AbRun, AbServers};
pub use aisbench_files::AisbenchSaved;
pub use audience::{Activity, Audience, Live, News, Profiler, Switch};
pub use capacity::{Figures, Source};
pub use command::run_command;
pub use compare::{CompareError, ComparedResults, compare};
pub use context::RunContext;
pub use error::{ExecuteError, ExitCode};
pub use execute::{DryRun, Run, dry_run, execute};
pub use grace::Grace;
pub use noise::{KnownNoise, NoiseStore};
pub use offline::{offline_latency, offline_throughput};
pub use one_batch::{BatchLimits, BatchRun, BatchRunner, BatchServer};
pub use outputs::{OutputError, Outputs};
pub use process::{ProcessError, ServerProcess, Shown, is_ready, tell_server};
pub use replace::{is_replaceable, replace_file};
pub use score::{Scores, scoring_of, write_runs};
pub use search::{SloAnswer, SloSearch, TierAnswer, Trial, TrialVerdict};
pub use selftest::{
    Accuracy, Cost, Fitness, Lateness, MachineLimits, Placement, Selftest, SelftestSpec,
    SelftestVerdict, selftest,
};
pub use sent::{Sent, SentBodies};
pub use signals::{StopCause, stay_until_stopped, stop_on_signals, stopped_by};
pub use slices::cut_text;
pub use sweep::{
    Origin, PointRun, PointRunner, PointScore, Probe, Sweep, SweepOutcome, SweepRunError,
};
pub use vllm_files::VllmSaved;

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
pub use servemark_plan as plan;
pub use servemark_report as report;
pub use servemark_rng as rng;
pub use servemark_runner as runner;
pub use servemark_schedule as schedule;
pub use servemark_sse as sse;
pub use servemark_tokenizer as tokenizer;
