//! The life of a run: prepare, warm up, measure, finish.
//!
//! [`execute`] takes these steps for every kind of [`System`]. Its files, in the order of a run:
//! `prepare` (names, files, tokenizer, drawn load), `warm_up`, `measure`, `finish`.

pub(crate) mod affinity;
mod align;
mod cache_audit;
mod cache_bust;
pub(crate) mod capacity;
mod discover;
mod draw;
pub(crate) mod drawing;
mod encode_ahead;
#[cfg(feature = "engine")]
mod engine;
mod execute;
mod facts;
pub(crate) mod files;
mod finish;
mod greeting;
mod http;
mod kept_tokenizer;
mod local_faults;
mod measure;
mod one_batch;
mod outcome;
mod prepare;
mod probes;
mod profiler;
mod provided;
mod ranked;
mod run_log_sink;
mod sent_requests;
mod server;
mod shared_prefixes;
mod system;
mod task;
mod telemetry;
mod until;
mod warm_up;

pub use self::capacity::{Figures, FiguresSource};
#[cfg(feature = "engine")]
pub use self::engine::check_presence;
pub use self::execute::{DryRun, dry_run, execute};
pub use self::kept_tokenizer::KeptTokenizer;
pub use self::local_faults::local_faults;
pub use self::one_batch::{BatchLimits, BatchRun, BatchRunner, BatchServer};
pub use self::outcome::Run;
pub use self::ranked::rank_log;
pub use self::sent_requests::{SentBodies, SentRequests};
pub use self::task::{RunTask, start};
