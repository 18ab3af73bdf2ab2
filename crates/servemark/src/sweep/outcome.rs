//! What a sweep found.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;
use servemark_metrics::{Audit, Metrics};
use servemark_plan::Layout;
use servemark_report::{GridFormat, SweepReport, SweepRow};

use super::PointRun;
use crate::{ExitCode, Scores};

/// What a sweep found: the numbers of its points, in their order.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SweepOutcome {
    /// The points that were run.
    pub points: Vec<PointScore>,
}

/// A point and its numbers by our own definitions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PointScore {
    /// What it is called.
    pub name: String,
    /// What makes it another point than the others.
    pub settings: Vec<(String, Value)>,
    /// Its numbers.
    pub metrics: Metrics,
    /// What the client did to them.
    pub audit: Audit,
    /// Its run log, if it has a file.
    pub run_log: Option<PathBuf>,
    /// How its run went.
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
    /// Takes note of the next point.
    pub fn add(&mut self, point: PointScore) {
        self.points.push(point);
    }

    /// The worst of the points' exit codes.
    pub fn exit_code(&self) -> ExitCode {
        let codes = self.points.iter().map(|point| point.exit_code);
        codes.max().unwrap_or(ExitCode::Ok)
    }

    /// Writes one row for each point, and plots where the format has them.
    pub fn write(&self, format: GridFormat, out: &mut dyn Write) -> io::Result<()> {
        SweepReport::of(self.points.iter().map(PointScore::row)).write(format, out)
    }
}

/// A line for who waits for the next point.
impl fmt::Display for PointScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.row().fmt(f)
    }
}
