//! Offline engines, which answer requests without a server.
//!
//! An [`EngineSpec`] selects an engine, an [`Engine`] is a loaded one, and an [`EngineTransport`]
//! carries requests to it like any other transport: data sets, the load generator, records and
//! scores are those of online serving. SGLang and vLLM run in a worker process of their own Python;
//! a [`StepEngine`] runs in this program, step by step on a thread of its own.
//!
//! All stamps are on the run's clock. A worker reads the machine's monotonic clock, which is the
//! same clock, immediately before and after the engine's calls.

#[cfg(feature = "candle")]
mod candle;
mod candle_spec;
mod detokenize;
mod engine;
mod error;
mod intake;
mod presence;
mod reply_router;
mod request;
mod scripted;
#[cfg(unix)]
mod shared_clock;
mod spec;
mod step;
mod transport;
#[cfg_attr(not(unix), path = "no_worker.rs")]
mod worker;

#[cfg(feature = "candle")]
pub use candle::CandleEngine;
pub use candle_spec::{CandleSpec, LoadFormat};
pub use engine::{Engine, EngineControl};
pub use error::{EngineError, LastLines, WorkerExit};
pub use intake::Waves;
pub use request::{EnginePrompt, EngineRequest, RequestId, Sampling};
pub use scripted::{Fault, ScriptedEngine, ScriptedSpec};
pub use spec::{EngineRunSpec, EngineSpec, PromptForm, Submission, WorkerEngine, WorkerSpec};
pub use step::{Emission, StepEngine};
pub use transport::{EngineCall, EngineTransport};
