//! Processes whose latencies are simulated request by request.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use servemark_rng::NumpyRandom;

/// A simulated process with its name.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Name in tables.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    LogNormal,
    /// Nine of ten values near 1, the others near 5.
    Bimodal,
    /// Pareto distribution with this exponent.
    Pareto(f64),
    /// First-order autoregression with this coefficient.
    Autoregression(f64),
    Queue(Queue),
    /// Engine with continuous batching, loaded to this share of its capacity.
    Engine {
        load: f64,
    },
    /// Engine with continuous batching and this number of users, who each send their next request
    /// when they have their answer.
    ClosedLoop {
        users: usize,
    },
}

/// Queue in front of sixteen servers, loaded to this share.
#[derive(Clone, Copy, Debug)]
struct Queue {
    load: f64,
    service: Service,
    /// Largest addition to the constant part of the time to first token, in seconds.
    spread: f64,
}

/// The distribution of a request's service time, whose mean is one second.
#[derive(Clone, Copy, Debug)]
enum Service {
    Constant,
    /// A log-normal time.
    Varies,
    /// A time to first token that varies by a tenth, plus the time of the output tokens; their
    /// number and the time of each vary from request to request.
    Tokens,
}

/// One request of a simulated open loop, in seconds since the start of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) due: f64,
    pub(super) first_token: f64,
    pub(super) end: f64,
    /// Number of output tokens.
    pub(super) tokens: u32,
}

/// Returns every process of the study.
pub fn cells() -> Vec<Process> {
    let queue = |name, load, service| Process {
        name,
        kind: Kind::Queue(Queue { load, service, spread: LEAST_SPREAD }),
    };
    let (constant, varies, tokens) = (Service::Constant, Service::Varies, Service::Tokens);
    let engine = |name, load| Process { name, kind: Kind::Engine { load } };
    vec![
        Process { name: "log-normal", kind: Kind::LogNormal },
        Process { name: "bimodal", kind: Kind::Bimodal },
        Process { name: "Pareto 2.5", kind: Kind::Pareto(2.5) },
        Process { name: "AR(1) 0.9", kind: Kind::Autoregression(0.9) },
        Process { name: "AR(1) 0.98", kind: Kind::Autoregression(0.98) },
        queue("M/D/16, 50 %", 0.5, constant),
        queue("M/D/16, 70 %", 0.7, constant),
        queue("M/D/16, 90 %", 0.9, constant),
        queue("M/D/16, 95 %", 0.95, constant),
        queue("M/G/16, 50 %", 0.5, varies),
        queue("M/G/16, 70 %", 0.7, varies),
        Process {
            name: "M/G/16, 70 %, base varies by 5 %",
            kind: Kind::Queue(Queue {
                load: 0.7,
                service: varies,
                spread: 0.05 * BASE * 12f64.sqrt(),
            }),
        },
        queue("M/G/16, 90 %", 0.9, varies),
        queue("M/G/16, 95 %", 0.95, varies),
        queue("slots, 60 %", 0.6, tokens),
        queue("slots, 75 %", 0.75, tokens),
        queue("slots, 85 %", 0.85, tokens),
        Process { name: "closed loop of 32", kind: Kind::ClosedLoop { users: 32 } },
        Process { name: "closed loop of 48", kind: Kind::ClosedLoop { users: 48 } },
        engine("batching engine, 60 %", 0.6),
        engine("batching engine, 76 %", 0.76),
        engine("batching engine, 88 %", 0.88),
    ]
}

impl Process {
    /// Returns a queue in front of sixteen servers, whose service takes a second or a time that
    /// varies.
    pub(super) fn queue(varies: bool) -> Self {
        let (name, service) =
            if varies { ("M/G/16", Service::Varies) } else { ("M/D/16", Service::Constant) };
        Self { name, kind: Kind::Queue(Queue { load: 0.5, service, spread: LEAST_SPREAD }) }
    }

    /// Returns an engine with continuous batching.
    pub(super) fn engine() -> Self {
        Self { name: "batching engine", kind: Kind::Engine { load: 0.5 } }
    }

    /// Returns the capacity of an open loop of this process, in requests per second.
    pub(super) fn capacity(&self) -> f64 {
        if let Kind::Engine { .. } = self.kind { Batching::CAPACITY } else { SERVERS as f64 }
    }

    /// Returns whether short runs are often without any wait, so that the values alone show nothing
    /// of waits. Run logs show how many requests were in flight.
    pub fn has_rare_waits(&self) -> bool {
        matches!(self.kind, Kind::Queue(Queue { service: Service::Tokens, .. }))
    }

    /// Returns the requests per second of an open loop; absent for a closed loop.
    pub(super) fn rate(&self) -> Option<f64> {
        match self.kind {
            Kind::Queue(Queue { load, .. }) | Kind::Engine { load } => Some(load * self.capacity()),
            Kind::ClosedLoop { .. } => None,
            Kind::LogNormal | Kind::Bimodal | Kind::Pareto(_) | Kind::Autoregression(_) => {
                Some(1.0)
            }
        }
    }

