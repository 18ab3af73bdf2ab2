//! Runs one plan against two servers in alternation until the difference between them is known,
//! or against one server to measure how much repeated runs vary.
//!
//! An [`Ab`] iterates over its runs, as a [`Sweep`](crate::Sweep) iterates over its points. If it
//! has a folder, it writes a run log there for every run; when it is opened again, complete runs
//! are read from their logs and not repeated.

mod servers;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use servemark_core::Header;
use servemark_metrics::{
    Audit, ChangeKnown, Estimand, Figure, MetricPolicy, Metrics, Precision, RunSpread,
};
use servemark_page::RepeatsPage;
use servemark_plan::AbSpec;
use servemark_report::{SweepReport, SweepRow};

pub use self::servers::AbServers;
use crate::{ExitCode, PointRun, PointRunner, Probe, RunContext, Scores, SweepRunError};

/// Iterator over runs against one server or two servers; each run is executed by the call of
/// `next`.
#[derive(Debug)]
pub struct Ab<P> {
    spec: AbSpec,
    nonce: u64,
    probe: P,
    figures: Vec<Figure>,
    policy: MetricPolicy,
    runs: Vec<AbRun>,
    header: Option<Header>,
    is_stopped: bool,
}

/// A completed run of an [`Ab`].
#[derive(Clone, Debug)]
pub struct AbRun {
    /// Zero-based index of the run's server.
    pub side: usize,
    /// Name of the run, such as `round=2,side=b`.
    pub name: String,
    /// Path of the run log, if the run has a file.
    pub run_log: Option<PathBuf>,
    /// Exit code of the run.
    pub exit_code: ExitCode,
    /// Metrics of the run by Servemark's own definitions.
    pub metrics: Metrics,
    /// Audit of the client in the run.
    pub audit: Audit,
}

impl<'a> Ab<PointRunner<'a>> {
    /// Opens the runs whose logs are kept in `folder`. An existing folder must belong to the same
    /// spec; complete runs in it are not repeated. If a server has a command, the server is
    /// started before its runs and stopped before a run against the other server.
    pub fn open(
        spec: &AbSpec,
        folder: &Path,
        context: &'a RunContext,
        servers: Option<AbServers>,
    ) -> Result<Self, SweepRunError> {
        let (mut runner, spec) = PointRunner::keep(spec, Some(folder), context)?;
        if let Some(mut servers) = servers {
            let plan = (*spec.base).clone();
            runner.before_each(move |point| servers.serve(point, &plan, context));
        }
        let nonce = runner.nonce();
        Ok(Self::driving(runner, spec, nonce))
    }
}

impl<P: Probe> Ab<P> {
    /// Creates an `Ab` whose runs are executed by `probe`. `nonce` makes the prompts differ from
    /// those of other `Ab`s.
    pub fn driving(probe: P, spec: AbSpec, nonce: u64) -> Self {
        let mut figures = Figure::compared();
        let mut policy = MetricPolicy::native();
        for target in spec.until.iter().flat_map(|until| &until.targets) {
            let figure = target.of.figure();
            if !figures.contains(&figure) {
                figures.push(figure);
            }
            if let Some(percent) = target.of.percent()
                && !policy.percentiles.contains(&percent)
            {
                policy.percentiles.push(percent);
            }
        }
        let (runs, header, is_stopped) = (Vec::new(), None, false);
        Self { spec, nonce, probe, figures, policy, runs, header, is_stopped }
    }

    /// Returns the completed runs in order of execution.
    pub fn runs(&self) -> &[AbRun] {
        &self.runs
    }

    /// Returns the header of the first run's log.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Estimates the targeted changes from the completed rounds.
    pub fn estimates(&self) -> Vec<ChangeKnown> {
        let Some(until) = &self.spec.until else { return Vec::new() };
        let most = self.spec.rounds.get() as usize;
        let known = |target: &Precision| {
            let [before, after] = [0, 1].map(|side| self.values(side, target.of.figure()));
            ChangeKnown::of_pairs(*target, &before, &after, most, until.confidence)
        };
        until.targets.iter().map(known).collect()
    }

    /// Returns the spread of each figure between the runs of server A.
    pub fn spreads(&self) -> Vec<RunSpread> {
        let of = |figure: &Figure| RunSpread::of(*figure, &self.values(0, *figure));
        self.figures.iter().filter_map(of).collect()
    }

