//! Terminal output of a run: messages, progress, tables and exit codes.
//!
//! This is the body of the serving binaries, so that each of them is a few lines. Tables go to
//! standard output and everything else to standard error. Nothing here is on the measured path: the
//! progress bar reads counters ten times a second, and messages are printed between the stages of a
//! run.

mod ab;
mod aisbench;
mod bench;
mod between_runs;
mod cluster;
mod compare;
mod context;
mod documents;
mod entry;
mod evalscope;
mod explore;
mod export;
mod failures;
mod gates;
mod launch;
mod live;
mod live_page;
mod offline;
mod one_batch;
mod outputs;
mod report;
mod rerun;
mod results;
mod results_folder;
mod rewrite;
mod run_file;
mod run_screen;
mod run_table;
mod score;
mod screen;
mod selftest;
mod series;
mod serve;
mod sglang;
mod slices;
mod slo;
mod starter;
mod sweep;
mod ticker;
mod vllm;
mod vllm_sweep;

#[cfg(feature = "engine")]
pub use entry::bench_offline;
pub use entry::{bench_embedding, bench_serving, dispatch, dispatch_inside};
pub use run_file::{KeptRun, run_into_folder};
pub use serve::exit_code_of;
