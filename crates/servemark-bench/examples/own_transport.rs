//! A transport of the program that speaks no HTTP, and a search over it: the largest number of
//! requests in flight that meets an objective.
//!
//! The transport passes requests to a queue in this program, which works on four of them at once.
//! With more in flight, each waits for its turn: 20 ms longer for every further one.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use servemark::core::{
    Clock, Delta, ErrorKind, Finish, MonotonicClock, Recorder, RequestError, Sample, Session,
    Transport,
};
use servemark::metrics::Objective;
use servemark::plan::{Grain, SearchRange, SloSearchSpec, SloSpec};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{Bench, SloSearch};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// A queue that works on four requests at once and gives each a token every ten milliseconds.
struct Queue {
    /// The run's clock, from which every stamp must be read.
    clock: MonotonicClock,
    slots: Semaphore,
}

impl Queue {
    fn new(clock: MonotonicClock) -> Self {
        Self { clock, slots: Semaphore::new(4) }
    }
}

impl Transport for Queue {
    /// The number of tokens to generate.
    type Prepared = u32;

    fn prepare(&self, sample: &Sample) -> Result<u32, RequestError> {
        Ok(sample.output_tokens)
    }

    async fn execute(&self, tokens: u32, recorder: &mut Recorder) -> Result<Finish, RequestError> {
        let closed = |_| RequestError::new(ErrorKind::Connect, "the queue is closed");
        recorder.record_sent(self.clock.now());
        let _slot = self.slots.acquire().await.map_err(closed)?;
        let mut due = self.clock.now();
        for _ in 0..tokens {
            due = due + Duration::from_millis(10);
            sleep_until(Instant::from_std(self.clock.instant(due))).await;
            recorder.output(self.clock.now(), Delta::content("word ").with_tokens(Some(1)));
        }
        Ok(Finish::new(Some("length".to_owned())))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Answers of 4 to 12 tokens, so that requests do not end in step.
    let prompt =
        |number: u32| Session::from(Sample::new("Tell me a story.", 5, 4 + number * 7 % 9));
    let prompts: Vec<Session> = (0..100).map(prompt).collect();
    let load = LoadSpec::new(ArrivalSpec::Burst);
    let bench = Bench::over(("queue", Queue::new), ("stories", prompts), 100, load);

    let slo = SloSpec::new(Objective::list("ttft:p50<100ms")?);
    let mut spec = SloSearchSpec::new(bench.plan.clone(), "max_concurrency", slo)?;
    spec.range = SearchRange::new(4.0, 1.0, 32.0, Grain::Whole)?;
    // Short rounds, because this is an example: longer ones find the limit more precisely.
    spec.effort.requests = NonZeroUsize::new(60);
    spec.effort.duration = Duration::from_millis(500);
    spec.effort.rounds = NonZeroU32::MIN;
    let mut search = SloSearch::open(&spec, None, &bench.context)?;
    for round in &mut search {
        println!("{}", round?);
    }
    println!("{}", search.answer());
    Ok(())
}
