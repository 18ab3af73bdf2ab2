//! All runs of all loads with all readers.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use servemark::core::unix_now;

use super::bed::Bed;
use super::experiment::Experiment;
use super::machine::pin;
use super::{Cores, Machine, Noise, Options, Reader, StreamFigures, StreamLoad};

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
    /// Streams of tokens.
    pub streams: Vec<Case<StreamLoad, StreamFigures>>,
    /// What was not measured though it was asked for, and why.
    pub missing: Vec<String>,
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
/// of them alike. A case that fails is missing from the study, which says so, and stops no other.
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
    let bed = Bed { program, cores: study.cores };
    for run in 1..=options.runs {
        let mut tell = |case: &str| tell(&format!("run {run} of {}: {case}", options.runs));
        study.missing.extend(once_more(&mut study.streams, &bed, &mut tell));
    }
    Ok(study)
}

impl Study {
    /// Everything that is asked for, before anything is run.
    pub fn planned(options: &Options) -> Self {
        Self {
            began: unix_now().as_secs(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: Machine::describe(),
            cores: Cores::pick(),
            streams: cases(options, options.streams()),
            missing: Vec::new(),
        }
    }

    /// Each load's name and its reader's, and about how long one run of it takes.
    pub fn steps(&self) -> Vec<(String, Duration)> {
        steps(&self.streams)
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

/// The cases of the loads that are chosen.
fn cases<L: Experiment>(options: &Options, loads: Vec<L>) -> Vec<Case<L, L::Figures>> {
    let chosen = loads.into_iter().filter(|load| options.chooses(&load.name()));
    let of_load =
        |load: L| load.readers().iter().map(move |&reader| Case { load, reader, runs: Vec::new() });
    chosen.flat_map(of_load).collect()
}

fn steps<L: Experiment>(cases: &[Case<L, L::Figures>]) -> Vec<(String, Duration)> {
    cases.iter().map(|case| (name(case), case.load.lasts())).collect()
}

/// Runs each case once more. What fails is told.
fn once_more<L: Experiment>(
    cases: &mut [Case<L, L::Figures>],
    bed: &Bed<'_>,
    tell: &mut impl FnMut(&str),
) -> Vec<String> {
    let mut missing = Vec::new();
    for case in cases {
        let name = name(case);
        tell(&name);
        match case.load.run(case.reader, bed).with_context(|| name) {
            Ok(run) => case.runs.push(run),
            Err(error) => missing.push(format!("{error:#}")),
        }
    }
    missing
}
