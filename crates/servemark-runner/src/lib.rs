//! The load generator: sends each prepared request when it is due.
//!
//! The schedule is absolute and is never re-anchored: a late wake-up makes one request late and
//! not all that follow. A concurrency limit is one FIFO gate, and how long a request waited at it
//! is kept in its record. The crate knows no HTTP, no file and no metric; what it sends goes
//! through a [`Transport`](servemark_core::Transport) and what it learns goes to an [`Observer`].

mod airborne;
mod alarm;
mod backlog;
mod conversation;
mod cost;
mod deadline;
mod fleet;
mod flight;
mod gate;
mod load;
mod look_ahead;
mod observer;
mod orders;
mod pace;
mod runner;
mod share;
mod start;
mod stop;

pub use backlog::Backlog;
pub use conversation::asked;
pub use cost::CostMeter;
pub use fleet::{Fleet, Measured};
pub use load::{History, LeadInSpec, LoadSpec, LookAheadSpec, RetrySpec, SessionSpec, WarmupSpec};
pub use observer::{Collector, Observer};
pub use runner::Runner;
pub use share::Share;
pub use stop::{Stop, StopHandle, StopSignal};
