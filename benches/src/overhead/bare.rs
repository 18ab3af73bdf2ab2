//! The bare reader, a lower bound for any client: it reads, takes the time and counts events, and
//! does nothing else.
//!
//! It uses one thread, one epoll set, one buffer for all streams, and one clock read per socket
//! read. It understands neither HTTP nor JSON, so it is no client; it measures the cost of the
//! kernel and of wake-ups. Optionally it asks for the kernel's stamps, so that their cost shows
//! separately.

use std::io::Write;
use std::net::TcpStream;

use anyhow::{Context, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use servemark::backends::{Backend, Route};
use servemark::core::{
    Clock, Delta, Finish, MonotonicClock, Phase, Recorder, RequestRecord, Sample, Sink, Stamp,
};

use super::StreamLoad;
use super::test_bed::{CostMeter, ObservedRun};
use crate::streams::backend;

mod exchanges;
mod marks;
mod receive;
mod timer;

pub(super) use exchanges::Exchanges;
use marks::Marks;
pub(super) use receive::Arrivals;
use timer::Timer;

/// Open connections of the bare reader.
pub(super) struct Bare {
    clock: MonotonicClock,
    arrivals: Arrivals,
    epoll: OwnedFd,
    timer: Timer,
    streams: Vec<Stream>,
    samples: Vec<Sample>,
}

struct Stream {
    socket: TcpStream,
    request: Vec<u8>,
    sent: Stamp,
    marks: Marks,
    /// Number of events that the stream will have.
    expected: u32,
    /// Stamp of each read, and the number of events that had begun by its end.
    reads: Vec<(Stamp, u32)>,
}

impl Bare {
    pub(super) fn connect(
        load: &StreamLoad,
        arrivals: Arrivals,
        url: &str,
    ) -> anyhow::Result<Self> {
        let address = url.strip_prefix("http://").context("the floor speaks plain HTTP only")?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = Timer::new(load.streams, load.step())?;
        let interest = epoll::EventFlags::IN;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), interest)?;
        let samples = load.samples();
        let mut streams = Vec::with_capacity(load.streams);
        for (number, sample) in (0..).zip(&samples) {
            let stream = Stream::open(address, sample)?;
            arrivals.ask(&stream.socket)?;
            epoll::add(&epoll, &stream.socket, epoll::EventData::new_u64(number), interest)?;
            streams.push(stream);
        }
        Ok(Self { clock: MonotonicClock::start(), arrivals, epoll, timer, streams, samples })
    }

    pub(super) fn run(mut self) -> anyhow::Result<ObservedRun> {
        let meter = CostMeter::start(&self.clock);
        self.timer.start()?;
        self.read_all()?;
        let cost = meter.stop(&self.clock);
        let rows = self.streams.iter().zip(&self.samples).enumerate();
        let records = rows.map(|(index, (stream, sample))| stream.record(index, sample));
        Ok(ObservedRun { records: records.collect(), cost, own: None })
    }

    fn read_all(&mut self) -> anyhow::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let mut events = Vec::with_capacity(self.streams.len() + 1);
        let (mut sent, mut open) = (0, self.streams.len());
        while open > 0 {
            events.clear();
            epoll::wait(&self.epoll, spare_capacity(&mut events), None)?;
            for event in &events {
                match event.data.u64() {
                    TIMER => sent = self.send_due(sent)?,
                    number => {
                        let stream = &mut self.streams[number as usize];
                        let read =
                            self.arrivals.receive(&stream.socket, &self.clock, &mut buffer)?;
                        open -= usize::from(stream.take(read.at, &buffer[..read.length])?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends the requests that are due beyond the first `sent`. Returns how many are due by now.
    fn send_due(&mut self, sent: usize) -> anyhow::Result<usize> {
        let due = self.timer.fired()?;
        for stream in &mut self.streams[sent..due] {
            stream.send(&self.clock)?;
        }
        Ok(due)
    }
}

impl Stream {
    fn open(address: &str, sample: &Sample) -> anyhow::Result<Self> {
        let socket = open(address)?;
        let expected = sample.output_tokens + FRAME;
        Ok(Self {
            socket,
            request: request(Route::CHAT, address, sample)?,
            sent: Stamp::ZERO,
            marks: Marks::default(),
            expected,
            reads: Vec::with_capacity(expected as usize),
        })
    }

    fn send(&mut self, clock: &MonotonicClock) -> anyhow::Result<()> {
        self.sent = clock.now();
        Ok(self.socket.write_all(&self.request)?)
    }

    /// Records one read. Returns whether the last event has begun.
    fn take(&mut self, at: Stamp, bytes: &[u8]) -> anyhow::Result<bool> {
        ensure!(!bytes.is_empty(), "the server closed a stream");
        let events = self.marks.count(bytes);
        self.reads.push((at, events));
        Ok(events == self.expected)
    }

    /// Returns a record of the stream, as the client would have made it.
    fn record(&self, index: usize, sample: &Sample) -> RequestRecord {
        let mut recorder = Recorder::new(index, Phase::Measure, sample, self.sent);
        recorder.record_sent(self.sent);
        for token in 0..sample.output_tokens {
            // The first event has the role and no token.
            let read = self.reads.partition_point(|(_, events)| *events < token + 2);
            recorder.at(self.reads[read].0).delta(Delta::content(""));
        }
        recorder.finish(Ok(Finish::default()), self.sent)
    }
}

fn open(address: &str) -> anyhow::Result<TcpStream> {
    let socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn request(route: Route, address: &str, sample: &Sample) -> anyhow::Result<Vec<u8>> {
    let wire = backend(route).encode(sample)?;
    let mut request = format!("POST {} HTTP/1.1\r\nhost: {address}\r\n", wire.path).into_bytes();
    for (name, value) in &wire.headers {
        write!(request, "{name}: {}\r\n", value.to_str()?)?;
    }
    write!(request, "content-length: {}\r\n\r\n", wire.body.len())?;
    request.extend_from_slice(&wire.body);
    Ok(request)
}

const TIMER: u64 = u64::MAX;

/// Number of events of a chat stream without a token: the role, the finish reason, the end mark.
const FRAME: u32 = 3;
