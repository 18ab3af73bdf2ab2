//! One point after the other.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use servemark_core::{Clock, IfTaken, MonotonicClock, remove_run_log};
use servemark_plan::{Point, SweepSpec};
use tokio::time::{Instant, sleep_until};

use super::folder::{Folder, Undertaking};
use super::{PointScore, SweepRunError};
use crate::audience::News;
use crate::{ExecuteError, Outputs, ProcessError, Run, RunContext, execute};

/// Runs a point, or says what running it would give: what a sweep and a search need of the world.
pub trait Probe {
    /// The point's run.
    fn probe(&mut self, point: Point) -> Result<PointRun, SweepRunError>;
}

/// A point that was run.
#[derive(Debug)]
#[non_exhaustive]
pub struct PointRun {
    /// What was run. Its plan says where its run log is.
    pub point: Point,
    /// Its run.
    pub run: Run,
    /// When.
    pub origin: Origin,
}

/// When a point was run. Closed: it was now or before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// Just now.
    Measured,
    /// Before this sweep was stopped and begun again.
    Resumed,
}

impl PointRun {
    /// What a probe of one's own found of a point.
    pub fn new(point: Point, run: Run) -> Self {
        Self { point, run, origin: Origin::Measured }
    }

    /// The point's numbers by our own definitions, without what they were made of.
    pub fn score(self) -> PointScore {
        PointScore::of(self)
    }
}

/// Runs points of one sweep, in a folder that keeps them if there is one.
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

/// What is done before each point that is measured.
struct Preparation<'a>(Box<PreparePoint<'a>>);

type PreparePoint<'a> = dyn FnMut(&Point) -> Result<(), ProcessError> + 'a;

impl fmt::Debug for Preparation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preparation")
    }
}

impl<'a> PointRunner<'a> {
    /// A runner of the points of a sweep, which are whatever it is given.
    pub fn open(
        spec: &SweepSpec,
        folder: Option<&Path>,
        context: &'a RunContext,
    ) -> Result<Self, SweepRunError> {
        Self::keep(spec, folder, context).map(|(runner, _)| runner)
    }

    /// A runner of whatever makes several runs, and that as it was when it was begun.
    pub(crate) fn keep<U: Undertaking>(
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

    /// What the sweep's prompts are to be salted with: the same when it is begun again.
    pub fn nonce(&self) -> u64 {
        self.folder.nonce()
    }

    /// Lets something be done before each point that is measured.
    pub(crate) fn before_each(
        &mut self,
        work: impl FnMut(&Point) -> Result<(), ProcessError> + 'a,
    ) {
        self.preparation = Some(Preparation(Box::new(work)));
    }

    /// Tries the files that points will write before any of them is run.
    pub(super) fn try_outputs(&self, points: &[Point]) -> Result<(), SweepRunError> {
        let mut outputs = Outputs::default();
        for point in points {
            let mut plan = point.plan.clone();
            plan.output.run_log = plan.output.run_log.filter(|_| !self.folder.keeps_run_logs());
            outputs.add_plan(&plan);
        }
        Ok(outputs.check()?)
    }

    /// Tells how many points there will be.
    pub(super) fn expect(&mut self, points: usize) {
        self.expected = Some(points);
    }

    fn tell(&self, name: &str, is_done: bool) {
        let (number, of) = (self.begun, self.expected);
        self.context.tell(&News::Point { number, of, name, is_done });
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.map_err(ExecuteError::Machine)?.block_on(self.context.unless_stopped(over))
    }
}

impl Probe for PointRunner<'_> {
    fn probe(&mut self, mut point: Point) -> Result<PointRun, SweepRunError> {
        self.begun += 1;
        if let Some(path) = self.folder.log_of(self.begun, &point.name) {
            point.plan.output.run_log = Some(path.clone());
            point.plan.output.run_log_if_taken = IfTaken::Refuse;
            if let Some(log) = Folder::finished(&path, &point.plan.to_json())? {
                self.tell(&point.name, true);
                let run = Run::of_file(log, path);
                return Ok(PointRun { point, run, origin: Origin::Resumed });
            }
            // Of a run that was killed or stopped.
            remove_run_log(&path)?;
        }
        self.tell(&point.name, false);
        if let Some(Preparation(prepare)) = &mut self.preparation {
            prepare(&point).map_err(SweepRunError::Server)?;
        }
        let failed = |source| SweepRunError::Point { name: point.name.clone(), source };
        let run = self.measure(&point).map_err(failed)?;
        Ok(PointRun { point, run, origin: Origin::Measured })
    }
}
