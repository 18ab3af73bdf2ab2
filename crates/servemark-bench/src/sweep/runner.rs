//! Executes single points of a sweep.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use servemark_core::{Clock, IfTaken, MonotonicClock, remove_run_log};
use servemark_plan::{Point, SweepSpec};
use tokio::time::{Instant, sleep_until};

use super::folder::{Folder, Resumable};
use super::{PointScore, SweepRunError};
use crate::observer::RunEvent;
use crate::runtime::on_this_thread;
use crate::{ExecuteError, Outputs, ProcessError, Run, RunContext, execute};

/// Executes points for a sweep, search or A/B comparison. An implementation may compute the
/// result instead of measuring it.
pub trait Probe {
    /// Returns the run of a point.
    fn probe(&mut self, point: Point) -> Result<PointRun, SweepRunError>;
}

/// A completed point.
#[derive(Debug)]
pub struct PointRun {
    /// The point with its plan, which contains the path of the run log.
    pub point: Point,
    /// The run of the point.
    pub run: Run,
    /// Whether the point was measured now or read from its run log.
    pub origin: Origin,
}

/// Whether a point was measured now or read from its run log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// The point was measured by this process.
    Measured,
    /// The point was measured by an earlier process and read from its run log.
    Resumed,
}

impl PointRun {
    /// Creates the result of a custom probe for a point.
    pub fn new(point: Point, run: Run) -> Self {
        Self { point, run, origin: Origin::Measured }
    }

    /// Returns the score of the point by Servemark's own definitions, without the records.
    pub fn score(self) -> PointScore {
        PointScore::of(self)
    }
}

/// Executes the points of one sweep and keeps their run logs in a folder, if there is one.
#[derive(Debug)]
pub struct PointRunner<'a> {
    context: &'a RunContext,
    folder: Folder,
    cool_down: Duration,
    expected: Option<usize>,
    begun: usize,
    measured: usize,
    preparation: Option<Preparation<'a>>,
}

/// Callback that runs before each measured point.
struct Preparation<'a>(Box<PreparePoint<'a>>);

type PreparePoint<'a> = dyn FnMut(&Point) -> Result<(), ProcessError> + 'a;

impl fmt::Debug for Preparation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preparation")
    }
}

impl<'a> PointRunner<'a> {
    /// Opens a runner for points that are chosen by the caller.
    pub fn open(
        spec: &SweepSpec,
        folder: Option<&Path>,
        context: &'a RunContext,
    ) -> Result<Self, SweepRunError> {
        Self::keep(spec, folder, context).map(|(runner, _)| runner)
    }

    /// Opens a runner for a spec. Returns the spec as stored in the folder's manifest.
    pub(crate) fn keep<U: Resumable>(
        spec: &U,
        folder: Option<&Path>,
        context: &'a RunContext,
    ) -> Result<(Self, U), SweepRunError> {
        let (folder, spec) = Folder::open(folder, spec)?;
        let cool_down = spec.isolation().cool_down;
        let runner = Self {
            context,
            folder,
            cool_down,
            expected: None,
            begun: 0,
            measured: 0,
            preparation: None,
        };
        Ok((runner, spec))
    }

    /// Returns the nonce for the sweep's prompts; it stays the same when the sweep is resumed.
    pub fn nonce(&self) -> u64 {
        self.folder.nonce()
    }

    /// Sets a callback that runs before each measured point.
    pub(crate) fn before_each(
        &mut self,
        work: impl FnMut(&Point) -> Result<(), ProcessError> + 'a,
    ) {
        self.preparation = Some(Preparation(Box::new(work)));
    }

    /// Checks the output files of all points before any of them is run.
    pub(super) fn try_outputs(&self, points: &[Point]) -> Result<(), SweepRunError> {
        let mut outputs = Outputs::default();
        for point in points {
            let mut plan = point.plan.clone();
            plan.output.run_log = plan.output.run_log.filter(|_| !self.folder.keeps_run_logs());
            outputs.add_plan(&plan);
        }
        Ok(outputs.check()?)
    }

    /// Sets the total number of points for progress events.
    pub(super) fn expect(&mut self, points: usize) {
        self.expected = Some(points);
    }

    fn emit(&self, name: &str, is_done: bool) {
        let (number, of) = (self.begun, self.expected);
        self.context.emit(&RunEvent::Point { number, of, name, is_done });
    }

    fn measure(&mut self, point: &Point) -> Result<Run, ExecuteError> {
        if self.measured > 0 {
            self.cool_down()?;
        }
        self.measured += 1;
        execute(&point.plan, self.context)
    }

    fn cool_down(&self) -> Result<(), ExecuteError> {
        let rest = self.cool_down;
        if rest.is_zero() {
            return Ok(());
        }
        let clock = MonotonicClock::start();
        let over = async {
            sleep_until(Instant::from_std(clock.instant(clock.now() + rest))).await;
            Ok(())
        };
        on_this_thread(self.context.unless_stopped(over))
    }
}

impl Probe for PointRunner<'_> {
    fn probe(&mut self, mut point: Point) -> Result<PointRun, SweepRunError> {
        self.begun += 1;
        if let Some(path) = self.folder.log_of(self.begun, &point.name) {
            point.plan.output.run_log = Some(path.clone());
            point.plan.output.run_log_if_taken = IfTaken::Refuse;
            if let Some(log) = Folder::finished(&path, &point.plan.to_json())? {
                self.emit(&point.name, true);
                let run = Run::of_file(log, path);
                return Ok(PointRun { point, run, origin: Origin::Resumed });
            }
            // The log is left over from a run that was killed or stopped.
            remove_run_log(&path)?;
        }
        self.emit(&point.name, false);
        if let Some(Preparation(prepare)) = &mut self.preparation {
            prepare(&point).map_err(SweepRunError::Server)?;
        }
        let failed = |source| SweepRunError::Point { name: point.name.clone(), source };
        let run = self.measure(&point).map_err(failed)?;
        Ok(PointRun { point, run, origin: Origin::Measured })
    }
}
