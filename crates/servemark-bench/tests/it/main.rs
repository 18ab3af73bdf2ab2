//! Complete runs against the bundled simulator.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod aisbench_files;
mod bottlenecks;
mod cache_audit;
mod contamination;
mod deferred;
#[cfg(all(target_os = "linux", feature = "http2"))]
mod http2;
mod listener;
mod own_parts;
mod pages;
mod permanent;
#[cfg(unix)]
mod process;
mod profiling;
mod reuse;
mod runs;
mod searches;
mod selftest;
#[cfg(feature = "peers")]
mod sent_requests;
mod server_times;
mod sessions;
mod sweeps;
mod telemetry;
mod vllm_files;
