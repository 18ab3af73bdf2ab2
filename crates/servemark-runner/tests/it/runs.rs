use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use servemark_core::{
    ErrorKind, Finish, Phase, Recorder, RequestError, Sample, Session, Transport,
};
use servemark_runner::{LeadInSpec, LoadSpec, Stop, WarmupSpec};
use servemark_schedule::{ArrivalSpec, Rate, Schedule};
use servemark_testkit::Script;

use crate::world::{World, at, check, ms};

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
async fn a_wave_waits_for_the_last_one_of_the_wave_before() {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    (load.max_concurrency, load.in_waves) = (NonZeroUsize::new(2), true);
    let sent = AtomicUsize::new(0);
    // Every other answer takes ten times as long.
    let pause = move || if sent.fetch_add(1, Relaxed).is_multiple_of(2) { ms(10) } else { ms(100) };
    let world = World::of(load, move |_| Ok(Script::streaming(pause(), ms(0), 1)));
    let records = world.measure(&[0; 5]).await;
    check(&records, |record| record.granted, &[0, 0, 100, 100, 200]);
    check(&records, |record| Some(record.ended), &[10, 100, 110, 200, 210]);
}

#[tokio::test(start_paused = true)]
async fn sessions_come_round_after_round_until_the_time_is_over() {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    (load.max_concurrency, load.in_rounds) = (NonZeroUsize::new(2), true);
    load.lasts = Some(ms(50));
    let world = World::of(load, |_| Ok(Script::streaming(ms(15), ms(0), 1)));
    let records = world.measure(&[0; 3]).await;
    check(&records, |record| record.granted, &[0, 0, 15, 15, 30, 30, 45, 45]);
    let indices: Vec<usize> = records.iter().map(|record| record.index).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7], "each is a request of its own");
}

#[tokio::test(start_paused = true)]
async fn places_open_one_by_one_and_stay_open() {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    (load.max_concurrency, load.in_rounds) = (NonZeroUsize::new(3), true);
    (load.lasts, load.opening) = (Some(ms(40)), Rate::new(100.0).ok());
    let world = World::of(load, |_| Ok(Script::streaming(ms(15), ms(0), 1)));
    let records = world.measure(&[0]).await;
    check(&records, |record| record.granted, &[0, 10, 15, 20, 25, 30, 35]);
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

/// Nothing arrives between the two stop requests, so only the second one wakes the request.
#[tokio::test(start_paused = true)]
async fn what_is_silent_while_it_is_waited_for_is_cancelled_too() {
    let world = World::with_limit(None);
    let stopper = async {
        for _ in 0..2 {
            tokio::time::sleep_until(tokio::time::Instant::now() + ms(2)).await;
            world.stop.escalate();
        }
    };
    let (records, ()) = tokio::join!(world.measure(&[0]), stopper);
    check(&records, |record| Some(record.ended), &[4]);
    assert_eq!(records[0].outcome.as_ref().unwrap_err().kind, ErrorKind::Cancelled);
}

/// Panics over its first request at once, over its second later, and answers its third.
struct Explosive(AtomicUsize);

impl Transport for Explosive {
    type Prepared = ();

    fn prepare(&self, _sample: &Sample) -> Result<(), RequestError> {
        Ok(())
    }

    async fn execute(&self, (): (), _recorder: &mut Recorder) -> Result<Finish, RequestError> {
        let call = self.0.fetch_add(1, Relaxed);
        assert!(call != 0, "the first");
        tokio::task::yield_now().await;
        assert!(call != 1, "the second");
        Ok(Finish::default())
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_panics_takes_no_other_with_it() {
    let world = World::with_limit(Some(1));
    let explosive = Arc::new(Explosive(AtomicUsize::new(0)));
    let sessions = vec![Session::from(Sample::new("hi", 1, 1)); 3].into();
    let outcomes = world.runner.measure(&explosive, &sessions, &Schedule::burst(3)).await;
    assert_eq!(outcomes, [Ok(())]);
    assert_eq!(world.collector.take().iter().map(|record| record.index).collect::<Vec<_>>(), [2]);
}

#[tokio::test(start_paused = true)]
async fn what_is_measured_steps_into_the_places_of_what_leads_to_it() {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.max_concurrency = NonZeroUsize::new(2);
    load.lead_in = LeadInSpec::flowing(3);
    load.lasts = Some(ms(20));
    let records = World::of(load, |_| Ok(Script::streaming(ms(10), ms(5), 2)));
    let records = records.measure(&[0; 8]).await;
    check(&records, |record| record.sent, &[0, 0, 15, 15, 30, 30]);
    let phases: Vec<Phase> = records.iter().map(|record| record.phase).collect();
    assert_eq!(phases[..3], [Phase::Warmup; 3]);
    // The time counts from the first measured request, at 15 ms.
    assert_eq!(phases[3..], [Phase::Measure; 3]);
}

#[tokio::test(start_paused = true)]
async fn what_is_to_end_first_is_all_of_it_no_measurement_and_takes_no_time_from_one() {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    (load.lead_in, load.lasts) = (LeadInSpec::already_ended(2), Some(ms(1)));
    let world = World::of(load, |_| Ok(Script::streaming(ms(10), ms(5), 2)));
    let sessions = vec![Session::from(Sample::new("hi", 1, 2)); 2].into();
    let schedule: Schedule = [ms(0), ms(40)].into_iter().collect();
    let outcomes = world.runner.lead_in(&world.transport, &sessions, &schedule).await;
    assert_eq!(outcomes, [Ok(()), Ok(())]);
    let records = world.measure(&[0, 0, 1]).await;
    let phases: Vec<Phase> = records.iter().map(|record| record.phase).collect();
    assert_eq!(phases.iter().filter(|&&phase| phase == Phase::Warmup).count(), 2);
    assert_eq!(phases.iter().filter(|&&phase| phase == Phase::Measure).count(), 2);
}
