//! The load generator: sends each prepared request when it is due.
//!
//! The schedule is absolute and is never re-anchored: a late wake-up makes one request late and not
//! all that follow. A concurrency limit is one FIFO gate, and the time that a request waited at it
//! is in its record. The crate knows no HTTP, no file and no metric: it sends through a
//! [`Transport`](servemark_core::Transport) and reports to an [`Observer`].

mod alarm;
mod backlog;
mod conversation;
mod cost;
mod deadline;
mod erased;
mod fleet;
mod gate;
mod in_flight;
mod load;
mod look_ahead;
mod observer;
mod pace;
mod places;
mod run_state;
mod runner;
mod session_run;
mod share;
mod start;
mod stop;

pub use backlog::Backlog;
pub use conversation::sent_samples;
pub use cost::CostMeter;
pub use fleet::{Fleet, Measured};
pub use load::{History, LeadInSpec, LoadSpec, LookAheadSpec, RetrySpec, SessionSpec, WarmupSpec};
pub use observer::{Collector, Observer};
pub use places::{PlaceCounts, SharedPlaces};
pub use runner::Runner;
pub use share::Share;
pub use start::{StartBarrier, StartFuture};
pub use stop::{Stop, StopHandle, StopSignal};
