//! The offline runs: how requests are submitted, and how a run ends.

use crate::conformance::engine::Engine;

/// A run of `bench-offline`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) name: &'static str,
    pub(super) submission: Submission,
    pub(super) output_tokens: u64,
    pub(super) end: End,
}

/// How requests are submitted to the engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Submission {
    AtOnce,
    /// All at once, by the engine's class that starts a server and sends requests to it.
    Served,
    OneByOne,
    /// One by one with at most four in flight, so that some are answered while others are not.
    FourAtATime,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// The run completes.
    Done,
    /// The engine's process that computes is killed.
    EngineKilled,
    /// The run is interrupted by SIGINT.
    Interrupted,
    /// Our program is killed.
    ProgramKilled,
}

/// All runs that do not use the command line of the engine's own benchmark.
pub(super) const RUNS: [Run; 7] = [
    whole("at once", Submission::AtOnce),
    whole("by its own server", Submission::Served),
    whole("one by one", Submission::OneByOne),
    stopped_run("at once, engine killed", Submission::AtOnce, End::EngineKilled),
    stopped_run("one by one, engine killed", Submission::FourAtATime, End::EngineKilled),
    stopped_run("one by one, interrupted", Submission::FourAtATime, End::Interrupted),
    stopped_run("one by one, program killed", Submission::FourAtATime, End::ProgramKilled),
];

const fn whole(name: &'static str, submission: Submission) -> Run {
    Run { name, submission, output_tokens: SHORT, end: End::Done }
}

/// Creates a run that is long enough to be stopped before its end.
const fn stopped_run(name: &'static str, submission: Submission, end: End) -> Run {
    let output_tokens = if matches!(submission, Submission::AtOnce) { LONG } else { MIDDLE };
    Run { name, submission, output_tokens, end }
}

/// Returns the name that selects an engine's offline examination.
pub(in crate::conformance) fn name(engine: &Engine) -> String {
    format!("{}-offline", engine.name)
}

/// Returns a run's name in the form of a folder name.
pub(super) fn slug(engine: &Engine, run: &str) -> String {
    format!("{} {run}", name(engine)).replace(", ", " ").replace(' ', "-")
}

/// Number of requests of a run.
pub(super) const REQUESTS: usize = 16;
/// Number of output tokens of an answer in a short run.
pub(super) const SHORT: u64 = 32;
const MIDDLE: u64 = 128;
const LONG: u64 = 512;