    /// Writes the page of the runs of server A: the spread of each figure, and every run.
    pub fn write_repeats(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let of_a = || self.runs.iter().filter(|run| run.side == 0).take(self.rounds());
        let settings: Vec<_> =
            (1..=of_a().count()).map(|run| [("run".to_owned(), json!(run))]).collect();
        let rows = of_a().zip(&settings);
        let rows = rows
            .map(|(run, settings)| SweepRow::new(&run.name, settings, &run.metrics, &run.audit));
        let facts = self.header.as_ref().map(|header| &header.facts);
        let title = facts.map(|facts| format!("{}, {}", facts.model, facts.target));
        let page = RepeatsPage {
            title: title.as_deref().unwrap_or("Repeated runs"),
            runs: &SweepReport::of(rows),
            spreads: &self.spreads(),
            version: env!("CARGO_PKG_VERSION"),
        };
        page.write(out)
    }

    /// Returns the run logs of A and B in the completed rounds.
    pub fn run_logs(&self) -> [Vec<PathBuf>; 2] {
        let rounds = self.rounds();
        [0, 1].map(|side| {
            let of_side = self.runs.iter().filter(|run| run.side == side);
            of_side.filter_map(|run| run.run_log.clone()).take(rounds).collect()
        })
    }

    /// Returns the exit code for all runs together.
    pub fn exit_code(&self) -> ExitCode {
        let is_open = self.estimates().iter().any(|known| !known.is_known);
        let of_runs = self.runs.iter().map(|run| run.exit_code).max().unwrap_or(ExitCode::Ok);
        match of_runs {
            _ if self.is_stopped => ExitCode::Interrupted,
            ExitCode::Ok if is_open => ExitCode::Undecided,
            code => code,
        }
    }

    /// Number of completed rounds.
    fn rounds(&self) -> usize {
        self.runs.len() / self.spec.urls.len()
    }

    fn values(&self, side: usize, figure: Figure) -> Vec<f64> {
        let of_side = self.runs.iter().filter(|run| run.side == side).take(self.rounds());
        of_side.filter_map(|run| figure.read(&run.metrics)).collect()
    }

    /// Returns whether no further run is to be made.
    pub fn is_over(&self) -> bool {
        let is_between_rounds = self.runs.len().is_multiple_of(self.spec.urls.len());
        let is_known = || {
            let known = self.estimates();
            !known.is_empty() && known.iter().all(|known| known.is_known)
        };
        self.is_stopped || self.runs.len() >= self.spec.runs() || (is_between_rounds && is_known())
    }

    fn add(&mut self, done: PointRun) -> AbRun {
        let PointRun { point, run, .. } = done;
        let made = AbRun {
            side: self.spec.side(self.runs.len()),
            name: point.name,
            exit_code: Scores::of_run(&run, &point.plan.scoring).exit_code(),
            run_log: run.run_log,
            metrics: Metrics::score(&run.log, &self.policy),
            audit: Audit::of(&run.log),
        };
        self.header.get_or_insert_with(|| run.log.header().clone());
        self.runs.push(made.clone());
        made
    }
}

/// The iterator ends when the change is known, all runs are made, or the user stops.
impl<P: Probe> Iterator for Ab<P> {
    type Item = Result<AbRun, SweepRunError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over() {
            return None;
        }
        let done = match self.probe.probe(self.spec.point(self.runs.len(), self.nonce)) {
            Err(error) if error.is_stop() => {
                self.is_stopped = true;
                return None;
            }
            Err(error) => return Some(Err(error)),
            Ok(done) => done,
        };
        if !done.run.log.is_complete() {
            self.is_stopped = true;
            return None;
        }
        Some(Ok(self.add(done)))
    }
}

/// `round=2,side=b: mean TTFT 102.3, p50 TTFT 98.1`
impl fmt::Display for AbRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        let changes = Estimand::HEADLINE
            .into_iter()
            .filter_map(|estimand| Some((estimand, estimand.figure().read(&self.metrics)?)));
        for (mark, (estimand, value)) in
            [": "].into_iter().chain(std::iter::repeat(", ")).zip(changes)
        {
            write!(f, "{mark}{estimand} {value:.2} {}", estimand.unit())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
