//! Servemark's own table and document.

mod anatomy;
mod audit;
mod cache_audit;
mod document;
mod energy;
mod engine;
mod latencies;
mod limits;
mod load;
mod output;
mod ranks;
mod score_json;
mod series;
mod server_work;
mod sessions;
mod settled_run;
mod style;
mod summary;
mod table;
mod truth;

pub use anatomy::{first_output_parts, untold_parts};
pub use document::NativeJson;
pub(crate) use latencies::requests_needed;
pub use score_json::ScoreJson;
pub use summary::RunSummary;
pub use table::NativeTable;
