//! Records that are written more slowly than they arrive.

use std::num::NonZeroU64;
use std::sync::Arc;

use servemark_core::{FollowUp, RequestRecord, Sample, Session};
use servemark_pacer::TokioPacer;
use servemark_runner::{Backlog, Collector, LoadSpec, Observer, Runner, StopHandle};
use servemark_schedule::{ArrivalSpec, Schedule};
use servemark_testkit::{Script, ScriptedTransport};

use crate::world::{check, ms};

/// Counts sixty bytes per record and is full with two of them.
struct Slow {
    collector: Collector,
    backlog: Backlog,
}

impl Observer for Slow {
    fn finished(&self, record: RequestRecord) {
        self.backlog.add(60);
        self.collector.finished(record);
    }

    fn backlog(&self) -> Option<&Backlog> {
        Some(&self.backlog)
    }
}

/// Starts each session at its offset; one second later all finished records are written.
async fn measure(sessions: Vec<Session>, offsets_ms: &[u64]) -> (Vec<RequestRecord>, Arc<Slow>) {
    let backlog = Backlog::new(NonZeroU64::new(100).unwrap());
    let slow = Arc::new(Slow { collector: Collector::default(), backlog });
    let (pacer, load) = (TokioPacer::start(), LoadSpec::new(ArrivalSpec::Burst));
    let stop = StopHandle::new();
    let runner = Runner::new(pacer, &load, slow.clone(), stop.signal());
    let transport = ScriptedTransport::new(pacer, |_| Ok(Script::streaming(ms(10), ms(5), 2)));
    let schedule: Schedule = offsets_ms.iter().copied().map(ms).collect();
    let kept = async {
        tokio::time::sleep_until(tokio::time::Instant::now() + ms(1_000)).await;
        slow.backlog.remove(120);
    };
    let sessions = sessions.into();
    tokio::join!(runner.measure(&transport, &sessions, &schedule), kept);
    let mut records = slow.collector.take();
    records.sort_by_key(RequestRecord::key);
    (records, slow)
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_sent_waits_and_what_is_read_does_not() {
    let session = Session::from(Sample::new("hi", 1, 2));
    let (records, slow) = measure(vec![session; 4], &[0, 0, 12, 40]).await;
    check(&records, |record| Some(record.scheduled), &[0, 0, 12, 40]);
    check(&records, |record| record.sent, &[0, 0, 12, 1_000]);
    check(&records, |record| Some(record.ended), &[15, 15, 27, 1_015]);
    assert_eq!(slow.backlog.waited(), ms(960));
}

#[tokio::test(start_paused = true)]
async fn a_later_turn_waits_too() {
    let turn = || vec![FollowUp::new(Sample::new("more", 3, 2)).after(ms(5))];
    let session = |turns| Session::from(Sample::new("hi", 1, 2)).followed_by(turns);
    let (records, slow) = measure(vec![session(turn()), session(vec![])], &[0, 0]).await;
    check(&records, |record| record.sent, &[0, 1_000, 0]);
    assert_eq!(slow.backlog.waited(), ms(980));
}

#[test]
fn it_is_full_from_its_limit_on() {
    let backlog = Backlog::new(NonZeroU64::new(100).unwrap());
    backlog.add(99);
    assert!(!backlog.is_full());
    backlog.add(1);
    assert!(backlog.is_full());
    backlog.remove(1);
    assert!(!backlog.is_full());
    backlog.add(1);
    backlog.remove_limit();
    assert!(!backlog.is_full());
}
