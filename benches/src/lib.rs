//! What the benches share, and the study of what the client itself costs and how far it errs.
//!
//! The micro benches under `benches/` time one crate each on the inputs that [`streams`] and
//! [`logs`] make. The `overhead` module runs the client against the ground-truth server, whose own
//! stamps are the truth, beside a reader that does nothing but read; the `prepare` module draws large
//! data sets beside SGLang's client; the `memory` module says what streams and tokens take; the `calibration` module holds
//! confidence intervals and searches against simulated truths. All of it uses the workspace through its facade, as an outside
//! user would.

pub mod calibration;
pub mod logs;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod overhead;
pub mod prepare;
mod resident;
pub mod streams;
