//! One source that is read periodically.

use std::mem;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mio::{Interest, Registry, Token};
use servemark_client::{
    ClientError, ClientErrorKind, MetricsUrl, Text, TextConnection, TextLoss, TextPool, TextReader,
};
use servemark_core::{
    Clock, MonotonicClock, Stamp, TelemetryLine, TelemetrySample, TelemetrySource,
};

use crate::Readings;
use crate::opener::Opener;
use crate::sampler::{
    DeviceReader, LineSink, ProblemSink, ReadingOccasion, SamplerSource, SourceKind,
};

/// Where readings and failures go.
///
/// Lines are held back and passed on together, once a second: what receives each of them has to be
/// woken up, and fetches its code and data into the processor's caches again.
pub(crate) struct Report {
    pub(crate) clock: MonotonicClock,
    lines: LineSink,
    problems: ProblemSink,
    held: Vec<TelemetryLine>,
    /// When lines were last passed on.
    passed_on: Stamp,
}

impl Report {
    pub(crate) fn new(clock: MonotonicClock, lines: LineSink, problems: ProblemSink) -> Self {
        let passed_on = clock.now();
        Self { clock, lines, problems, held: Vec::new(), passed_on }
    }

    /// Passes all lines on.
    pub(crate) fn pass_on(&mut self) {
        self.passed_on = self.clock.now();
        self.held.drain(..).for_each(|line| (self.lines)(line));
    }

    /// Returns when lines are to be passed on, if there are any.
    pub(crate) fn due(&self) -> Option<Stamp> {
        (!self.held.is_empty()).then(|| self.passed_on + LONGEST_HELD)
    }
}

/// No line is lost, however the thread ends.
impl Drop for Report {
    fn drop(&mut self) {
        self.pass_on();
    }
}

/// One source, and its reading if one is under way.
pub(crate) struct SourceReader {
    index: usize,
    name: String,
    reader: Reader,
    readings: Readings,
    progress: Progress,
    /// When the last reading began.
    asked: Stamp,
    /// Why the last reading failed; `None` if it succeeded.
    last_problem: Option<String>,
    has_reported: bool,
}

/// How far a reading is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Progress {
    /// None is under way.
    Idle,
    /// The answer is received over the open connection.
    Receiving,
    /// The reader is with the opener.
    Opening,
    /// The reader is with the opener, and what it reads is not wanted any more.
    GivenUp,
}

/// Gets the text of a source.
enum Reader {
    Exporter(Box<Exporter>),
    Devices(Box<dyn DeviceReader>),
}

struct Exporter {
    url: Option<MetricsUrl>,
    /// Absent while it is with the opener.
    reader: Option<Box<TextReader>>,
    connection: Option<TextConnection>,
    filter: Filter,
}

/// Whether requests have a query that names the metrics that are read, so that the server leaves out
/// the others. vLLM's server then spends half the time on an answer; others send the whole text, or
/// nothing.
#[derive(Debug)]
enum Filter {
    /// No text was read yet that tells which metrics to name.
    Unknown,
    /// The first answer to the query is awaited. `length` is that of the whole text.
    Tried { query: String, length: usize },
    /// The server obeys the query.
    On { query: String },
    /// Requests have no query.
    Off,
}

impl SourceReader {
    /// Creates the sources, and reports each of them.
    pub(crate) fn all(sources: Vec<SamplerSource>, report: &mut Report) -> Vec<Self> {
        let (count, pool) = (Arc::default(), TextPool::new());
        let mut all = Vec::with_capacity(sources.len());
        for (index, source) in sources.into_iter().enumerate() {
            let name = source.name().to_owned();
            report.held.push(TelemetryLine::Source(TelemetrySource::new(index, name.clone())));
            all.push(Self {
                index,
                name,
                reader: Reader::new(source.kind, report.clock, &pool),
                readings: Readings::new(index, Arc::clone(&count)),
                progress: Progress::Idle,
                asked: Stamp::ZERO,
                last_problem: None,
                has_reported: false,
            });
        }
        all
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.progress == Progress::Idle
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.last_problem.is_some()
    }

