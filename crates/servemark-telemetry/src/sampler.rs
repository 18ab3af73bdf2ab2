//! Reads several sources periodically, on a thread of its own.
//!
//! All sources are asked at common absolute instants, each by a task of its own; a source that
//! answers slowly misses instants and delays no other. The threads that send and read requests are
//! not involved.

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use servemark_client::{
    ClientError, Credentials, MetricsUrl, Target, TargetSpec, Text, TextPool, TextReader,
};
use servemark_core::{
    Clock, MonotonicClock, RequestError, Stamp, TelemetryLine, TelemetrySample, TelemetrySource,
};
use thiserror::Error;
use tokio::runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::Readings;

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
    kind: SourceKind,
}

#[derive(Debug)]
enum SourceKind {
    Exporter { target: Target, route: String, url: Option<MetricsUrl> },
    Devices(Box<dyn DeviceReader>),
}

/// An interface to devices of this machine.
pub trait DeviceReader: fmt::Debug + Send {
    /// Returns the name of the interface.
    fn name(&self) -> String;

    /// Reads all devices. The answer is text in the exposition format, with the metric names of an
    /// exporter that the vocabulary knows. It is called on the sampler's thread and may take
    /// milliseconds. An error leaves a gap.
    fn read(&mut self) -> Result<String, String>;
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
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.query() == other.query()
    }

    fn query(&self) -> String {
        match &self.kind {
            SourceKind::Exporter { url: Some(url), .. } => url.route(),
            SourceKind::Exporter { .. } | SourceKind::Devices(_) => String::new(),
        }
    }

    /// Returns the address without anything secret, or the name of the interface to devices.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Gets the text of a source.
enum Reader {
    Exporter(Box<Exporter>),
    Devices(Box<dyn DeviceReader>),
}

struct Exporter {
    reader: TextReader,
    url: Option<MetricsUrl>,
}

impl Reader {
    fn new(kind: SourceKind, clock: MonotonicClock, pool: &TextPool) -> Self {
        match kind {
            SourceKind::Exporter { target, route, url } => {
                let reader = TextReader::new(target, route, LONGEST_ANSWER, clock);
                let reader = reader.with_pool(pool);
                Self::Exporter(Box::new(Exporter { reader, url }))
            }
            SourceKind::Devices(reader) => Self::Devices(reader),
        }
    }

    async fn read(&mut self) -> Result<Text, String> {
        match self {
            Self::Exporter(exporter) => exporter.read().await,
            Self::Devices(reader) => reader.read().map(Text::from),
        }
    }
}

/// Why the sampler did not start, or ended early.
#[derive(Debug, Error)]
pub enum SamplerError {
    /// The system gave no thread or no timer.
    #[error("cannot start the thread that reads metrics")]
    Start(#[source] io::Error),
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
    orders: watch::Sender<Order>,
    /// Number of requested readings that are done, over all sources.
    done: watch::Receiver<u64>,
    sources: u64,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    async fn read(&mut self) -> Result<Text, String> {
        let answer = self.reader.read().await;
        answer.map_err(|error| {
            let message = RequestError::from(error).message;
            self.url.as_ref().map_or_else(|| message.clone(), |url| url.redacted(&message))
        })
    }
}

/// An instruction to all sources, in addition to their periodic readings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    /// Read all sources now; the number identifies the order.
    Ask(u64),
    /// Ask a last time and end.
    Stop,
}

