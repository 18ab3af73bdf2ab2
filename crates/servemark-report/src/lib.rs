//! Text and files from metrics: Servemark's tables and each peer's exact layout.
//!
//! A [`Report`] is a run with its metrics; a [`ReportFormat`] serializes it. Equal reports give
//! equal bytes on every machine. Formats compute no metric, read no clock, open no file and know no
//! command line: settings that a peer's file repeats are facts of the run.

mod aisbench;
mod benchmark_report;
mod boxes;
mod calls;
pub mod chart;
pub mod columns;
mod comparison;
mod dataset_stats;
mod embedding;
mod evalscope;
mod evalscope_search;
mod fifty_columns;
mod file_name;
mod gates;
mod grid;
mod layout;
mod native;
mod offline;
mod page;
mod pareto;
#[cfg(feature = "parquet")]
mod parquet;
mod plot;
mod records;
mod several;
mod sglang;
mod slo;
mod sweep;
mod table;
mod timeline;
mod vllm;
mod vllm_extras;

pub use aisbench::{
    AisbenchCsv, AisbenchDetails, AisbenchFailed, AisbenchFailures, AisbenchInputs, AisbenchJson,
    AisbenchOptions, AisbenchPart, AisbenchRps, AisbenchSpeculation, AisbenchSpeculationJson,
    AisbenchTable, AisbenchTimeline, PrefillRow, RateTarget,
};
pub use benchmark_report::BenchmarkReport;
pub use comparison::{Side, comparison_json, figure_in, write_changes, write_comparison};
pub use dataset_stats::DatasetStatsPlot;
pub use embedding::{EmbeddingTable, grid_settings, write_grid};
#[cfg(feature = "sqlite")]
pub use evalscope::{EvalscopeDatabaseError, save_evalscope_database};
pub use evalscope::{
    EvalscopeOptions, EvalscopeRates, EvalscopeRun, EvalscopeStyle, EvalscopeSubject,
    EvalscopeSummary, EvalscopeSweep, EvalscopeTable,
};
pub use evalscope_search::{
    EvalscopeProbe, EvalscopeSelection, evalscope_search_json, write_evalscope_search,
};
pub use file_name::ResultFileName;
pub use gates::{Gate, GateReport};
pub use grid::{GridRows, TableFormat};
pub use layout::{Layout, Report, ReportFormat};
pub use native::{
    NativeJson, NativeTable, RunSummary, ScoreJson, first_output_parts, untold_parts,
};
pub use offline::{MeasuredOver, OfflineLatency, OfflineThroughput};
pub use pareto::frontier;
#[cfg(feature = "parquet")]
pub use parquet::{
    ParquetExportError, write_requests_parquet, write_series_parquet, write_tokens_parquet,
};
pub use plot::ThroughputPlots;
pub use records::{
    Binner, Filter, Pareto, ParetoSpec, Records, RecordsError, Relation, RelationSpec,
};
pub use several::write_several;
pub use sglang::{
    OneBatchReport, OneBatchRequest, OneBatchResult, OneBatchSteady, RequestLines, SglangLine,
    SglangOfflineLine, SglangOfflineTable, SglangOptions, SglangStyle, SglangTable,
    SteadyStateLine,
};
pub use slo::{SloReport, SloRow, SloTierAnswer, display_factor};
pub use sweep::{SweepReport, SweepRow};
pub use table::{TableLine, TablePart, TableSection, labelled};
pub use timeline::TimelinePlot;
pub use vllm::{
    ResultDetails, VllmMetric, VllmOptions, VllmResult, VllmStyle, VllmTable, vllm_file_name,
    vllm_pytorch_records,
};
pub use vllm_extras::{PlateauTable, SweptRun, TurnsTable, write_swept};
