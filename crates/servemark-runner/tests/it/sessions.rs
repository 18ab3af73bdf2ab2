use servemark_core::{ErrorKind, FollowUp, Prompt, RequestError, RequestRecord, Sample, Session};
use servemark_runner::LoadSpec;
use servemark_schedule::ArrivalSpec;
use servemark_testkit::Script;

use crate::world::{World, at, check, ms};

/// Creates a session with one more turn than there are pauses.
fn session(pauses_ms: &[u64]) -> Session {
    let turn = |pause: &u64| FollowUp::new(Sample::new("more", 3, 2)).after(ms(*pause));
    Session::from(Sample::new("hi", 1, 2)).followed_by(pauses_ms.iter().map(turn).collect())
}

fn keys(records: &[RequestRecord]) -> Vec<(usize, u32)> {
    records.iter().map(RequestRecord::key).collect()
}

/// Returns the number of messages of a sample.
fn messages(sample: &Sample) -> usize {
    match &sample.prompt {
        Prompt::Messages(messages) => messages.len(),
        _ => 0,
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_due_after_its_pause_and_keeps_it() {
    let world = World::with_limit(None);
    let records = world.measure_sessions(vec![session(&[0, 40]), session(&[7])], &[0, 1]).await;
    assert_eq!(keys(&records), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
    check(&records, |record| Some(record.scheduled), &[0, 15, 70, 1, 23]);
    check(&records, |record| record.sent, &[0, 15, 70, 1, 23]);
    check(&records, |record| Some(record.ended), &[15, 30, 85, 16, 38]);
    let follow_ups: Vec<_> = records.iter().map(|record| record.planned.follow_ups).collect();
    assert_eq!(follow_ups, [2, 1, 0, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_session_keeps_its_place_at_the_gate() {
    let world = World::with_limit(Some(1));
    let records = world.measure_sessions(vec![session(&[100]), session(&[])], &[0, 1]).await;
    check(&records, |record| record.granted, &[0, 115, 130]);
}

#[tokio::test(start_paused = true)]
async fn every_turn_is_sent_with_all_that_was_said_and_counted_so() {
    let world = World::scripted(None, |sample| {
        Ok(Script::streaming(ms(1), ms(1), messages(sample) as u32))
    });
    let records = world.measure_sessions(vec![session(&[0, 0])], &[0]).await;
    let pieces: Vec<_> = records.iter().map(|record| record.deltas.len()).collect();
    assert_eq!(pieces, [1, 3, 5]);
    // The prompt and the planned answer of the previous turn, and three new tokens.
    let planned: Vec<_> = records.iter().map(|record| record.planned.prompt_tokens).collect();
    assert_eq!(planned, [1, 1 + 2 + 3, 6 + 2 + 3]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_fails_ends_its_session_and_no_other() {
    let refused = RequestError::new(ErrorKind::Status, "500");
    let world = World::scripted(None, move |sample| {
        let script = Script::streaming(ms(1), ms(1), 1);
        let failing = || script.clone().failing(refused.clone());
        Ok(if messages(sample) == 3 { failing() } else { script.clone() })
    });
    let records = world.measure_sessions(vec![session(&[0, 0, 0]), session(&[])], &[0, 0]).await;
    assert_eq!(keys(&records), [(0, 0), (0, 1), (1, 0)]);
    assert!(records[1].outcome.is_err());
    assert_eq!(records[1].planned.follow_ups, 2);
}

#[tokio::test(start_paused = true)]
async fn drain_finishes_the_turn_in_flight_and_sends_no_more() {
    let world = World::with_limit(None);
    let stopper = async {
        tokio::time::sleep_until(tokio::time::Instant::now() + ms(12)).await;
        world.stop.escalate();
    };
    // The first is in the middle of a turn, the second is in its pause, the third has not begun.
    let sessions = vec![session(&[0]), session(&[50]), session(&[0])];
    let script = world.measure_sessions(sessions, &[0, 0, 20]);
    let (records, ()) = tokio::join!(script, stopper);
    assert_eq!(keys(&records), [(0, 0), (1, 0)]);
    check(&records, |record| Some(record.ended), &[15, 15]);
}

#[tokio::test(start_paused = true)]
async fn drain_does_not_wait_for_the_pause_before_a_turn() {
    let world = World::with_limit(None);
    let stopper = async {
        tokio::time::sleep_until(tokio::time::Instant::now() + ms(100)).await;
        world.stop.escalate();
    };
    let begun = tokio::time::Instant::now();
    let sessions = world.measure_sessions(vec![session(&[3_600_000])], &[0]);
    let (records, ()) = tokio::join!(sessions, stopper);
    assert_eq!(keys(&records), [(0, 0)]);
    assert_eq!(begun.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_said_again_is_a_record_and_the_end() {
    let ids = Session::from(Sample::new(vec![1, 2], 2, 2))
        .followed_by(vec![FollowUp::new(Sample::new("more", 3, 2))]);
    let records = World::with_limit(None).measure_sessions(vec![ids], &[5]).await;
    assert_eq!(keys(&records), [(0, 0)]);
    assert_eq!(records[0].outcome.as_ref().unwrap_err().kind, ErrorKind::Encode);
    assert_eq!((records[0].sent, records[0].ended), (None, at(5)));
}

#[tokio::test(start_paused = true)]
async fn what_is_due_when_the_time_is_over_is_not_sent_and_what_is_in_flight_ends() {
    let world = World::lasting(None, 20);
    let sessions = vec![session(&[0, 0]), session(&[3]), session(&[]), session(&[])];
    let records = world.measure_sessions(sessions, &[0, 2, 19, 20]).await;
    assert_eq!(keys(&records), [(0, 0), (0, 1), (1, 0), (2, 0)]);
    check(&records, |record| Some(record.ended), &[15, 30, 17, 34]);
    assert!(records.iter().all(RequestRecord::is_success));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_at_the_gate_when_the_time_is_over_is_not_sent() {
    let world = World::lasting(Some(1), 31);
    let records = world.measure(&[0, 0, 0, 0]).await;
    check(&records, |record| record.sent, &[0, 15, 30]);
    assert_eq!(world.runner.now(), at(45));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_runs_out_goes_on_when_the_time_is_over() {
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    (load.lasts, load.sessions.runs_out) = (Some(ms(10)), true);
    let world = World::of(load, |_| Ok(Script::streaming(ms(10), ms(5), 2)));
    let records = world.measure_sessions(vec![session(&[0, 0]), session(&[])], &[0, 12]).await;
    assert_eq!(keys(&records), [(0, 0), (0, 1), (0, 2)]);
}