impl Sampler {
    /// Starts to read the sources. Every line goes to `lines`, and the first failure of each source
    /// to `problems`.
    pub fn start(
        spec: SamplerSpec,
        clock: MonotonicClock,
        lines: LineSink,
        problems: ProblemSink,
    ) -> Result<Self, SamplerError> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(SamplerError::Start)?;
        let (orders, ordered) = watch::channel(Order::Ask(0));
        let (carried_out, done) = watch::channel(0);
        let carried_out = Arc::new(carried_out);
        let sources = spec.sources.len() as u64;
        let sampling = move || {
            // Tasks of the runtime itself: each wake-up of a `LocalSet` is a call of the kernel.
            let mut tasks = JoinSet::new();
            let interval = spec.interval.max(SHORTEST_INTERVAL);
            let (ticks, ticked) = watch::channel(());
            let (count, pool) = (Arc::default(), TextPool::new());
            for (index, source) in spec.sources.into_iter().enumerate() {
                lines(TelemetryLine::Source(TelemetrySource::new(index, source.name.clone())));
                let asking = SourceSampler {
                    index,
                    readings: Readings::new(index, Arc::clone(&count)),
                    name: source.name,
                    reader: Reader::new(source.kind, clock, &pool),
                    clock,
                    lines: Arc::clone(&lines),
                    problems: Arc::clone(&problems),
                    last_problem: None,
                    has_reported: false,
                    done: Arc::clone(&carried_out),
                };
                tasks.spawn_on(asking.run(ticked.clone(), ordered.clone()), runtime.handle());
            }
            runtime.block_on(tick(&ticks, interval, clock, tasks));
        };
        let thread = Builder::new().name("telemetry".to_owned()).spawn(sampling);
        let thread = Some(thread.map_err(SamplerError::Start)?);
        Ok(Self { orders, done, sources, thread })
    }

    /// Reads every source once more and waits for the answers, but at most 250 ms, so that counters
    /// have a reading right before the caller's next step. Only one such call may be under way.
    pub async fn ask_now(&mut self) {
        let order = match *self.orders.borrow() {
            Order::Ask(order) => order + 1,
            Order::Stop => return,
        };
        let expected = order * self.sources;
        // The thread may have ended early; `finish` says so.
        if self.orders.send(Order::Ask(order)).is_ok() {
            let _ = timeout(LONGEST_WAIT, self.done.wait_for(|done| *done >= expected)).await;
        }
    }

    /// Asks every source that answers a last time, and stops.
    pub fn finish(mut self) -> Result<(), SamplerError> {
        self.end().map_or(Ok(()), |ended| ended.map_err(|_| SamplerError::Lost))
    }

    fn end(&mut self) -> Option<std::thread::Result<()>> {
        // The thread may have ended already.
        let _ = self.orders.send(Order::Stop);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

/// Tells all sources when to read, until their tasks have ended. One timer serves all of them:
/// setting one up calls the kernel, and the thread wakes up once for all.
async fn tick(
    ticks: &watch::Sender<()>,
    interval: Duration,
    clock: MonotonicClock,
    mut tasks: JoinSet<()>,
) {
    let (started, mut number) = (clock.now(), 0_u32);
    let mut timer = pin!(sleep_until(Instant::from_std(clock.instant(started))));
    loop {
        let passed = clock.now().since(started).as_nanos() / interval.as_nanos().max(1);
        number = u32::try_from(passed + 1).unwrap_or(u32::MAX).max(number.saturating_add(1));
        let next = started + interval.saturating_mul(number);
        timer.as_mut().reset(Instant::from_std(clock.instant(next)));
        loop {
            tokio::select! {
                () = &mut timer => break,
                ended = tasks.join_next() => if ended.is_none() { return },
            }
        }
        // A source whose task has ended hears nothing.
        let _ = ticks.send(());
    }
}

/// One source that is read periodically.
struct SourceSampler {
    index: usize,
    name: String,
    reader: Reader,
    readings: Readings,
    clock: MonotonicClock,
    lines: LineSink,
    problems: ProblemSink,
    /// Why the last reading failed; `None` if it succeeded.
    last_problem: Option<String>,
    has_reported: bool,
    done: Arc<watch::Sender<u64>>,
}

impl SourceSampler {
    /// Reads the source now, at each tick and at each order, until it is told to stop.
    async fn run(mut self, mut ticked: watch::Receiver<()>, mut ordered: watch::Receiver<Order>) {
        let mut last = Order::Ask(0);
        self.ask(ordered.clone()).await;
        loop {
            // Instants that have passed meanwhile are missed.
            ticked.mark_unchanged();
            tokio::select! {
                _ = ticked.changed() => {}
                // A dropped sender means to stop, too.
                _ = ordered.changed() => {}
            }
            let order = *ordered.borrow_and_update();
            let is_last = order == Order::Stop || ordered.has_changed().is_err();
            if !(is_last && self.is_failing()) {
                self.ask(ordered.clone()).await;
            }
            if is_last {
                return;
            }
            // An order may arrive at the instant of a periodic reading.
            if std::mem::replace(&mut last, order) != order {
                self.done.send_modify(|done| *done += 1);
            }
        }
    }

    fn is_failing(&self) -> bool {
        self.last_problem.is_some()
    }

    /// Reads the source once. If the source is failing, the reading is abandoned when the sampler
    /// is stopped.
    async fn ask(&mut self, mut ordered: watch::Receiver<Order>) {
        let (requested, is_failing) = (self.clock.now(), self.is_failing());
        let answer = tokio::select! {
            answer = self.reader.read() => answer,
            _ = ordered.wait_for(|order| *order == Order::Stop), if is_failing => return,
        };
        let at = self.clock.now();
        let took_ns = at.since(requested).as_nanos() as u64;
        let lines = answer.and_then(|mut text| {
            let lines = self.readings.read(&mut text, at, took_ns);
            lines.ok_or_else(|| NO_METRICS.to_owned())
        });
        match lines {
            Ok(lines) => {
                self.last_problem = None;
                for line in lines {
                    (self.lines)(line);
                }
            }
            Err(problem) => self.miss(at, problem),
        }
    }

    /// Reports a gap when it begins, and when its reason changes.
    fn miss(&mut self, at: Stamp, problem: String) {
        if !std::mem::replace(&mut self.has_reported, true) {
            (self.problems)(&self.name, &problem);
        }
        if self.last_problem.as_ref() != Some(&problem) {
            let gap = TelemetrySample::gap(self.index, at, problem.as_str());
            (self.lines)(TelemetryLine::Sample(gap));
            self.last_problem = Some(problem);
        }
    }
}

const NO_METRICS: &str = "the answer has no line of a metric";

/// Shortest time from one reading to the next; shorter intervals are lengthened to it.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);

/// Longest time that [`Sampler::ask_now`] waits for the answers of all sources.
const LONGEST_WAIT: Duration = Duration::from_millis(250);

/// Longest time that a reading may take, the last one at the end of a run included.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);
