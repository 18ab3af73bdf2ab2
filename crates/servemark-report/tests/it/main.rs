//! Whole reports: SGLang's and vLLM's compared with recordings, and Servemark's own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod aisbench;
#[path = "../../../servemark-metrics/tests/it/aisbench_golden.rs"]
mod aisbench_golden;
mod aisbench_published;
mod comparison;
// SGLang's scripted runs are read by one shared module; their scores are tested there.
mod dataset_stats;
mod evalscope;
#[cfg(feature = "sqlite")]
mod evalscope_database;
mod evalscope_golden;
mod evalscope_page;
#[path = "../../../servemark-metrics/tests/it/golden.rs"]
mod golden;
mod layouts;
mod offline;
mod older;
mod one_batch;
mod peer;
mod plots;
mod recorded;
mod records;
mod requests;
mod server_figures;
mod sweeps;
mod timelines;
mod verdicts;
mod vllm;
mod vllm_extras;
#[path = "../../../servemark-metrics/tests/it/vllm_golden.rs"]
mod vllm_golden;

use servemark_report::{Report, ReportFormat};

fn report_text(format: &dyn ReportFormat, report: &Report<'_>) -> String {
    let mut out = Vec::new();
    format.write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