    /// Returns when the reading that is under way is given up.
    pub(crate) fn limit(&self) -> Option<Stamp> {
        let is_awaited = matches!(self.progress, Progress::Receiving | Progress::Opening);
        is_awaited.then(|| self.asked + LONGEST_ANSWER)
    }

    /// Begins a reading. That of devices is done at once.
    pub(crate) fn ask(&mut self, occasion: ReadingOccasion, opener: &Opener, report: &mut Report) {
        self.asked = report.clock.now();
        if occasion == ReadingOccasion::Ordered {
            self.readings.want_histograms();
        }
        match &mut self.reader {
            Reader::Devices(devices) => {
                let answer = devices.read(occasion).map(Text::from);
                self.end(answer, opener, report);
            }
            Reader::Exporter(exporter) => self.progress = exporter.ask(self.index, opener),
        }
    }

    /// Receives what has arrived on the connection, after an event of it.
    pub(crate) fn receive(&mut self, opener: &Opener, report: &mut Report) {
        let Reader::Exporter(exporter) = &mut self.reader else { return };
        let Some(connection) = &mut exporter.connection else { return };
        if self.progress != Progress::Receiving {
            connection.look();
            return;
        }
        match connection.receive() {
            Poll::Pending => {}
            Poll::Ready(Err(TextLoss::Unprocessed)) => {
                self.progress = exporter.open(self.index, opener);
            }
            Poll::Ready(Err(TextLoss::Failed(error))) => {
                let problem = exporter.problem(&error);
                self.end(Err(problem), opener, report);
            }
            Poll::Ready(Ok(text)) => self.end(Ok(text), opener, report),
        }
    }

    /// Takes a reader back from the opener, with its answer.
    pub(crate) fn take_back(
        &mut self,
        mut reader: Box<TextReader>,
        answer: Result<Text, ClientError>,
        registry: &Registry,
        opener: &Opener,
        report: &mut Report,
    ) {
        let Reader::Exporter(exporter) = &mut self.reader else { return };
        exporter.connection = reader.take_connection().and_then(|mut connection| {
            let token = Token(self.index);
            registry.register(connection.events(), token, Interest::READABLE).ok()?;
            Some(connection)
        });
        exporter.reader = Some(reader);
        exporter.set_query();
        if mem::replace(&mut self.progress, Progress::Idle) == Progress::Opening {
            let answer = answer.map_err(|error| exporter.problem(&error));
            self.end(answer, opener, report);
        }
    }

    /// Gives a reading up that has lasted too long.
    pub(crate) fn give_up(&mut self, opener: &Opener, report: &mut Report) {
        let is_opening = self.progress == Progress::Opening;
        if let Reader::Exporter(exporter) = &mut self.reader {
            exporter.connection = None;
        }
        let problem = format!("the total time-out of {LONGEST_ANSWER:?} passed");
        self.end(Err(problem), opener, report);
        if is_opening {
            self.progress = Progress::GivenUp;
        }
    }

    fn end(&mut self, answer: Result<Text, String>, opener: &Opener, report: &mut Report) {
        self.progress = Progress::Idle;
        let at = report.clock.now();
        let took = at.since(self.asked);
        let took_ns = took.as_nanos() as u64;
        let lines = answer.and_then(|mut text| {
            let lines = self.readings.read(&mut text, at, took_ns);
            lines.ok_or_else(|| NO_METRICS.to_owned())
        });
        let is_asked_again = self.settle_filter(lines.is_ok(), opener, report);
        match lines {
            Ok(lines) => {
                self.last_problem = None;
                report.held.extend(lines);
            }
            // The next answer decides, unless nothing was known for as long as an answer may take.
            Err(_) if is_asked_again && took < LONGEST_ANSWER => {}
            Err(problem) => self.miss(at, problem, report),
        }
    }