    /// Returns the process with this number of requests per second; a process without a load is
    /// unchanged.
    pub(super) fn at_rate(self, rate: f64) -> Self {
        let share = rate / self.capacity();
        let kind = match self.kind {
            Kind::Queue(queue) => Kind::Queue(Queue { load: share, ..queue }),
            Kind::Engine { .. } => Kind::Engine { load: share },
            other => other,
        };
        Self { kind, ..self }
    }

    /// Returns the requests of a run of a queue, in the order in which they are due; absent for
    /// other processes. An answer has 64 tokens on average.
    pub(super) fn visits(&self, requests: usize, random: &mut NumpyRandom) -> Option<Vec<Visit>> {
        match self.kind {
            Kind::Queue(queue) => Some(queue.visits(requests, random)),
            _ => None,
        }
    }

    /// Returns the long-run mean, median and 99th percentile of the process, from the long run of
    /// this number, which has two million requests without its start.
    pub fn truth(&self, run: u32) -> [f64; 3] {
        let values = self.run(LONG_RUN, &mut NumpyRandom::seeded(LONG_RUN_SEED + run));
        mean_p50_p99(without_start(values))
    }

    /// Returns the requests of a run of two million without its start; absent for processes that
    /// are no queues.
    pub(super) fn long_run(&self) -> Option<Vec<Visit>> {
        self.visits(LONG_RUN, &mut NumpyRandom::seeded(LONG_RUN_SEED)).map(without_start)
    }

    /// Returns the latencies of a run of this number of requests, which begins with an empty
    /// system.
    pub fn run(&self, requests: usize, random: &mut NumpyRandom) -> Vec<f64> {
        let each = 0..requests;
        match self.kind {
            Kind::LogNormal => each.map(|_| random.normal(0.0, 1.0).exp()).collect(),
            Kind::Bimodal => each.map(|_| bimodal(random)).collect(),
            Kind::Pareto(exponent) => {
                each.map(|_| (1.0 - random.random_sample()).powf(-1.0 / exponent)).collect()
            }
            Kind::Autoregression(likeness) => autoregression(likeness, requests, random),
            Kind::Queue(queue) => {
                let visits = queue.visits(requests, random).into_iter();
                visits.map(|visit| visit.first_token - visit.due).collect()
            }
            Kind::Engine { load } => {
                let mut now = 0.0;
                let mut due = || {
                    now += random.exponential(1.0 / (load * Batching::CAPACITY));
                    now
                };
                let due: Vec<f64> = each.map(|_| due()).collect();
                Batching::new(due, 0).run(requests, random)
            }
            Kind::ClosedLoop { users } => {
                Batching::new(vec![0.0; users.min(requests)], requests).run(requests, random)
            }
        }
    }
}

/// Returns the mean, the median and the 99th percentile.
pub(super) fn mean_p50_p99(mut values: Vec<f64>) -> [f64; 3] {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.sort_unstable_by(f64::total_cmp);
    let at = |thousandths: usize| values[values.len() * thousandths / 1000];
    [mean, at(500), at(990)]
}

/// Leaves out the start of a long run, in which the system fills.
fn without_start<T>(mut values: Vec<T>) -> Vec<T> {
    values.split_off(LONG_RUN / 100)
}

/// Number of requests of the run that gives the truth of a process.
const LONG_RUN: usize = 2_000_000;
const LONG_RUN_SEED: u32 = 7;

fn bimodal(random: &mut NumpyRandom) -> f64 {
    if random.random_sample() < 0.9 { random.normal(1.0, 0.1) } else { random.normal(5.0, 0.3) }
}

fn autoregression(likeness: f64, requests: usize, random: &mut NumpyRandom) -> Vec<f64> {
    let step = (1.0 - likeness * likeness).sqrt();
    let mut value = random.normal(0.0, 1.0);
    let mut next = || {
        value = likeness * value + step * random.normal(0.0, 1.0);
        10.0 + value
    };
    (0..requests).map(|_| next()).collect()
}

impl Queue {
    /// Returns requests that are served first come, first served. The first token comes after the
    /// wait and the time to prefill, plus a part of the spread.
    fn visits(self, requests: usize, random: &mut NumpyRandom) -> Vec<Visit> {
        let mut free: VecDeque<f64> = VecDeque::from([0.0; SERVERS]);
        let mut due = 0.0;
        let mut visit = || {
            due += random.exponential(1.0 / (self.load * SERVERS as f64));
            let begins = free.pop_front().map_or(due, |free| free.max(due));
            let Served { seconds, prefill, tokens } = self.service.draw(random);
            let ends = begins + seconds;
            let place = free.partition_point(|other| *other <= ends);
            free.insert(place, ends);
            let first_token = begins + prefill + self.spread * random.random_sample();
            Visit { due, first_token, end: ends + LEAST_DECODE, tokens }
        };
        (0..requests).map(|_| visit()).collect()
    }
}

