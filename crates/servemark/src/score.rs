//! A log, scored: tables for a person, lines for files, and a verdict for the shell.

use std::cell::OnceCell;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use servemark_core::{Header, RunLog};
use servemark_metrics::{MetricPolicy, Metrics};
use servemark_plan::{BenchPlan, Layout, ScoringSpec};
use servemark_report::{
    GridFormat, Layout as Format, Report, ReportFormat, RequestLines, SglangOptions,
    SteadyStateLine, ThroughputPlots, write_grid,
};

use crate::ExitCode;

/// A log with its scores. Each is made when the first report needs it, and only once.
///
/// They are a function of the log and nothing else: the same log gives the same bytes, during its
/// run and years after.
#[derive(Debug)]
pub struct Scores<'a> {
    log: &'a RunLog,
    scoring: &'a ScoringSpec,
    sglang: OnceCell<Metrics>,
    native: OnceCell<Metrics>,
}

impl<'a> Scores<'a> {
    /// A log, to be scored as `scoring` says.
    pub fn of(log: &'a RunLog, scoring: &'a ScoringSpec) -> Self {
        Self { log, scoring, sglang: OnceCell::new(), native: OnceCell::new() }
    }

    /// Writes the tables that are asked for, in their order, after the lines about each request
    /// and the plots if there are to be any.
    pub fn write_tables(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(first) = self.scoring.layouts.first().copied() {
            if self.scoring.print_requests {
                self.write(first, &RequestLines, out)?;
            }
            if self.scoring.plots {
                self.write(first, &ThroughputPlots, out)?;
            }
        }
        for layout in &self.scoring.layouts {
            let format = match layout {
                Layout::Sglang => Format::Sglang(self.options()),
                Layout::Embedding => Format::Embedding,
                _ => Format::Native,
            };
            self.write(*layout, format.table().as_ref(), out)?;
        }
        Ok(())
    }

    /// Appends the line of SGLang's result file, with an entry for every request if `details` are
    /// wanted.
    pub fn append_result(&self, details: bool, path: &Path) -> io::Result<()> {
        let options = self.options();
        let options = if details { options.with_output_details() } else { options };
        self.append(Format::Sglang(options).document().as_ref(), path)
    }

    /// Appends the line of SGLang's steady-state file. Says whether there was a steady state to
    /// write of.
    pub fn append_steady_state(&self, path: &Path) -> io::Result<bool> {
        let is_found = self.metrics(Layout::Sglang).steady_state.is_some();
        self.append(&SteadyStateLine, path).map(|()| is_found)
    }

    /// What the exit code says of the run.
    pub fn verdict(&self) -> ExitCode {
        verdict(self.log, self.scoring)
    }

    /// One write, so that programs which share the file do not share a line.
    fn append(&self, format: &dyn ReportFormat, path: &Path) -> io::Result<()> {
        let mut line = Vec::new();
        self.write(Layout::Sglang, format, &mut line)?;
        OpenOptions::new().create(true).append(true).open(path)?.write_all(&line)
    }

    fn write(
        &self,
        layout: Layout,
        format: &dyn ReportFormat,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        format.write(&Report::new(self.log, self.metrics(layout)), out)
    }

    fn metrics(&self, layout: Layout) -> &Metrics {
        let (cell, policy): (_, fn() -> MetricPolicy) = match layout {
            Layout::Sglang => (&self.sglang, MetricPolicy::sglang),
            _ => (&self.native, MetricPolicy::native),
        };
        let asked = |policy: MetricPolicy| {
            let slos = self.scoring.slos.iter().copied();
            policy.with_slos(slos).with_steady_state(self.scoring.steady_state)
        };
        cell.get_or_init(|| Metrics::score(self.log, &asked(policy())))
    }

    fn options(&self) -> SglangOptions {
        let options = SglangOptions::default();
        if self.scoring.cache_report { options.with_cache_report() } else { options }
    }
}

/// Writes a grid of runs, a row each.
pub fn write_runs(logs: &[RunLog], format: GridFormat, out: &mut dyn Write) -> io::Result<()> {
    let score = |log| Metrics::score(log, &MetricPolicy::native());
    let metrics: Vec<Metrics> = logs.iter().map(score).collect();
    let pairs = logs.iter().zip(&metrics);
    let reports: Vec<_> = pairs.map(|(log, metrics)| Report::new(log, metrics)).collect();
    write_grid(&reports, format, out)
}

/// How a log was to be scored when it was made.
pub fn scoring_of(header: &Header) -> Option<ScoringSpec> {
    serde_json::from_value::<BenchPlan>(header.plan.clone()).ok().map(|plan| plan.scoring)
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
