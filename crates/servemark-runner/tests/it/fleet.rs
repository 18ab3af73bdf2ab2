//! Several threads, each with a paused clock of its own.

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use servemark_core::{
    Clock, Finish, FollowUp, Recorder, RequestError, RequestRecord, Sample, Session, Stamp,
    Transport,
};
use servemark_pacer::{Pacer, TokioPacer};
use servemark_runner::{Collector, Fleet, LoadSpec, Measured, Runner, Share, StopHandle};
use servemark_schedule::{ArrivalSpec, Schedule};
use servemark_testkit::{Script, ScriptedTransport};

use crate::world::ms;

/// Total number of turns of the sessions below.
const TURNS: usize = 40 + 13 + 2 * 13;

type Scripted = ScriptedTransport<TokioPacer>;

fn scripted(clock: TokioPacer) -> Arc<Scripted> {
    ScriptedTransport::new(clock, |_| Ok(Script::streaming(ms(10), ms(5), 3)))
}

/// Creates a further shard, on a thread on which time passes only while all tasks wait for it.
fn enlisted() -> (TokioPacer, Arc<Scripted>) {
    tokio::time::pause();
    let pacer = TokioPacer::start();
    (pacer, scripted(pacer))
}

fn sessions(count: usize) -> Arc<[Session]> {
    let turns =
        |index: usize| vec![FollowUp::new(Sample::new("more", 3, 2)).after(ms(7)); index % 3];
    let session = |index| Session::from(Sample::new("hi", 1, 2)).followed_by(turns(index));
    (0..count).map(session).collect()
}

fn schedule(count: u64) -> Schedule {
    (0..count).map(|index| ms(index * index % 97)).collect()
}

/// A run of 40 sessions on several shards.
struct World {
    lead: Runner,
    shards: usize,
    collector: Arc<Collector>,
    stop: StopHandle,
}

impl World {
    fn new(pacer: impl Pacer, shards: usize, limit: Option<usize>) -> Self {
        let mut load = LoadSpec::new(ArrivalSpec::Burst);
        load.max_concurrency = limit.and_then(NonZeroUsize::new);
        let (collector, stop) = (Arc::new(Collector::default()), StopHandle::new());
        let lead = Runner::new(pacer, &load, collector.clone(), stop.signal());
        Self { lead, shards, collector, stop }
    }

    async fn measure<P: Pacer, T: Transport>(
        &self,
        transport: &Arc<T>,
        enlist: impl AsyncFn(Share) -> io::Result<(P, Arc<T>)> + Send + Sync + 'static,
    ) -> io::Result<Measured> {
        let fleet = Fleet::new(&self.lead, NonZeroUsize::new(self.shards).unwrap());
        fleet.measure(transport, &sessions(40), &schedule(40), enlist).await
    }

    fn records(&self) -> Vec<RequestRecord> {
        let mut records = self.collector.take();
        records.sort_by_key(RequestRecord::key);
        records
    }
}

