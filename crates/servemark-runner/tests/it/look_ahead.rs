//! Requests prepared ahead, and requests that are not ready in time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use servemark_core::{
    Clock, Delta, ErrorKind, Finish, Recorder, RequestError, RequestRecord, Sample, Session, Sink,
    Stamp, Transport,
};
use servemark_pacer::TokioPacer;
use servemark_runner::{Collector, LoadSpec, Runner, StopHandle};
use servemark_schedule::{ArrivalSpec, Schedule};

use crate::world::{at, check, ms};

/// Sends ten requests, due `step_ms` milliseconds apart.
async fn measure<T: Transport>(
    transport: &Arc<T>,
    step_ms: u64,
    set: impl FnOnce(&mut LoadSpec),
) -> Vec<RequestRecord> {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    set(&mut load);
    let (collector, stop) = (Arc::new(Collector::default()), StopHandle::new());
    let runner = Runner::new(TokioPacer::start(), &load, collector.clone(), stop.signal());
    let sessions = vec![Session::from(Sample::new("hi", 1, 1)); 10];
    let schedule: Schedule = (0..10).map(|index| ms(index * step_ms)).collect();
    runner.measure(transport, &sessions.into(), &schedule).await;
    let mut records = collector.take();
    records.sort_by_key(RequestRecord::key);
    records
}

fn answer(recorder: &mut Recorder) -> Finish {
    recorder.at(Stamp::ZERO).delta(Delta::content("x"));
    Finish::default()
}

/// Requests of a hundred bytes, and the number of them that wait.
#[derive(Default)]
struct Heavy {
    waiting: AtomicUsize,
    most: AtomicUsize,
}

impl Transport for Heavy {
    type Prepared = ();

    fn prepare(&self, _sample: &Sample) -> Result<(), RequestError> {
        self.most.fetch_max(self.waiting.fetch_add(1, Relaxed) + 1, Relaxed);
        Ok(())
    }

    fn bytes((): &()) -> usize {
        100
    }

    async fn execute(&self, (): (), recorder: &mut Recorder) -> Result<Finish, RequestError> {
        self.waiting.fetch_sub(1, Relaxed);
        Ok(answer(recorder))
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_bytes_wait_than_are_allowed() {
    for (bytes, most) in [(350, 4), (50, 1), (10_000, 10)] {
        let heavy = Arc::new(Heavy::default());
        let bytes = NonZeroUsize::new(bytes).unwrap();
        let records = measure(&heavy, 10, |load| load.look_ahead.bytes = bytes).await;
        // One more may be on its way to the server.
        let seen = heavy.most.load(Relaxed);
        assert!(records.len() == 10 && (most..=most + 1).contains(&seen), "{seen} for {most}");
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_at_the_gate_hold_no_bytes() {
    let heavy = Arc::new(Heavy::default());
    let set = |load: &mut LoadSpec| {
        load.look_ahead.bytes = NonZeroUsize::new(100).unwrap();
        load.max_concurrency = NonZeroUsize::new(1);
    };
    let records = measure(&heavy, 0, set).await;
    assert_eq!(records.len(), 10);
    assert!(heavy.most.load(Relaxed) <= 2, "{:?}", heavy.most);
}

/// The first request blocks the sending thread for five milliseconds, and the second cannot be
/// prepared before that is over.
struct Slow {
    clock: TokioPacer,
    done: SyncSender<()>,
    first: Mutex<Receiver<()>>,
    prepared: AtomicUsize,
}

impl Transport for Slow {
    type Prepared = usize;

    fn prepare(&self, _sample: &Sample) -> Result<usize, RequestError> {
        let index = self.prepared.fetch_add(1, Relaxed);
        if index == 1 {
            self.first.lock().unwrap().recv().unwrap();
        }
        Ok(index)
    }

    async fn execute(&self, index: usize, recorder: &mut Recorder) -> Result<Finish, RequestError> {
        if index == 0 {
            tokio::task::yield_now().await;
            tokio::time::advance(ms(5)).await;
            self.done.send(()).unwrap();
        }
        recorder.record_sent(self.clock.now());
        Ok(answer(recorder))
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_ready_is_sent_late_and_says_so() {
    let (done, first) = sync_channel(1);
    let (clock, first) = (TokioPacer::start(), Mutex::new(first));
    let slow = Arc::new(Slow { clock, done, first, prepared: AtomicUsize::new(0) });
    let records =
        measure(&slow, 0, |load| load.look_ahead.calls = NonZeroUsize::new(1).unwrap()).await;
    check(&records, |record| Some(record.scheduled), &[0; 10]);
    check(&records[..2], |record| record.granted, &[0, 0]);
    assert_eq!(records[1].sent, Some(at(5)));
    assert!(records.iter().all(RequestRecord::is_success));
}

/// Panics over its third sample.
#[derive(Default)]
struct Touchy(AtomicUsize);

impl Transport for Touchy {
    type Prepared = ();

    fn prepare(&self, _sample: &Sample) -> Result<(), RequestError> {
        assert_ne!(self.0.fetch_add(1, Relaxed), 2);
        Ok(())
    }

    async fn execute(&self, (): (), recorder: &mut Recorder) -> Result<Finish, RequestError> {
        Ok(answer(recorder))
    }
}

#[tokio::test(start_paused = true)]
async fn a_preparation_that_panics_spoils_no_other() {
    let records = measure(&Arc::new(Touchy::default()), 0, |_| {}).await;
    let failed: Vec<_> = records.iter().filter(|record| !record.is_success()).collect();
    assert_eq!((records.len(), failed.len(), failed[0].index), (10, 1, 2));
    assert_eq!(failed[0].outcome.as_ref().unwrap_err().kind, ErrorKind::Encode);
}
