//! All runs of all loads with all readers.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use servemark::core::unix_now;

use super::bed::Bed;
use super::experiment::Experiment;
use super::machine::pin;
use super::options::START_UPS;
use super::{
    Cores, ExchangeFigures, ExchangeLoad, Installed, Machine, Noise, OpenFigures, OpenLoad,
    Options, Program, Reader, StartUp, StartUpFigures, StreamFigures, StreamLoad,
};

/// All runs of all loads with all readers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Study {
    /// When it was begun, in seconds since the Unix epoch.
    pub began: u64,
    /// Which version of ours was studied.
    pub version: String,
    /// Where it was.
    pub machine: Machine,
    /// Which core did what; absent if nothing could be pinned, because there is only one.
    pub cores: Option<Cores>,
    /// The programs that were there.
    pub programs: Vec<Installed>,
    /// Streams of tokens.
    pub streams: Vec<Case<StreamLoad, StreamFigures>>,
    /// Short requests, one after the other.
    pub exchanges: Vec<Case<ExchangeLoad, ExchangeFigures>>,
    /// Short requests, whenever they are due.
    pub open_loops: Vec<Case<OpenLoad, OpenFigures>>,
    /// How whole programs start.
    pub start_ups: Vec<Case<StartUp, StartUpFigures>>,
    /// The programs that were not there, and why not.
    pub skipped: Vec<String>,
    /// The runs that failed, and why.
    pub failed: Vec<String>,
}

/// One load with one reader.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Case<L, F> {
    /// The load.
    pub load: L,
    /// The reader.
    pub reader: Reader,
    /// Its runs, in the order in which they were made.
    pub runs: Vec<Run<F>>,
}

/// One run of a case.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Run<F> {
    /// What came of it.
    pub figures: F,
    /// What others did to it.
    pub noise: Noise,
}

/// Makes the whole study. Servers are started as `program`, which must call [`serve`] and
/// [`hog`]; `tell` hears what is being done.
///
/// All readers take turns within a run, so that whatever else the machine is busy with hurts each
/// of them alike. A run that fails is told of, and stops no other.
///
/// [`serve`]: super::serve
/// [`hog`]: super::hog()
pub fn measure(
    options: &Options,
    program: &Path,
    mut tell: impl FnMut(&str),
) -> anyhow::Result<Study> {
    let mut study = Study::planned(options);
    match study.cores {
        Some(cores) => pin(cores.reader)?,
        None => tell("there is only one core: nothing is pinned, and the server is in the way"),
    }
    let minutes = study.lasts(options.runs).as_secs_f64() / 60.0;
    tell(&format!("about {minutes:.1} minutes"));
    let bed = Bed { program, cores: study.cores, places: &options.places };
    for run in 1..=options.runs {
        let mut tell = |case: &str| tell(&format!("run {run} of {}: {case}", options.runs));
        study.once_more(&bed, &mut tell);
    }
    Ok(study)
}

impl Study {
    /// Everything that is asked for, before anything is run.
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

    /// Runs each case once more. What fails is told of in the end.
    fn once_more(&mut self, bed: &Bed<'_>, tell: &mut impl FnMut(&str)) {
        let Self { streams, exchanges, open_loops, start_ups, failed, .. } = self;
        run_each(streams, bed, failed, tell);
        run_each(exchanges, bed, failed, tell);
        run_each(open_loops, bed, failed, tell);
        run_each(start_ups, bed, failed, tell);
    }

    /// The day on which it was begun, as `2026-11-21`, by UTC.
    pub fn date(&self) -> String {
        let began = i64::try_from(self.began).ok().and_then(|at| Timestamp::from_second(at).ok());
        began.unwrap_or_default().strftime("%Y-%m-%d").to_string()
    }

    /// Each load's name and its reader's, and about how long one run of it takes.
    pub fn steps(&self) -> Vec<(String, Duration)> {
        let (streams, exchanges) = (steps(&self.streams), steps(&self.exchanges));
        let (open_loops, start_ups) = (steps(&self.open_loops), steps(&self.start_ups));
        [streams, exchanges, open_loops, start_ups].concat()
    }

    /// About how long so many runs of everything take.
    pub fn lasts(&self, runs: usize) -> Duration {
        let once: Duration = self.steps().iter().map(|(_, lasts)| *lasts).sum();
        once * u32::try_from(runs).unwrap_or(u32::MAX)
    }
}

impl<L: PartialEq, F> Case<L, F> {
    /// The one of `cases` with the same load that others are compared with.
    pub fn floor<'a>(&self, cases: &'a [Self]) -> Option<&'a Self> {
        cases.iter().find(|other| other.reader == Reader::Floor && other.load == self.load)
    }
}

fn name<L: Experiment>(case: &Case<L, L::Figures>) -> String {
    format!("{}, {}", case.load.name(), case.reader.name())
}

/// The programs that are asked for and there, and what there is to say of the others.
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

/// The cases of the loads that are chosen.
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
    bed: &Bed<'_>,
    failed: &mut Vec<String>,
    tell: &mut impl FnMut(&str),
) {
    for case in cases {
        let name = name(case);
        tell(&name);
        match case.load.run(case.reader, bed).with_context(|| name) {
            Ok(run) => case.runs.push(run),
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
}
