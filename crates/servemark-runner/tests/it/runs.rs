use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use servemark_core::{ErrorKind, Phase, RequestError, RequestRecord, Sample, Stamp};
use servemark_pacer::TokioPacer;
use servemark_runner::{Collector, LoadSpec, Runner, Stop, StopHandle, WarmupSpec};
use servemark_schedule::{ArrivalSpec, Schedule};
use servemark_testkit::{Script, ScriptedTransport};

/// A world with a paused clock, a scripted server and a runner.
struct World {
    runner: Runner<TokioPacer>,
    transport: Arc<ScriptedTransport<TokioPacer>>,
    collector: Arc<Collector>,
    stop: StopHandle,
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Stamp {
    Stamp::ZERO + ms(millis)
}

impl World {
    /// Every answer is two pieces, at 10 ms and at 15 ms.
    fn with_limit(limit: Option<usize>) -> Self {
        Self::scripted(limit, |_| Ok(Script::streaming(ms(10), ms(5), 2)))
    }

    fn scripted(
        limit: Option<usize>,
        script: impl Fn(&Sample) -> Result<Script, RequestError> + Send + Sync + 'static,
    ) -> Self {
        let pacer = TokioPacer::start();
        let mut load = LoadSpec::new(ArrivalSpec::Burst);
        load.max_concurrency = limit.and_then(NonZeroUsize::new);
        load.look_ahead = NonZeroUsize::new(2).expect("two is not zero");
        let (collector, stop) = (Arc::new(Collector::default()), StopHandle::new());
        Self {
            runner: Runner::new(pacer, &load, collector.clone(), stop.signal()),
            transport: ScriptedTransport::new(pacer, script),
            collector,
            stop,
        }
    }

    async fn measure(&self, offsets_ms: &[u64]) -> Vec<RequestRecord> {
        let samples = vec![Sample::new("hi", 1, 2); offsets_ms.len()];
        let schedule: Schedule = offsets_ms.iter().copied().map(ms).collect();
        self.runner.measure(&self.transport, &samples, &schedule).await;
        let mut records = self.collector.take();
        records.sort_by_key(|record| record.index);
        records
    }
}

#[track_caller]
fn check(
    records: &[RequestRecord],
    field: impl Fn(&RequestRecord) -> Option<Stamp>,
    expected_ms: &[u64],
) {
    let found: Vec<_> = records.iter().map(field).collect();
    let expected: Vec<_> = expected_ms.iter().map(|millis| Some(at(*millis))).collect();
    assert_eq!(found, expected);
}

#[tokio::test(start_paused = true)]
async fn every_request_goes_out_when_it_is_due() {
    let records = World::with_limit(None).measure(&[0, 7, 7, 30]).await;
    check(&records, |record| Some(record.scheduled), &[0, 7, 7, 30]);
    check(&records, |record| record.sent, &[0, 7, 7, 30]);
    check(&records, |record| record.deltas.first_at(), &[10, 17, 17, 40]);
    check(&records, |record| Some(record.ended), &[15, 22, 22, 45]);
}

#[tokio::test(start_paused = true)]
async fn the_gate_is_first_come_first_served_and_its_wait_is_kept() {
    let records = World::with_limit(Some(1)).measure(&[0, 1, 2, 100]).await;
    check(&records, |record| Some(record.scheduled), &[0, 1, 2, 100]);
    check(&records, |record| record.granted, &[0, 15, 30, 100]);
    check(&records, |record| record.sent, &[0, 15, 30, 100]);
}

#[tokio::test(start_paused = true)]
async fn a_late_request_does_not_move_the_schedule() {
    // The first answer takes 1,000 ms; with one slot the second waits and the third is on time.
    let world = World::scripted(Some(1), |_| Ok(Script::streaming(ms(1_000), ms(0), 1)));
    let records = world.measure(&[0, 10, 5_000]).await;
    check(&records, |record| record.sent, &[0, 1_000, 5_000]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_a_record_among_the_others() {
    let refused = RequestError::new(ErrorKind::Status, "500");
    let world = World::scripted(None, move |_| {
        Ok(Script::streaming(ms(10), ms(5), 1).failing(refused.clone()))
    });
    let records = world.measure(&[0, 1]).await;
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|record| record.outcome.is_err() && record.deltas.len() == 1));
}

#[tokio::test(start_paused = true)]
async fn a_sample_that_cannot_be_encoded_is_a_record_too() {
    let world = World::scripted(None, |_| Err(RequestError::new(ErrorKind::Encode, "no")));
    let records = world.measure(&[3]).await;
    check(&records, |record| Some(record.ended), &[3]);
    assert_eq!(records[0].sent, None);
}

#[tokio::test(start_paused = true)]
async fn warm_up_sends_short_copies_of_one_sample() {
    let world = World::with_limit(Some(2));
    let outcomes =
        world.runner.warm_up(&world.transport, &Sample::new("hi", 1, 500), WarmupSpec::of(3)).await;
    assert_eq!(outcomes, vec![Ok(()); 3]);
    let records = world.collector.take();
    assert!(records.iter().all(|record| record.phase == Phase::Warmup));
    assert!(records.iter().all(|record| record.planned.output_tokens == 32));
    assert_eq!(records.last().map(|record| record.ended), Some(at(30)));
}

#[tokio::test(start_paused = true)]
async fn drain_sends_no_more_and_waits_for_what_is_in_flight() {
    let world = World::with_limit(Some(1));
    let stopper = async {
        tokio::time::sleep_until(tokio::time::Instant::now() + ms(12)).await;
        assert_eq!(world.stop.escalate(), Stop::Drain);
    };
    // The second waits at the gate when the stop comes and the third is not due: neither is sent.
    let (records, ()) = tokio::join!(world.measure(&[0, 1, 50]), stopper);
    check(&records, |record| Some(record.ended), &[15]);
    assert!(records[0].is_success());
}

#[tokio::test(start_paused = true)]
async fn stopping_now_cancels_what_is_in_flight_and_keeps_its_record() {
    let world = World::with_limit(None);
    let stopper = async {
        tokio::time::sleep_until(tokio::time::Instant::now() + ms(12)).await;
        world.stop.escalate();
        assert_eq!(world.stop.escalate(), Stop::Now);
    };
    let (records, ()) = tokio::join!(world.measure(&[0]), stopper);
    check(&records, |record| Some(record.ended), &[12]);
    assert_eq!(records[0].deltas.len(), 1);
    assert_eq!(records[0].outcome.as_ref().unwrap_err().kind, ErrorKind::Cancelled);
}
