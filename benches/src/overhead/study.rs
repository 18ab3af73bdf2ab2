//! The study: all runs of all loads with all readers.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use servemark::core::unix_now;

use super::experiment::Experiment;
use super::machine::pin;
use super::options::START_UPS;
use super::test_bed::TestBed;
use super::{
    Cores, ExchangeFigures, ExchangeLoad, Installed, Machine, Noise, OpenFigures, OpenLoad,
    Options, Program, Reader, StartUp, StartUpFigures, StreamFigures, StreamLoad,
};

/// The study: all runs of all loads with all readers.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Study {
    /// When the study began, in seconds since the Unix epoch.
    pub began: u64,
    /// Version of Servemark that was studied.
    pub version: String,
    /// The machine.
    pub machine: Machine,
    /// Assignment of cores; absent if nothing could be pinned, because there is only one.
    pub cores: Option<Cores>,
    /// Programs that are installed.
    pub programs: Vec<Installed>,
    /// Cases of streams of tokens.
    pub streams: Vec<Case<StreamLoad, StreamFigures>>,
    /// Cases of short requests in a closed loop.
    pub exchanges: Vec<Case<ExchangeLoad, ExchangeFigures>>,
    /// Cases of short requests in an open loop.
    pub open_loops: Vec<Case<OpenLoad, OpenFigures>>,
    /// Cases of the start of whole programs.
    pub start_ups: Vec<Case<StartUp, StartUpFigures>>,
    /// Programs that are not installed, with the reason.
    pub skipped: Vec<String>,
    /// Runs that failed, with the reason.
    pub failed: Vec<String>,
}

/// One load with one reader.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Case<L, F> {
    /// The load.
    pub load: L,
    /// The reader.
    pub reader: Reader,
    /// Runs in the order in which they were made.
    pub runs: Vec<Run<F>>,
}

/// One run of a case.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run<F> {
    /// Figures of the run.
    pub figures: F,
    /// Effects of other processes on the run.
    pub noise: Noise,
}

/// Makes the whole study. Servers are started as `program`, which must call [`serve`] and [`hog`];
/// `tell` receives progress messages.
///
/// All readers take turns within a run, so that other load on the machine affects them alike. A run
/// that fails is recorded and stops no other.
///
/// [`serve`]: super::serve
/// [`hog`]: super::hog()
pub fn measure(
    options: &Options,
    program: &Path,
    mut report: impl FnMut(&str),
) -> anyhow::Result<Study> {
    let mut study = Study::planned(options);
    match study.cores {
        Some(cores) => pin(cores.reader)?,
        None => report(
            "there is only one core: nothing is pinned, and the server competes with the readers",
        ),
    }
    let minutes = study.lasts(options.runs).as_secs_f64() / 60.0;
    report(&format!("about {minutes:.1} minutes"));
    let bed = TestBed { program, cores: study.cores, places: &options.places };
    for run in 1..=options.runs {
        let mut report = |case: &str| report(&format!("run {run} of {}: {case}", options.runs));
        study.once_more(&bed, &mut report);
    }
    Ok(study)
}

impl Study {
    /// Returns the study that is asked for, without any runs.
    pub fn planned(options: &Options) -> Self {
        let (programs, skipped) = find(options);
        Self {
            began: unix_now().as_secs(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: Machine::describe(),
            cores: Cores::pick(),
            streams: cases(options, options.streams(), &programs),
            exchanges: cases(options, options.exchanges(), &programs),
            open_loops: cases(options, options.open_loops(), &programs),
            start_ups: cases(options, START_UPS.to_vec(), &programs),
            programs,
            skipped,
            failed: Vec::new(),
        }
    }

    /// Runs each case once more. Failures are collected in `failed`.
    fn once_more(&mut self, bed: &TestBed<'_>, report: &mut impl FnMut(&str)) {
        let Self { streams, exchanges, open_loops, start_ups, failed, .. } = self;
        run_each(streams, bed, failed, report);
        run_each(exchanges, bed, failed, report);
        run_each(open_loops, bed, failed, report);
        run_each(start_ups, bed, failed, report);
    }

    /// Returns the UTC day on which the study began, as `2026-11-21`.
    pub fn date(&self) -> String {
        let began = i64::try_from(self.began).ok().and_then(|at| Timestamp::from_second(at).ok());
        began.unwrap_or_default().strftime("%Y-%m-%d").to_string()
    }

    /// Returns each load's name with its reader's, and the approximate duration of one run.
    pub fn steps(&self) -> Vec<(String, Duration)> {
        let (streams, exchanges) = (steps(&self.streams), steps(&self.exchanges));
        let (open_loops, start_ups) = (steps(&self.open_loops), steps(&self.start_ups));
        [streams, exchanges, open_loops, start_ups].concat()
    }

    /// Returns the approximate duration of `runs` runs of everything.
    pub fn lasts(&self, runs: usize) -> Duration {
        let once: Duration = self.steps().iter().map(|(_, lasts)| *lasts).sum();
        once * u32::try_from(runs).unwrap_or(u32::MAX)
    }
}

impl<L: PartialEq, F> Case<L, F> {
    /// Returns the case of the bare reader with the same load, the reference for comparisons.
    pub fn floor<'a>(&self, cases: &'a [Self]) -> Option<&'a Self> {
        cases.iter().find(|other| other.reader == Reader::Floor && other.load == self.load)
    }
}

fn name<L: Experiment>(case: &Case<L, L::Figures>) -> String {
    format!("{}, {}", case.load.name(), case.reader.name())
}

/// Returns the requested programs that are installed, and the reasons why the others are not.
fn find(options: &Options) -> (Vec<Installed>, Vec<String>) {
    let (mut programs, mut skipped) = (Vec::new(), Vec::new());
    for &program in &options.programs {
        match options.places.find(program) {
            Ok(installed) => programs.push(installed),
            Err(error) => skipped.push(format!("{}: {error:#}", program.name())),
        }
    }
    (programs, skipped)
}

/// Returns the cases of the selected loads.
fn cases<L: Experiment>(
    options: &Options,
    loads: Vec<L>,
    programs: &[Installed],
) -> Vec<Case<L, L::Figures>> {
    let chosen = loads.into_iter().filter(|load| options.chooses(&load.name()));
    let of_load = |load: L| {
        let able = |program: &Program| load.workload(*program).is_some();
        let programs = programs.iter().map(|installed| installed.program).filter(able);
        let programs: Vec<Reader> = programs.map(Reader::Program).collect();
        let readers = load.readers().iter().copied().chain(programs);
        readers.map(move |reader| Case { load, reader, runs: Vec::new() })
    };
    chosen.flat_map(of_load).collect()
}

fn steps<L: Experiment>(cases: &[Case<L, L::Figures>]) -> Vec<(String, Duration)> {
    cases.iter().map(|case| (name(case), case.load.lasts(case.reader))).collect()
}

fn run_each<L: Experiment>(
    cases: &mut [Case<L, L::Figures>],
    bed: &TestBed<'_>,
    failed: &mut Vec<String>,
    report: &mut impl FnMut(&str),
) {
    for case in cases {
        let name = name(case);
        report(&name);
        match case.load.run(case.reader, bed).with_context(|| name) {
            Ok(run) => case.runs.push(run),
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
}
