//! SGLang's console table and result line, in the format of 0.5.23 and of three earlier releases.
//!
//! Labels and keys match SGLang's exactly. Servemark adds the number of failed requests to the
//! table and a mark to a run that did not complete, and writes null where Python would write a
//! number that is not valid JSON.

mod cache;
mod columns;
mod line;
mod offline;
mod one_batch;
mod requests;
mod steady;
mod style;
mod table;

pub use line::SglangLine;
pub use offline::{SglangOfflineLine, SglangOfflineTable};
pub use one_batch::{OneBatchReport, OneBatchRequest, OneBatchResult, OneBatchSteady};
pub use requests::RequestLines;
pub use steady::SteadyStateLine;
pub use style::SglangStyle;
pub use table::SglangTable;

/// Options of SGLang's table and line: the release, and the parts that depend on a flag.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SglangOptions {
    /// The release whose format is used.
    pub style: SglangStyle,
    /// Whether the result line has one entry per request (`--output-details`).
    pub output_details: bool,
    /// Whether both show the prompt tokens that came from a prefix cache (`--cache-report`).
    pub cache_report: bool,
}

impl SglangOptions {
    /// Returns the options of a release without any flag.
    pub fn of(style: SglangStyle) -> Self {
        Self { style, ..Self::default() }
    }

    /// Adds one entry per request to the result line.
    #[must_use]
    pub const fn with_output_details(self) -> Self {
        Self { output_details: true, ..self }
    }

    /// Adds the prompt tokens that came from a prefix cache.
    #[must_use]
    pub const fn with_cache_report(self) -> Self {
        Self { cache_report: true, ..self }
    }
}
