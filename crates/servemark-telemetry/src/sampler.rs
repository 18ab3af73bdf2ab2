//! Reads several sources periodically, on threads of its own.
//!
//! All sources are asked at common absolute instants; a source that answers slowly misses instants
//! and delays no other. The threads that send and read requests are not involved.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use mio::Poll;
use servemark_client::{BaseUrl, ClientError, Credentials, MetricsUrl, Target, TargetSpec};
use servemark_core::{MonotonicClock, TelemetryLine};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::message::{Message, Post};
use crate::opener::Opener;
use crate::sampling::Sampling;
use crate::source_reader::{Report, SourceReader};

/// Sources of metrics to read, and the interval between two readings.
#[derive(Debug)]
pub struct SamplerSpec {
    /// The sources. Their positions are those of the log's sources.
    pub sources: Vec<SamplerSource>,
    /// Time from one reading to the next; at least 50 ms, even if less is given.
    pub interval: Duration,
}

impl SamplerSpec {
    /// Creates a spec.
    pub fn new(sources: Vec<SamplerSource>, interval: Duration) -> Self {
        Self { sources, interval }
    }
}

/// A source of metrics, with its credentials.
#[derive(Debug)]
pub struct SamplerSource {
    name: String,
    pub(crate) kind: SourceKind,
}

#[derive(Debug)]
pub(crate) enum SourceKind {
    Exporter { target: Target, route: String, url: Option<MetricsUrl> },
    Devices(Box<dyn DeviceReader>),
}

/// An interface to devices of this machine.
pub trait DeviceReader: fmt::Debug + Send {
    /// Returns the name of the interface.
    fn name(&self) -> String;

    /// Reads all devices. The answer is text in the exposition format, with the metric names of an
    /// exporter that the vocabulary knows; a series that is missing in it has not changed. It is
    /// called on the sampler's thread and may take milliseconds. An error leaves a gap.
    fn read(&mut self, occasion: ReadingOccasion) -> Result<String, String>;
}

/// Why devices are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReadingOccasion {
    /// It is the first reading, the last one, or one that was ordered: energy is counted from one to
    /// the other, so everything is wanted.
    Ordered,
    /// The interval has passed. What takes long need not be read each time.
    Periodic,
}

impl SamplerSource {
    /// Creates a source of a server's metrics: its route `/metrics`, read with its own credentials.
    pub fn of_server(target: &Target) -> Self {
        let route = "/metrics".to_owned();
        let name = format!("{}{route}", target.base_url());
        let kind = SourceKind::Exporter { target: target.clone(), route, url: None };
        Self { name, kind }
    }

    /// Creates a source of the metrics at an address. The credentials of the measured server are
    /// not sent there.
    pub fn at(url: &MetricsUrl) -> Result<Self, ClientError> {
        let target =
            Target::new(&TargetSpec::new(url.base().clone()), Credentials::of_metrics(url)?)?;
        let kind = SourceKind::Exporter { target, route: url.route(), url: Some(url.clone()) };
        Ok(Self { name: url.to_string(), kind })
    }

    /// Creates a source of readings of this machine's devices.
    pub fn of_devices(reader: Box<dyn DeviceReader>) -> Self {
        Self { name: reader.name(), kind: SourceKind::Devices(reader) }
    }

    /// Returns whether the other source has the same address, with its query, or the same devices.
    /// The names of this machine's own address, such as `localhost` and `127.0.0.1`, are the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.address(), other.address()) {
            (Some((base, route)), Some((other_base, other_route))) => {
                base.is_same_server(other_base) && base.path(route) == other_base.path(other_route)
            }
            (None, None) => self.name == other.name,
            _ => false,
        }
    }

    /// Returns the base and the route of an address.
    fn address(&self) -> Option<(&BaseUrl, &str)> {
        match &self.kind {
            SourceKind::Exporter { target, route, .. } => Some((target.base_url(), route)),
            SourceKind::Devices(_) => None,
        }
    }

    /// Returns the address without anything secret, or the name of the interface to devices.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Why the sampler did not start, or ended early.
#[derive(Debug, Error)]
pub enum SamplerError {
    /// The system gave no thread or no timer.
    #[error("cannot start the thread that reads metrics")]
    Start(#[source] io::Error),
    /// The system cannot tell when answers arrive.
    #[error("cannot wait for answers with metrics")]
    Wait(#[source] io::Error),
    /// The thread panicked.
    #[error("the thread that reads metrics ended early")]
    Lost,
}

/// A function that receives the lines, in the order in which a log needs them.
pub type LineSink = Arc<dyn Fn(TelemetryLine) + Send + Sync>;

/// A function that is called once for each source that cannot be read, with the reason.
pub type ProblemSink = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// A running sampler. It stops when it is [finished](Self::finish) or dropped.
#[derive(Debug)]
pub struct Sampler {
    post: Post,
    orders: u64,
    /// Number of readings that were ordered and are done, over all sources.
    done: watch::Receiver<u64>,
    sources: u64,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Sampler {
    /// Starts to read the sources. Every line goes to `lines`, at most a second later, and the first
    /// failure of each source to `problems`.
    pub fn start(
        spec: SamplerSpec,
        clock: MonotonicClock,
        lines: LineSink,
        problems: ProblemSink,
    ) -> Result<Self, SamplerError> {
        let poll = Poll::new().map_err(SamplerError::Start)?;
        let (post, messages) = Post::new(poll.registry()).map_err(SamplerError::Start)?;
        let (carried_out, done) = watch::channel(0);
        let sources = spec.sources.len() as u64;
        let interval = spec.interval.max(SHORTEST_INTERVAL);
        let opener = Opener::start(post.clone()).map_err(SamplerError::Start)?;
        let mut report = Report::new(clock, lines, problems);
        let sampling = move || {
            let sources = SourceReader::all(spec.sources, &mut report);
            Sampling::new(poll, messages, opener, report, sources, carried_out).run(interval)
        };
        let thread = Builder::new().name("telemetry".to_owned()).spawn(sampling);
        let thread = Some(thread.map_err(SamplerError::Start)?);
        Ok(Self { post, orders: 0, done, sources, thread })
    }

    /// Reads every source once more and waits for the answers, but at most 250 ms, so that counters
    /// have a reading right before the caller's next step.
    pub async fn ask_now(&mut self) {
        self.orders += 1;
        let expected = self.orders * self.sources;
        self.post.send(Message::Ask);
        // The thread may have ended early; `finish` says so.
        let _ = timeout(LONGEST_WAIT, self.done.wait_for(|done| *done >= expected)).await;
    }

    /// Asks every source that answers a last time, and stops.
    pub fn finish(mut self) -> Result<(), SamplerError> {
        match self.end() {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(SamplerError::Wait(error)),
            Some(Err(_)) => Err(SamplerError::Lost),
        }
    }

    fn end(&mut self) -> Option<std::thread::Result<io::Result<()>>> {
        self.post.send(Message::Stop);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

/// Shortest time from one reading to the next; shorter intervals are lengthened to it.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);

/// Longest time that [`Sampler::ask_now`] waits for the answers of all sources.
const LONGEST_WAIT: Duration = Duration::from_millis(250);
