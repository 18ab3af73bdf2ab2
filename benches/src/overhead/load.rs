//! Streams, all open at the same time.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use servemark::core::Sample;
use servemark::mock::MockSpec;
use servemark::runner::LoadSpec;
use servemark::schedule::{ArrivalSpec, Schedule};

use super::bare::{Arrivals, Bare};
use super::bed::{Bed, observe};
use super::client::Client;
use super::experiment::Experiment;
use super::program::{self, Program, Workload};
use super::server::Server;
use super::{Reader, Run, StreamFigures};

/// So many streams, all open at the same time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StreamLoad {
    /// How many streams.
    pub streams: usize,
    /// How many chunks of one token each stream has.
    pub tokens: u32,
    /// From the arrival of a request to its first token.
    pub ttft: Duration,
    /// From one token to the next.
    pub itl: Duration,
    /// When the requests are due.
    pub start: Start,
    /// How many events the server puts into one write.
    pub merged: u32,
    /// Whether somebody else works on the client's core all the time.
    pub hog: bool,
}

/// When requests are due. Closed: the two ends of what a server does to its client.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// All at once, so that every step of the server brings one token for every stream at once.
    Burst,
    /// Spread evenly over one gap between tokens, so that tokens arrive one by one.
    Staggered,
}

impl StreamLoad {
    /// A load of its parts, that starts all at once.
    pub fn new(streams: usize, tokens: u32, ttft: Duration, itl: Duration) -> Self {
        Self { streams, tokens, ttft, itl, start: Start::Burst, merged: 1, hog: false }
    }

    /// The same load with its requests due otherwise.
    #[must_use]
    pub fn starting(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// The same load with somebody else's work on the client's core.
    #[must_use]
    pub fn with_hog(self) -> Self {
        Self { hog: true, ..self }
    }

    /// As many chunks as the machine can carry in 64 streams, so many in each and in each write.
    pub fn flood(tokens: u32, merged: u32) -> Self {
        let load = Self::new(64, tokens, Duration::from_millis(50), Duration::ZERO);
        Self { merged, ..load }
    }

    /// Whether the server sends without a pause.
    pub fn is_flood(&self) -> bool {
        self.itl.is_zero()
    }

    /// How many chunks there are in all.
    pub fn chunks(&self) -> u64 {
        self.streams as u64 * u64::from(self.tokens)
    }

    /// As tables call it.
    pub(super) fn title(&self) -> String {
        let Self { streams, merged, .. } = self;
        match (self.is_flood(), self.start) {
            (true, _) if *merged > 1 => format!("{streams} flooded, {merged} events a write"),
            (true, _) => format!("{streams} flooded"),
            (false, Start::Burst) => format!("{streams} at once"),
            (false, Start::Staggered) if self.hog => format!("{streams} staggered, CPU hog"),
            (false, Start::Staggered) => format!("{streams} staggered"),
        }
    }

    /// The server that this load wants.
    fn server(&self, bed: &Bed<'_>) -> anyhow::Result<Server> {
        let mut spec = MockSpec::new(self.ttft, self.itl);
        spec.pieces_per_write = NonZeroU32::new(self.merged).unwrap_or(NonZeroU32::MIN);
        if self.is_flood() { bed.server(&spec) } else { bed.punctual_server(spec) }
    }

    /// One sample per stream. The header is how the server knows which stream it is.
    pub(super) fn samples(&self) -> Vec<Sample> {
        numbered(&Sample::new("Tell me a story.", 5, self.tokens), self.streams)
    }

    /// From one request's due time to the next one's.
    pub(super) fn step(&self) -> Duration {
        match self.start {
            Start::Burst => Duration::ZERO,
            Start::Staggered => self.itl.div_f64(self.streams as f64),
        }
    }

    pub(super) fn schedule(&self) -> Schedule {
        (0..self.streams).map(|stream| self.step().mul_f64(stream as f64)).collect()
    }

    /// How late the server sent a chunk by its own schedule, at worst; milliseconds.
    pub(super) fn lateness_ms(&self, chunk: usize, sent_ns: u64) -> f64 {
        let due = self.ttft + self.itl.mul_f64(chunk as f64);
        sent_ns as f64 / 1e6 - due.as_secs_f64() * 1e3
    }
}

impl Experiment for StreamLoad {
    type Figures = StreamFigures;

    fn name(&self) -> String {
        match (self.is_flood(), self.hog, self.start) {
            (true, ..) if self.merged > 1 => "flood-merged".to_owned(),
            (true, ..) => "flood".to_owned(),
            (false, true, _) => format!("hog-{}", self.streams),
            (false, false, Start::Burst) => format!("burst-{}", self.streams),
            (false, false, Start::Staggered) => format!("staggered-{}", self.streams),
        }
    }

