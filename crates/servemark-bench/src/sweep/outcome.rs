//! Results of a sweep.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;
use servemark_metrics::{Audit, Metrics};
use servemark_page::{GridFormat, write_sweep};
use servemark_plan::Layout;
use servemark_report::{SweepReport, SweepRow};

use super::PointRun;
use crate::{ExitCode, Scores};

/// Results of a sweep: the scores of its points in order.
#[derive(Debug, Default)]
pub struct SweepOutcome {
    /// Scores of the points that were run.
    pub points: Vec<PointScore>,
}

/// Score of a point by Servemark's own definitions.
#[derive(Clone, Debug)]
pub struct PointScore {
    /// Name of the point.
    pub name: String,
    /// Settings that distinguish the point from the others.
    pub settings: Vec<(String, Value)>,
    /// Metrics of the run.
    pub metrics: Metrics,
    /// Audit of the client's effect on the metrics.
    pub audit: Audit,
    /// Path of the run log, if the run has a file.
    pub run_log: Option<PathBuf>,
    /// Exit code of the run.
    pub exit_code: ExitCode,
}

impl PointScore {
    pub(super) fn of(done: PointRun) -> Self {
        let PointRun { point, run, .. } = done;
        let scoring = &point.plan.scoring;
        let scores = Scores::of_run(&run, scoring);
        Self {
            metrics: scores.metrics(Layout::Native).clone(),
            audit: scores.audit().clone(),
            exit_code: scores.exit_code(),
            name: point.name,
            settings: point.settings,
            run_log: run.run_log,
        }
    }

    fn row(&self) -> SweepRow<'_> {
        SweepRow::new(&self.name, &self.settings, &self.metrics, &self.audit)
    }
}

impl SweepOutcome {
    /// Adds the next point.
    pub fn add(&mut self, point: PointScore) {
        self.points.push(point);
    }

    /// Returns the largest exit code of the points.
    pub fn exit_code(&self) -> ExitCode {
        let codes = self.points.iter().map(|point| point.exit_code);
        codes.max().unwrap_or(ExitCode::Ok)
    }

    /// Writes one row for each point, and plots if the format has them.
    pub fn write(&self, format: GridFormat, out: &mut dyn Write) -> io::Result<()> {
        let report = SweepReport::of(self.points.iter().map(PointScore::row));
        match format.text() {
            Some(format) => report.write(format, out),
            None => write_sweep(&report, env!("CARGO_PKG_VERSION"), out),
        }
    }
}

/// Writes one line with the headline figures of the point.
impl fmt::Display for PointScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.row().fmt(f)
    }
}
