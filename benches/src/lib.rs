//! Inputs that the benches share, and studies of the client's own cost and error.
//!
//! The micro benches under `benches/` time one crate each on the inputs that [`streams`], [`logs`]
//! and [`expositions`] create. The `overhead` module runs the client against the ground-truth
//! server, whose own stamps are the truth, and compares it with a reader that only reads. The
//! `prepare` module draws large data sets and compares the time with SGLang's client. The `sampler`
//! module measures what reading the metrics of servers costs beside a run. The `memory` module
//! measures the memory of streams and tokens. The `calibration` module tests confidence intervals
//! and searches on simulated truths. All modules use the workspace through its facade, as an
//! external user would.

pub mod calibration;
pub mod expositions;
pub mod logs;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod overhead;
pub mod prepare;
mod resident;
#[cfg(target_os = "linux")]
pub mod sampler;
pub mod streams;
