use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use servemark::ExitCode;
use servemark::core::RequestRecord;
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark_cluster::{Coordinator, CoordinatorFuture, Faults, InProcess, Subscription};

use crate::group::{PATIENCE, Ranks};

#[test]
fn lost_and_delayed_messages_lose_no_request() {
    let faults = Faults { loss: 0.2, delay: Duration::from_millis(30), seed: 7 };
    let ranks = Ranks { coordinator: InProcess::with_faults(faults), ..Ranks::new(3) };
    let load = LoadSpec::new(ArrivalSpec::at_rate(100.0).unwrap());
    let (runs, _) = ranks.execute(&[ranks.plan(90, load)]);
    let run = runs.into_iter().next().unwrap().unwrap();
    assert_eq!(run.log.measured().filter(|record| record.is_success()).count(), 90);
    assert!(run.log.measured().map(|record| record.index).eq(0..90));
    assert_eq!(run.log.header().ranks.as_ref().unwrap().lost().count(), 0);
    assert!(run.log.measured().all(RequestRecord::is_success));
}

#[test]
fn ranks_that_never_come_are_named() {
    let ranks = Ranks::new(4);
    let joining = std::thread::scope(|scope| {
        let member = scope.spawn(|| ranks.member(2, PATIENCE).map(drop));
        let error = ranks.lead(Duration::from_secs(2)).unwrap_err();
        let message = error.to_string();
        let expected = "ranks 1, 3 of 4 have not joined within 2 s";
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(error.code, ExitCode::NotReady);
        member.join().unwrap()
    });
    assert!(joining.is_ok(), "{joining:?}");
    let error = ranks.member(1, Duration::from_millis(300)).unwrap_err();
    assert!(error.to_string().starts_with("rank 0 of the group test did not answer"), "{error}");
}

#[test]
fn two_processes_of_one_rank_and_two_of_rank_0_are_refused() {
    let ranks = Ranks::new(2);
    std::thread::scope(|scope| {
        let member = scope.spawn(|| ranks.member(1, PATIENCE).unwrap());
        let lead = ranks.lead(PATIENCE).unwrap();
        let _first = member.join().unwrap();
        let error = ranks.member(1, PATIENCE).unwrap_err();
        assert!(
            error.to_string().starts_with("rank 1 was taken by a process on host-1"),
            "{error}"
        );
        assert_eq!(error.code, ExitCode::Usage);
        let error = ranks.lead(PATIENCE).unwrap_err();
        assert!(error.to_string().starts_with("another rank 0 of the group test"), "{error}");
        drop(lead);
    });
}

#[test]
fn a_rank_for_another_number_of_ranks_is_refused() {
    let ranks = Ranks::new(2);
    let three = Ranks { coordinator: ranks.coordinator.clone(), ..Ranks::new(3) };
    std::thread::scope(|scope| {
        let lead = scope.spawn(|| ranks.lead(PATIENCE).map(drop));
        let error = three.member(1, PATIENCE).unwrap_err().to_string();
        assert!(error.contains("was started for 3 ranks and rank 0 for 2"), "{error}");
        drop(ranks.member(1, PATIENCE).unwrap());
        lead.join().unwrap().unwrap();
    });
}

#[test]
fn the_end_is_repeated_until_every_rank_knows_it() {
    let ranks = Ranks::new(3);
    let deaf = Arc::new(DeafAtEnd { inner: ranks.coordinator.clone(), ends: AtomicUsize::new(0) });
    std::thread::scope(|scope| {
        let serve = |rank| {
            let (ranks, deaf) = (&ranks, Arc::clone(&deaf));
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let group = ranks.member_by(deaf, rank, PATIENCE).unwrap();
                runtime.unwrap().block_on(group.next_run())
            })
        };
        let members = [1, 2].map(serve);
        ranks.lead_by(Arc::clone(&deaf) as _, PATIENCE).unwrap().close();
        for member in members {
            assert!(member.join().unwrap().unwrap().is_none());
        }
    });
    assert!(deaf.ends.load(Ordering::Relaxed) > LOST_ENDS);
}

/// Loses the first messages that say that there will be no further run.
#[derive(Debug)]
struct DeafAtEnd {
    inner: InProcess,
    /// Number of these messages so far.
    ends: AtomicUsize,
}

/// Number of messages about the end that are lost.
const LOST_ENDS: usize = 10;

impl Coordinator for DeafAtEnd {
    fn publish(&self, subject: String, payload: Bytes) -> CoordinatorFuture<'_, ()> {
        let is_end = subject.rsplit('.').next() == Some("all")
            && payload.windows(13).any(|bytes| bytes == b"\"closed\":true");
        if is_end && self.ends.fetch_add(1, Ordering::Relaxed) < LOST_ENDS {
            return Box::pin(async { Ok(()) });
        }
        self.inner.publish(subject, payload)
    }

    fn request(
        &self,
        subject: String,
        payload: Bytes,
        patience: Duration,
    ) -> CoordinatorFuture<'_, Bytes> {
        self.inner.request(subject, payload, patience)
    }

    fn subscribe(&self, subject: String) -> CoordinatorFuture<'_, Subscription> {
        self.inner.subscribe(subject)
    }
}