/// Service time and output of one request.
struct Served {
    seconds: f64,
    /// Time to first token without a wait, in seconds.
    prefill: f64,
    tokens: u32,
}

impl Service {
    #[expect(clippy::cast_sign_loss, reason = "numbers of tokens are at least 1")]
    fn draw(self, random: &mut NumpyRandom) -> Served {
        let in_proportion = |seconds: f64| {
            let tokens = (seconds * TOKENS_PER_SECOND).round().max(1.0) as u32;
            Served { seconds, prefill: BASE, tokens }
        };
        match self {
            Self::Constant => in_proportion(1.0),
            Self::Varies => in_proportion(random.normal(-0.5, 1.0).exp()),
            Self::Tokens => {
                let prefill = PREFILL * random.normal(-0.005, 0.1).exp();
                let tokens = random.normal(TOKENS, TOKENS / 4.0).round().max(1.0);
                let each = random.normal(-0.1, 0.447).exp() * (1.0 - PREFILL) / TOKENS;
                Served { seconds: prefill + tokens * each, prefill, tokens: tokens as u32 }
            }
        }
    }
}

/// Mean time to first token of a request whose service consists of tokens, in seconds.
const PREFILL: f64 = 0.25;
/// Mean number of output tokens of a request whose service consists of tokens.
const TOKENS: f64 = 64.0;
/// Constant part of the time to first token of a queue, in seconds.
const BASE: f64 = 0.05;
/// Spread of the constant part of the time to first token, in seconds, if it hardly varies.
const LEAST_SPREAD: f64 = 1e-6;
/// Seconds from the end of a service to the end of its answer, which comes after the first token.
const LEAST_DECODE: f64 = 0.06;
/// Output tokens of each second of service in a queue.
const TOKENS_PER_SECOND: f64 = 64.0;

const SERVERS: usize = 16;

/// An engine that steps over all requests in its batch. A request's first token comes with the step
/// that admits it.
struct Batching {
    waiting: VecDeque<(usize, f64)>,
    /// Number of requests of a closed loop.
    following: usize,
    next: usize,
    now: f64,
    /// Step at which each request in the batch ends.
    running: BinaryHeap<Reverse<u64>>,
    steps: u64,
}

impl Batching {
    const SLOTS: usize = 32;
    const MEAN_TOKENS: f64 = 64.0;
    /// Constant part of the duration of a step, in seconds.
    const STEP: f64 = 0.01;
    /// Duration that each request in the batch adds to a step, in seconds.
    const STEP_EACH: f64 = 0.0005;
    /// Duration of admitting a request, in seconds.
    const PREFILL: f64 = 0.004;
    /// Requests per second with a full batch.
    const CAPACITY: f64 = Self::SLOTS as f64
        / (Self::MEAN_TOKENS * (Self::STEP + Self::STEP_EACH * Self::SLOTS as f64)
            + Self::SLOTS as f64 * Self::PREFILL);

    fn new(due: Vec<f64>, following: usize) -> Self {
        let next = due.len();
        let waiting = due.into_iter().enumerate().collect();
        Self { waiting, following, next, now: 0.0, running: BinaryHeap::new(), steps: 0 }
    }

    /// Returns the times to first token of the first requests, in the order in which they were
    /// sent.
    fn run(mut self, requests: usize, random: &mut NumpyRandom) -> Vec<f64> {
        let mut ttft = vec![0.0; requests];
        let mut begun = 0;
        while begun < requests {
            let taken = self.take();
            let batch = (self.running.len() + taken.len()) as f64;
            self.now += Self::STEP + Self::STEP_EACH * batch + Self::PREFILL * taken.len() as f64;
            for (index, due) in taken {
                if let Some(place) = ttft.get_mut(index) {
                    *place = self.now - due;
                    begun += 1;
                }
                self.running.push(Reverse(self.steps + tokens(random)));
            }
            self.steps += 1;
            self.finish();
        }
        ttft
    }

    /// Admits the due requests that find a slot. An idle engine waits for the next request.
    fn take(&mut self) -> Vec<(usize, f64)> {
        if let Some((_, due)) = self.waiting.front().filter(|_| self.running.is_empty()) {
            self.now = self.now.max(*due);
        }
        let free = Self::SLOTS - self.running.len();
        let due = self.waiting.iter().take(free).take_while(|(_, due)| *due <= self.now).count();
        self.waiting.drain(..due).collect()
    }

    /// Removes requests that have had their last token; in a closed loop their users send the next
    /// ones.
    fn finish(&mut self) {
        while self.running.peek().is_some_and(|Reverse(last)| *last <= self.steps) {
            self.running.pop();
            if self.next < self.following {
                self.waiting.push_back((self.next, self.now));
                self.next += 1;
            }
        }
    }
}

/// Draws the length of an answer, at least one token.
#[expect(clippy::cast_sign_loss, reason = "an exponential number is not below zero")]
fn tokens(random: &mut NumpyRandom) -> u64 {
    random.exponential(Batching::MEAN_TOKENS).max(1.0) as u64
}
