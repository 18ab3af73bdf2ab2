use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};

use servemark_core::{
    ErrorKind, FollowUp, Phase, RequestError, RequestRecord, Sample, Session, Stamp,
};
use servemark_runner::{LoadSpec, RetrySpec};
use servemark_schedule::ArrivalSpec;
use servemark_testkit::Script;

use crate::world::{World, at, ms};

/// The first `first` requests fail after ten milliseconds, the others are answered in as many.
fn failing(first: u32, kind: ErrorKind, tries: u32) -> World {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.retry = Some(RetrySpec::of_unanswered(NonZero::new(tries).expect("a number")));
    let asked = AtomicU32::new(0);
    World::of(load, move |_| {
        let script = Script::streaming(ms(10), ms(5), 1);
        let fails = asked.fetch_add(1, Ordering::Relaxed) < first;
        Ok(if fails { script.failing(RequestError::new(kind, "no")) } else { script })
    })
}

fn single() -> Session {
    Session::from(Sample::new("hi", 1, 1))
}

/// Phase, number of earlier tries, due time, send time, and whether it succeeded.
type Story = (Phase, u32, Stamp, Option<Stamp>, bool);

fn story(record: &RequestRecord) -> Story {
    let RequestRecord { phase, earlier_tries, scheduled, sent, .. } = *record;
    (phase, earlier_tries, scheduled, sent, record.is_success())
}

/// Returns the tries in the order in which they were sent.
async fn tries_of(world: &World, session: Session) -> Vec<Story> {
    let mut records = world.measure_sessions(vec![session], &[3]).await;
    records.sort_by_key(|record| record.sent);
    records.iter().map(story).collect()
}

#[tokio::test(start_paused = true)]
async fn every_try_has_a_record_of_its_own_and_its_own_times() {
    let world = failing(2, ErrorKind::Timeout, 3);
    let due = at(3);
    let expected = [
        (Phase::Retried, 0, due, Some(at(3)), false),
        (Phase::Retried, 1, due, Some(at(13)), false),
        (Phase::Measure, 2, due, Some(at(23)), true),
    ];
    assert_eq!(tries_of(&world, single()).await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_last_try_is_the_request_also_where_it_fails() {
    let world = failing(9, ErrorKind::Connect, 2);
    let phases: Vec<_> =
        tries_of(&world, single()).await.iter().map(|story| (story.0, story.4)).collect();
    assert_eq!(phases, [(Phase::Retried, false), (Phase::Measure, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_is_not_asked_again() {
    for kind in [ErrorKind::Status, ErrorKind::InStream, ErrorKind::Empty, ErrorKind::Cancelled] {
        assert_eq!(tries_of(&failing(1, kind, 3), single()).await.len(), 1, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_turn_is_asked_again_as_it_was_and_its_session_goes_on() {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.retry = Some(RetrySpec::of_unanswered(NonZero::new(2).expect("a number")));
    let asked = AtomicU32::new(0);
    let world = World::of(load, move |_| {
        let script = Script::streaming(ms(10), ms(5), 1);
        let second = asked.fetch_add(1, Ordering::Relaxed) == 1;
        let fails = RequestError::new(ErrorKind::Decode, "no");
        Ok(if second { script.failing(fails) } else { script })
    });
    let more = || FollowUp::new(Sample::new("more", 3, 1));
    let session = single().followed_by(vec![more(), more()]);
    let records = world.measure_sessions(vec![session], &[0]).await;
    let told: Vec<_> = records
        .iter()
        .map(|record| (record.turn, record.earlier_tries, record.planned.prompt_tokens))
        .collect();
    assert_eq!(told, [(0, 0, 1), (1, 0, 5), (1, 1, 5), (2, 0, 9)]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_told_to_stop_tries_nothing_again() {
    let world = failing(9, ErrorKind::Timeout, 5);
    let stopper = async {
        tokio::time::sleep_until(tokio::time::Instant::now() + ms(18)).await;
        world.stop.escalate();
    };
    let (told, ()) = tokio::join!(tries_of(&world, single()), stopper);
    assert_eq!(told.len(), 2);
    assert_eq!(told[1].0, Phase::Measure);
}
