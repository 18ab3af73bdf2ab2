//! vLLM's console table and result files, in the format of 0.33.0 and of four earlier releases.
//!
//! Labels and keys match vLLM's exactly. Servemark adds, under names that vLLM does not use,
//! metrics by its own definitions and the server's prefix cache counters. It writes null where
//! Python would write a number that is not valid JSON.

mod entries;
mod families;
mod file_name;
mod lists;
mod local_time;
mod options;
mod own;
mod pytorch;
mod ramp;
mod result;
mod style;
mod table;

pub use file_name::vllm_file_name;
pub use lists::ResultDetails;
pub use options::{VllmMetric, VllmOptions};
pub use pytorch::vllm_pytorch_records;
pub use result::VllmResult;
pub use style::VllmStyle;
pub use table::VllmTable;

use servemark_core::RunFacts;

use crate::Report;

/// Returns the inverse real-time factor of transcription; `None` for other backends, where vLLM does
/// not measure the length of the audio.
fn speed_of_speech(report: &Report<'_>) -> Option<f64> {
    let backend = report.log.header().facts.backend.as_str();
    report.metrics.inverse_real_time_factor.filter(|_| backend == "openai-audio")
}

/// Returns the request rate asked for, if it is finite, even if a trace determines the send times.
fn requested_rate(facts: &RunFacts) -> Option<f64> {
    match facts.echo.get("request_rate") {
        Some(asked) => asked.as_f64(),
        None => facts.request_rate,
    }
}
