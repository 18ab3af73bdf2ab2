//! SGLang 0.5.23's console table and result line.
//!
//! Both are its own label for label and key for key. We add what a reader must not miss: the number
//! of failed requests in the table, a mark on a run that did not come to its end, and null where
//! Python would write a number that is no JSON.

mod cache;
mod line;
mod offline;
mod one_batch;
mod requests;
mod steady;
mod table;

pub use line::SglangLine;
pub use offline::{SglangOfflineLine, SglangOfflineTable};
pub use one_batch::{OneBatchAsked, OneBatchReport, OneBatchResult, OneBatchSteady};
pub use requests::RequestLines;
pub use steady::SteadyStateLine;
pub use table::SglangTable;

/// The parts that SGLang writes only when a flag asks for them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct SglangOptions {
    /// One entry per request in the result line (`--output-details`).
    pub output_details: bool,
    /// Prompt tokens from a prefix cache, in both (`--cache-report`).
    pub cache_report: bool,
}

impl SglangOptions {
    /// The same with one entry per request in the result line.
    #[must_use]
    pub const fn with_output_details(self) -> Self {
        Self { output_details: true, ..self }
    }

    /// The same with prompt tokens from a prefix cache.
    #[must_use]
    pub const fn with_cache_report(self) -> Self {
        Self { cache_report: true, ..self }
    }
}
