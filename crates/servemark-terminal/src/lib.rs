//! Terminal output of a run: messages, progress, tables and exit codes.
//!
//! This is the body of the serving binaries, so that each of them is a few lines. Tables go to
//! standard output and everything else to standard error. Nothing here is on the measured path: the
//! progress bar reads counters ten times a second, and messages are printed between the stages of a
//! run.

#![cfg_attr(
    not(feature = "commands"),
    allow(dead_code, unused_imports, reason = "only the commands use some of the shared parts")
)]

mod bench;
mod cluster;
#[cfg(feature = "commands")]
mod commands;
mod context;
mod documents;
mod entry;
mod failures;
mod live;
mod offline;
mod outputs;
mod report;
mod results;
mod results_folder;
mod rewrite;
mod run_screen;
mod run_table;
mod screen;
mod serve;
mod sglang;
mod slo;
mod sweep;
mod ticker;
#[cfg(feature = "commands")]
mod vllm;

#[cfg(feature = "commands")]
pub use commands::{KeptRun, run_into_folder};
#[cfg(feature = "engine")]
pub use entry::bench_offline;
pub use entry::{bench_embedding, bench_serving};
#[cfg(feature = "commands")]
pub use entry::{dispatch, dispatch_inside};
pub use serve::exit_code_of;
