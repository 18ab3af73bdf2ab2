//! Explores a server of which only the address is known.
//!
//! [`explore`] asks the server what it is, then measures it with 1, 2, 4, … streams until more
//! streams yield no more tokens, and then once more at the best of these loads.

mod answer;
mod climb;
mod level;
mod passages;
mod server;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use servemark_client::{BaseUrl, TargetSpec};
use servemark_metrics::Objective;
use servemark_runner::Stop;

pub use self::answer::{Capacity, Exploration, LevelFigures, OneUser};
use self::climb::{Climb, Next};
use self::level::Level;
pub use self::server::{ChatRoute, Engine, ExploredServer, find_local_server};
use crate::{ExecuteError, RunContext};

/// What to explore, and for how long.
#[derive(Clone, Debug)]
pub struct ExploreSpec {
    /// Server to explore.
    pub target: TargetSpec,
    /// Name of the model; if absent, the first one that the server lists.
    pub model: Option<String>,
    /// Time for all loads together. A server whose answers take long gets more, because each load
    /// lasts at least two answers.
    pub duration: Duration,
    /// Number of words of each prompt, about.
    pub prompt_words: usize,
    /// Maximum number of output tokens of each request.
    pub output_tokens: u32,
    /// Largest number of streams.
    pub most_streams: NonZeroUsize,
    /// Objectives that define the capacity; without any, no capacity is determined.
    pub objectives: Vec<Objective>,
    /// Seed of the prompts.
    pub seed: u32,
    /// Folder for the run logs; without one, runs are kept in memory only.
    pub folder: Option<PathBuf>,
}

impl ExploreSpec {
    /// Creates an exploration of about a minute with prompts of 150 words and 128 output tokens.
    pub fn new(url: BaseUrl) -> Self {
        Self {
            target: TargetSpec::new(url),
            model: None,
            duration: Duration::from_secs(60),
            prompt_words: 150,
            output_tokens: 128,
            most_streams: MOST_STREAMS,
            objectives: Vec::new(),
            seed: 1,
            folder: None,
        }
    }
}

/// Default of the largest number of streams; a server on one machine rarely gets more.
const MOST_STREAMS: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// A step of an exploration.
#[derive(Debug)]
pub enum ExploreEvent<'a> {
    /// The server was recognised.
    Identified(&'a ExploredServer),
    /// A load is about to be measured.
    Measuring {
        /// Number of streams.
        streams: usize,
        /// Duration for which requests are sent.
        lasts: Duration,
    },
    /// A load was measured.
    Measured(&'a LevelFigures),
}

/// Explores a server. `on_event` is called for each step.
///
/// # Errors
///
/// Returns an error if the server cannot be reached, is not one that generates text, or answers
/// none of the first requests. A stop by the user ends the climb; the loads measured so far are the
/// result.
pub fn explore(
    spec: &ExploreSpec,
    context: &RunContext,
    mut on_event: impl FnMut(ExploreEvent<'_>),
) -> Result<Exploration, ExecuteError> {
    let context = &level::with_passages(context, spec);
    let server = server::identify(spec, context)?;
    on_event(ExploreEvent::Identified(&server));
    let mut climb = Climb::new(spec.duration, spec.most_streams, server.first_answer);
    let mut levels: Vec<Level> = Vec::new();
    let is_stopped = || context.stop.signal().is(Stop::Drain);
    while let Next::Measure(load) = climb.next() {
        let (streams, lasts) = (load.streams, load.lasts);
        on_event(ExploreEvent::Measuring { streams, lasts });
        let level = match Level::measure(&load, spec, &server, context) {
            Err(ExecuteError::Interrupted) => break,
            measured => measured?,
        };
        on_event(ExploreEvent::Measured(&level.figures));
        climb.measured(&level.figures);
        levels.push(level);
        if is_stopped() {
            break;
        }
    }
    Exploration::of(server, levels, spec, climb.is_saturated(), is_stopped())
}
