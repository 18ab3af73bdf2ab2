//! A log, scored: tables for a person, a line for a file, and a verdict for the shell.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use servemark_core::RunLog;
use servemark_metrics::{MetricPolicy, Metrics};
use servemark_plan::{BenchPlan, Layout, ScoringSpec};
use servemark_report::{Layout as Format, Report, ReportFormat, SglangOptions};

use crate::ExitCode;

/// Writes the tables that are asked for, in their order.
///
/// It is a function of the log and nothing else: the same log gives the same bytes, during its run
/// and years after.
pub fn write_tables(log: &RunLog, scoring: &ScoringSpec, out: &mut dyn Write) -> io::Result<()> {
    for layout in &scoring.layouts {
        let (policy, format) = definitions(*layout, options(scoring));
        write(log, policy, scoring, format.table().as_ref(), out)?;
    }
    Ok(())
}

/// Appends the line of SGLang's result file, with an entry for every request if `details` are
/// wanted.
pub fn append_result(
    log: &RunLog,
    scoring: &ScoringSpec,
    details: bool,
    path: &Path,
) -> io::Result<()> {
    let options = options(scoring);
    let options = if details { options.with_output_details() } else { options };
    let (policy, format) = definitions(Layout::Sglang, options);
    let mut line = Vec::new();
    write(log, policy, scoring, format.document().as_ref(), &mut line)?;
    // One write, so that programs which share the file do not share a line.
    OpenOptions::new().create(true).append(true).open(path)?.write_all(&line)
}

/// How a log was to be scored when it was made.
pub fn scoring_of(log: &RunLog) -> Option<ScoringSpec> {
    serde_json::from_value::<BenchPlan>(log.header().plan.clone()).ok().map(|plan| plan.scoring)
}

/// What the exit code says of a run.
pub fn verdict(log: &RunLog, scoring: &ScoringSpec) -> ExitCode {
    if log.footer().is_some_and(|footer| footer.interrupted) {
        return ExitCode::Interrupted;
    }
    let all = log.measured().count();
    let failed = log.measured().filter(|record| !record.is_success()).count();
    let share = failed as f64 / all.max(1) as f64;
    if share > scoring.tolerated_failures { ExitCode::TooManyFailed } else { ExitCode::Ok }
}

fn options(scoring: &ScoringSpec) -> SglangOptions {
    let options = SglangOptions::default();
    if scoring.cache_report { options.with_cache_report() } else { options }
}

fn definitions(layout: Layout, options: SglangOptions) -> (MetricPolicy, Format) {
    match layout {
        Layout::Sglang => (MetricPolicy::sglang(), Format::Sglang(options)),
        _ => (MetricPolicy::native(), Format::Native),
    }
}

fn write(
    log: &RunLog,
    policy: MetricPolicy,
    scoring: &ScoringSpec,
    format: &dyn ReportFormat,
    out: &mut dyn Write,
) -> io::Result<()> {
    let policy = policy.with_slos(scoring.slos.iter().copied());
    let metrics = Metrics::score(log, &policy);
    format.write(&Report::new(log, &metrics), out)
}
