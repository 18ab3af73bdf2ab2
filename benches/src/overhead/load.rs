//! Load of streams that are all open at the same time.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use servemark::core::Sample;
use servemark::mock::MockSpec;
use servemark::runner::LoadSpec;
use servemark::schedule::{ArrivalSpec, Schedule};

use super::bare::{Arrivals, Bare};
use super::client::Client;
use super::experiment::Experiment;
use super::program::{self, Program, Workload};
use super::server::Server;
use super::test_bed::{TestBed, observe};
use super::{Reader, Run, StreamFigures};

/// A load of streams that are all open at the same time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct StreamLoad {
    /// Number of streams.
    pub streams: usize,
    /// Number of chunks of each stream, one token each.
    pub tokens: u32,
    /// Time from the arrival of a request to its first token.
    pub ttft: Duration,
    /// Time from one token to the next.
    pub itl: Duration,
    /// When the requests are due.
    pub start: Start,
    /// Number of events that the server puts into one write.
    pub merged: u32,
    /// Whether a CPU hog runs on the client's core.
    pub hog: bool,
}

/// When requests are due. The enum is closed: the two extremes of how a server loads its client.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// All at once, so that every step of the server brings one token for every stream at once.
    Burst,
    /// Spread evenly over one gap between tokens, so that tokens arrive one by one.
    Staggered,
}

impl StreamLoad {
    /// Creates a load from its parts, which starts all at once.
    pub fn new(streams: usize, tokens: u32, ttft: Duration, itl: Duration) -> Self {
        Self { streams, tokens, ttft, itl, start: Start::Burst, merged: 1, hog: false }
    }

    /// Sets when the requests are due.
    #[must_use]
    pub fn starting(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// Adds a CPU hog on the client's core.
    #[must_use]
    pub fn with_hog(self) -> Self {
        Self { hog: true, ..self }
    }

    /// Creates a load of 64 streams with as many chunks as the machine can carry: `tokens` in each
    /// stream and `merged` in each write.
    pub fn flood(tokens: u32, merged: u32) -> Self {
        let load = Self::new(64, tokens, Duration::from_millis(50), Duration::ZERO);
        Self { merged, ..load }
    }

    /// Returns whether the server sends without pauses.
    pub fn is_flood(&self) -> bool {
        self.itl.is_zero()
    }

    /// Returns the total number of chunks.
    pub fn chunks(&self) -> u64 {
        self.streams as u64 * u64::from(self.tokens)
    }

    /// Returns the name in tables.
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

    /// Starts the server for this load.
    fn server(&self, bed: &TestBed<'_>) -> anyhow::Result<Server> {
        let mut spec = MockSpec::new(self.ttft, self.itl);
        spec.pieces_per_write = NonZeroU32::new(self.merged).unwrap_or(NonZeroU32::MIN);
        if self.is_flood() { bed.server(&spec) } else { bed.punctual_server(spec) }
    }

    /// Returns one sample per stream. Its header tells the server which stream it is.
    pub(super) fn samples(&self) -> Vec<Sample> {
        numbered(&Sample::new("Tell me a story.", 5, self.tokens), self.streams)
    }

    /// Returns the time from one request's due time to the next one's.
    pub(super) fn step(&self) -> Duration {
        match self.start {
            Start::Burst => Duration::ZERO,
            Start::Staggered => self.itl.div_f64(self.streams as f64),
        }
    }

    pub(super) fn schedule(&self) -> Schedule {
        (0..self.streams).map(|stream| self.step().mul_f64(stream as f64)).collect()
    }

    /// Returns how late the server sent a chunk by its own schedule, in milliseconds.
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

    // Variants of the client are compared where it matters: under the load of the targets, and
    // where chunks come as fast as possible. A merged text of `/generate` would be gigabytes.
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

    /// Returns a workload only if all requests are due at once: a program starts as soon as it can.
    fn workload(&self, _program: Program) -> Option<Workload> {
        let at_once = self.start == Start::Burst && !self.hog;
        at_once.then(|| Workload::new(self.streams, 5, self.tokens))
    }

    fn lasts(&self, reader: Reader) -> Duration {
        let server = if self.merged > 1 { MERGED_CHUNK } else { CHUNK };
        let (starting, chunk) = match reader {
            Reader::Program(program) => program.time_budget(),
            _ => (SETTING_UP, server),
        };
        let chunks = server.max(chunk) * self.chunks() as u32;
        starting + self.ttft + (self.itl * self.tokens).max(chunks) + STREAM * self.streams as u32
    }

    fn run(&self, reader: Reader, bed: &TestBed<'_>) -> anyhow::Result<Run<StreamFigures>> {
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

/// Returns copies of one sample, each with the header by which the server identifies it.
pub(super) fn numbered(sample: &Sample, requests: usize) -> Vec<Sample> {
    let number = |index: usize| {
        let mut sample = sample.clone();
        sample.headers.push(("x-servemark-request".to_owned(), index.to_string()));
        sample
    };
    (0..requests).map(number).collect()
}

/// Server time for a chunk, and for one of many in a write; generous estimates.
const CHUNK: Duration = Duration::from_micros(6);
const MERGED_CHUNK: Duration = Duration::from_nanos(700);

/// Time to start a server and to compute figures.
const SETTING_UP: Duration = Duration::from_millis(250);
/// Time to connect one stream, with its share of computing figures.
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
