//! Executes the points of a sweep, one after the other.
//!
//! A [`Sweep`] iterates over its points, so that the caller can print, plot or stop between two
//! of them. If it has a folder, it writes a run log for every point and a manifest of the sweep
//! there. When it is opened again, it continues where it was stopped or killed.

mod error;
mod folder;
mod outcome;
mod runner;

use std::path::Path;
use std::vec;

use servemark_plan::{Point, SweepSpec};
use servemark_runner::Stop;

pub use self::error::SweepRunError;
pub use self::outcome::{PointScore, SweepOutcome};
pub use self::runner::{Origin, PointRun, PointRunner, Probe};
use crate::RunContext;

/// Iterator over the points of a sweep; each point is executed by the call of `next`.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use servemark::core::NoProgress;
/// use servemark::page::GridFormat;
/// use servemark::{RunContext, Sweep, SweepOutcome};
///
/// # fn run(spec: &servemark::plan::SweepSpec) -> Result<(), Box<dyn std::error::Error>> {
/// let context = RunContext::new(Arc::new(NoProgress));
/// let mut outcome = SweepOutcome::default();
/// for done in Sweep::open(spec, Some(Path::new("sweep")), &context)? {
///     outcome.add(done?.score());
/// }
/// outcome.write(GridFormat::Markdown, &mut std::io::stdout())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sweep<'a> {
    points: vec::IntoIter<Point>,
    runner: PointRunner<'a>,
    context: &'a RunContext,
}

impl<'a> Sweep<'a> {
    /// Opens a sweep that keeps its run logs in `folder`, or at the paths of its plans. An
    /// existing folder must belong to the same sweep; complete points in it are not repeated.
    pub fn open(
        spec: &SweepSpec,
        folder: Option<&Path>,
        context: &'a RunContext,
    ) -> Result<Self, SweepRunError> {
        let (mut runner, spec) = PointRunner::keep(spec, folder, context)?;
        let points = spec.points(runner.nonce())?;
        runner.try_outputs(&points)?;
        runner.expect(points.len());
        Ok(Self { points: points.into_iter(), runner, context })
    }
}

/// The iterator ends when all points are done or the user stops.
impl Iterator for Sweep<'_> {
    type Item = Result<PointRun, SweepRunError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.context.stop.signal().is(Stop::Drain) {
            return None;
        }
        match self.runner.probe(self.points.next()?) {
            Err(error) if error.is_stop() => None,
            probed => Some(probed),
        }
    }
}