    /// Tries the query after the first text, and drops it if its answer is not as wanted. Returns
    /// whether the server is asked again at once: with the query, or without it if lines were missing.
    fn settle_filter(&mut self, was_read: bool, opener: &Opener, report: &mut Report) -> bool {
        let Reader::Exporter(exporter) = &mut self.reader else { return false };
        let readings = &self.readings;
        let (filter, asks_again) = match &mut exporter.filter {
            Filter::Unknown if was_read => match readings.query() {
                Some(query) if exporter.connection.is_some() => {
                    (Filter::Tried { query, length: readings.length() }, true)
                }
                _ => (Filter::Off, false),
            },
            Filter::Tried { query, length } => match was_read && readings.is_complete() {
                true if readings.length() < *length => {
                    (Filter::On { query: mem::take(query) }, false)
                }
                is_complete => (Filter::Off, !is_complete),
            },
            // A server that was restarted may have become another one.
            Filter::On { .. } if !was_read => (Filter::Unknown, false),
            Filter::Unknown | Filter::On { .. } | Filter::Off => return false,
        };
        exporter.filter = filter;
        exporter.set_query();
        if asks_again {
            // Whether the answer is as wanted is seen in the whole of it.
            self.readings.want_histograms();
            self.asked = report.clock.now();
            self.progress = exporter.ask(self.index, opener);
        }
        asks_again
    }

    /// Reports a gap when it begins, and when its reason changes.
    fn miss(&mut self, at: Stamp, problem: String, report: &mut Report) {
        if !mem::replace(&mut self.has_reported, true) {
            (report.problems)(&self.name, &problem);
        }
        if self.last_problem.as_ref() != Some(&problem) {
            let gap = TelemetrySample::gap(self.index, at, problem.as_str());
            report.held.push(TelemetryLine::Sample(gap));
            self.last_problem = Some(problem);
        }
        // The server may have been restarted.
        self.readings.want_histograms();
    }
}

impl Reader {
    fn new(kind: SourceKind, clock: MonotonicClock, pool: &TextPool) -> Self {
        match kind {
            SourceKind::Exporter { target, route, url } => {
                let reader = TextReader::new(target, route, LONGEST_ANSWER, clock);
                let reader = Some(Box::new(reader.with_pool(pool)));
                let filter = Filter::Unknown;
                Self::Exporter(Box::new(Exporter { url, reader, connection: None, filter }))
            }
            SourceKind::Devices(reader) => Self::Devices(reader),
        }
    }
}

impl Exporter {
    /// Sends a request over the open connection, or passes the reader to the opener.
    fn ask(&mut self, index: usize, opener: &Opener) -> Progress {
        if self.connection.as_mut().is_some_and(TextConnection::send) {
            return Progress::Receiving;
        }
        self.open(index, opener)
    }

    /// Sets the query of the open connection, if there is one.
    fn set_query(&mut self) {
        let (Some(reader), Some(connection)) = (&self.reader, &mut self.connection) else { return };
        let query = match &self.filter {
            Filter::Tried { query, .. } | Filter::On { query } => Some(query.as_str()),
            Filter::Unknown | Filter::Off => None,
        };
        if reader.set_query(connection, query).is_err() {
            // A new connection has no query.
            self.connection = None;
        }
    }

    fn open(&mut self, index: usize, opener: &Opener) -> Progress {
        self.connection = None;
        match self.reader.take() {
            Some(reader) => {
                opener.read(index, reader);
                Progress::Opening
            }
            None => Progress::Idle,
        }
    }

    fn problem(&self, error: &ClientError) -> String {
        match &self.url {
            Some(url) if url.has_secrets() => without_answer(url, error),
            _ => error.with_causes(),
        }
    }
}

/// Returns the message of a failure without anything that the server sent, which may repeat the
/// secrets of the address.
fn without_answer(url: &MetricsUrl, error: &ClientError) -> String {
    let words = match error.kind() {
        ClientErrorKind::Status(status) => {
            format!("the server answered {status} for {}", url.base().path(""))
        }
        ClientErrorKind::Decode => "the answer cannot be read".to_owned(),
        // These messages are our own; their causes may not be.
        _ => return error.to_string(),
    };
    format!("{words}; what it says is left out, because the address has secrets")
}

const NO_METRICS: &str = "the answer has no line of a metric";

/// Longest time for which lines are held back.
const LONGEST_HELD: Duration = Duration::from_secs(1);

/// Longest time that a reading may take, the last one at the end of a run included.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);