/// Returns what the plan decides of a request: its key, its due time unless an answer decides it,
/// its planned sizes, and the number of pieces of its answer.
fn story(record: &RequestRecord, start: Stamp) -> impl PartialEq + use<> {
    let due = (record.turn == 0).then(|| record.scheduled.since(start));
    (record.key(), due, record.planned, record.deltas.len(), record.is_success())
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_when_does_not_depend_on_how_many_send_it() {
    let (pacer, mut runs) = (TokioPacer::start(), Vec::new());
    for shards in [1, 2, 3, 8] {
        let world = World::new(pacer, shards, None);
        let measured = world.measure(&scripted(pacer), async |_| Ok(enlisted())).await.unwrap();
        let records = world.records();
        assert_eq!((measured.outcomes.len(), measured.lost.len()), (records.len(), 0));
        assert_eq!(measured.cost.shards.len(), shards);
        let start = records.iter().map(|record| record.scheduled).min().unwrap();
        runs.push(records.iter().map(|record| story(record, start)).collect::<Vec<_>>());
    }
    let [one, others @ ..] = runs.as_slice() else { unreachable!() };
    assert_eq!(one.len(), TURNS);
    assert!(others.iter().all(|other| other == one));
}

/// Counts the requests in flight.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct CountedCrowd(Arc<Crowd>);

impl Transport for CountedCrowd {
    type Prepared = ();

    fn prepare(&self, _sample: &Sample) -> Result<(), RequestError> {
        Ok(())
    }

    async fn execute(&self, (): (), _recorder: &mut Recorder) -> Result<Finish, RequestError> {
        self.0.most.fetch_max(self.0.now.fetch_add(1, SeqCst) + 1, SeqCst);
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        self.0.now.fetch_sub(1, SeqCst);
        Ok(Finish::default())
    }
}

#[tokio::test(start_paused = true)]
async fn the_gate_is_one_for_all() {
    let crowd = Arc::new(Crowd::default());
    let world = World::new(TokioPacer::start(), 3, Some(2));
    let counted = Arc::new(CountedCrowd(Arc::clone(&crowd)));
    let enlist = {
        let counted = Arc::clone(&counted);
        async move |_| Ok((enlisted().0, Arc::clone(&counted)))
    };
    world.measure(&counted, enlist).await.unwrap();
    assert_eq!(world.records().len(), TURNS);
    assert!(crowd.most.load(SeqCst) <= 2, "{:?}", crowd.most);
}

/// Panics when it is asked to wait for a time from `at` on.
struct Fragile {
    pacer: TokioPacer,
    at: Stamp,
}

impl Clock for Fragile {
    fn now(&self) -> Stamp {
        self.pacer.now()
    }
}

impl Pacer for Fragile {
    async fn until(&self, due: Stamp) {
        assert!(due < self.at, "a broken timer");
        self.pacer.until(due).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_dies_stops_no_other() {
    let whole = |pacer| Fragile { pacer, at: Stamp::from_nanos(u64::MAX) };
    let pacer = TokioPacer::start();
    let world = World::new(whole(pacer), 3, Some(4));
    let enlist = async move |share: Share| {
        let at = if share.shard() == 1 { ms(60) } else { ms(1_000_000) };
        let (pacer, transport) = enlisted();
        Ok((Fragile { pacer, at: Stamp::ZERO + at }, transport))
    };
    let measured = world.measure(&scripted(pacer), enlist).await.unwrap();
    assert_eq!(measured.lost.iter().map(|share| share.shard()).collect::<Vec<_>>(), [1]);
    let firsts: Vec<_> = world.records().into_iter().filter(|record| record.turn == 0).collect();
    let of = |shard| firsts.iter().filter(|record| record.index % 3 == shard).count();
    assert_eq!((of(0), of(2)), (14, 13));
    assert!(of(1) < 13);
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_start_keeps_all_from_starting() {
    let (pacer, world) = (TokioPacer::start(), World::new(TokioPacer::start(), 3, None));
    let enlist = async |share: Share| match share.shard() {
        2 => Err(io::Error::other("no timer left")),
        _ => Ok(enlisted()),
    };
    let error = world.measure(&scripted(pacer), enlist).await.unwrap_err();
    assert_eq!(error.to_string(), "no timer left");
    assert!(world.records().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_shard_alone_starts_no_other_thread() {
    let (pacer, world) = (TokioPacer::start(), World::new(TokioPacer::start(), 1, None));
    let enlist = async |_| Err::<(TokioPacer, _), _>(io::Error::other("no shard"));
    let measured = world.measure(&scripted(pacer), enlist).await.unwrap();
    assert_eq!(measured.outcomes.len(), TURNS);
    // Nothing waits for another shard, so the start is not delayed.
    assert_eq!(world.records()[0].scheduled, Stamp::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_stop_reaches_all() {
    let (pacer, world) = (TokioPacer::start(), World::new(TokioPacer::start(), 3, None));
    world.stop.escalate();
    let enlist = async |_| Ok(enlisted());
    let measured = world.measure(&scripted(pacer), enlist).await.unwrap();
    assert_eq!((measured.outcomes.len(), measured.lost.len()), (0, 0));
}

/// Never answers, and signals when its last owner drops it.
struct Endless {
    _gone: Mutex<Sender<()>>,
    sent: Sender<()>,
}

impl Transport for Endless {
    type Prepared = ();

    fn prepare(&self, _sample: &Sample) -> Result<(), RequestError> {
        Ok(())
    }

    async fn execute(&self, (): (), _recorder: &mut Recorder) -> Result<Finish, RequestError> {
        self.sent.send(()).unwrap();
        std::future::pending().await
    }
}

#[tokio::test]
async fn no_shard_continues_when_the_run_is_dropped() {
    let ((gone, all_gone), (sent, first_sent)) = (channel(), channel());
    let endless = Arc::new(Endless { _gone: Mutex::new(gone), sent });
    let world = World::new(TokioPacer::start(), 3, None);
    let enlist = {
        let endless = Arc::clone(&endless);
        async move |_| Ok((TokioPacer::start(), Arc::clone(&endless)))
    };
    let some_sent = tokio::task::spawn_blocking(move || first_sent.iter().take(40).count());
    tokio::select! {
        _ = world.measure(&endless, enlist) => unreachable!("nothing answers"),
        sent = some_sent => assert_eq!(sent.unwrap(), 40),
    }
    drop((endless, world));
    // Waits until the last owner has dropped the transport.
    assert!(all_gone.recv().is_err());
}