    // Who reads it. The other ways of ours are compared where it matters: under the load of the
    // targets, and where chunks come as fast as they can. A merged text of `/generate` would be
    // gigabytes.
    fn readers(&self) -> &'static [Reader] {
        const ALL: [Reader; 5] = [
            Reader::Floor,
            Reader::StampedFloor,
            Reader::Chat,
            Reader::ChatByHyper,
            Reader::Generate,
        ];
        match (self.is_flood(), self.merged > 1) {
            (true, true) => &ALL[..4],
            (true, false) => &ALL,
            (false, _) if self.streams == 1000 && !self.hog => &ALL,
            (false, _) => &ALL[..3],
        }
    }

    /// A program starts as soon as it can, so it is compared where all requests are due at once.
    fn workload(&self, _program: Program) -> Option<Workload> {
        let at_once = self.start == Start::Burst && !self.hog;
        at_once.then(|| Workload::new(self.streams, 5, self.tokens))
    }

    fn lasts(&self, reader: Reader) -> Duration {
        let server = if self.merged > 1 { MERGED_CHUNK } else { CHUNK };
        let (starting, chunk) = match reader {
            Reader::Program(program) => program.takes(),
            _ => (SETTING_UP, server),
        };
        let chunks = server.max(chunk) * self.chunks() as u32;
        starting + self.ttft + (self.itl * self.tokens).max(chunks) + STREAM * self.streams as u32
    }

    fn run(&self, reader: Reader, bed: &Bed<'_>) -> anyhow::Result<Run<StreamFigures>> {
        let mut server = self.server(bed)?;
        if let Reader::Program(program) = reader {
            let workload = self.workload(program).context("it cannot send this")?;
            let observed = program::observe(program, &workload, bed, &mut server)?;
            let noise = observed.noise;
            return Ok(Run { figures: StreamFigures::of_program(self, observed)?, noise });
        }
        let _hog = if self.hog { bed.hog()? } else { None };
        let observed = if let Some(arrivals) = Arrivals::of(reader) {
            let bare = Bare::connect(self, arrivals, server.url())?;
            observe(&mut server, || bare.run())?
        } else {
            let client = Client::new(reader, server.url(), self.streams)?;
            let (samples, schedule) = (self.samples(), self.schedule());
            let at_once = LoadSpec::new(ArrivalSpec::Burst);
            observe(&mut server, || client.run(&at_once, samples, &schedule))?
        };
        let noise = observed.noise;
        Ok(Run { figures: StreamFigures::of(self, observed)?, noise })
    }
}

/// Copies of one sample, each with the header by which the server knows it.
pub(super) fn numbered(sample: &Sample, requests: usize) -> Vec<Sample> {
    let number = |index: usize| {
        let mut sample = sample.clone();
        sample.headers.push(("x-servemark-request".to_owned(), index.to_string()));
        sample
    };
    (0..requests).map(number).collect()
}

/// What the server takes for a chunk, and for one of many in a write; generous.
const CHUNK: Duration = Duration::from_micros(6);
const MERGED_CHUNK: Duration = Duration::from_nanos(700);

/// Starting a server, and making figures.
const SETTING_UP: Duration = Duration::from_millis(250);
/// Connecting one stream, and its share of the figures.
const STREAM: Duration = Duration::from_micros(250);

#[cfg(test)]
mod tests {
    use super::*;

    const ITL: Duration = Duration::from_millis(20);

    #[test]
    fn a_staggered_start_fills_one_gap() {
        let load = StreamLoad::new(4, 9, Duration::ZERO, ITL);
        let millis = |load: StreamLoad| load.schedule().iter().map(|due| due.as_millis()).collect();
        let (burst, staggered): (Vec<_>, Vec<_>) =
            (millis(load), millis(load.starting(Start::Staggered)));
        assert_eq!((burst, staggered), (vec![0; 4], vec![0, 5, 10, 15]));
        assert_eq!(load.chunks(), 36);
    }

    #[test]
    fn every_load_has_a_name_of_its_own() {
        let paced = StreamLoad::new(1000, 9, Duration::ZERO, ITL);
        let staggered = paced.starting(Start::Staggered);
        let loads = [paced, staggered, staggered.with_hog()];
        let floods = [StreamLoad::flood(5, 1), StreamLoad::flood(5, 64)];
        let names: Vec<String> = loads.iter().chain(&floods).map(StreamLoad::name).collect();
        assert_eq!(names, ["burst-1000", "staggered-1000", "hog-1000", "flood", "flood-merged"]);
    }

    #[test]
    fn the_server_is_late_by_its_own_schedule() {
        let load = StreamLoad::new(4, 9, Duration::from_millis(200), ITL);
        assert!((load.lateness_ms(3, 261_500_000) - 1.5).abs() < 1e-9);
    }
}
