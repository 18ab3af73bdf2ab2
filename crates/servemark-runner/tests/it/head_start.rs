//! Requests that are passed to the transport before they are due.

use std::sync::Arc;
use std::time::Duration;

use servemark_core::{
    Clock, Finish, FollowUp, Recorder, RequestError, RequestRecord, Sample, Session, Transport,
};
use servemark_pacer::{Pacer, TokioPacer};
use servemark_runner::{Collector, LoadSpec, Runner, StopHandle};
use servemark_schedule::ArrivalSpec;

use crate::world::{check, ms};

/// Takes requests 3 ms before they are due, sends them at their due time and gets no answer.
struct Early(TokioPacer);

impl Transport for Early {
    type Prepared = ();

    fn prepare(&self, _sample: &Sample) -> Result<(), RequestError> {
        Ok(())
    }

    fn head_start(&self) -> Duration {
        ms(3)
    }

    async fn execute(&self, (): (), to: &mut Recorder) -> Result<Finish, RequestError> {
        self.0.until(to.due()).await;
        to.record_sent(self.0.now());
        Ok(Finish::default())
    }
}

#[tokio::test(start_paused = true)]
async fn openings_and_later_turns_are_let_go_so_much_before_they_are_due() {
    let pacer = TokioPacer::start();
    let (records, stop) = (Arc::new(Collector::default()), StopHandle::new());
    let load = LoadSpec::new(ArrivalSpec::Burst);
    let runner = Runner::new(pacer, &load, records.clone(), stop.signal());
    let follow_up = FollowUp::new(Sample::new("more", 1, 1)).after(ms(10));
    let session = Session::from(Sample::new("hi", 1, 1)).followed_by(vec![follow_up]);
    let sessions: Arc<[Session]> = vec![session; 2].into();
    runner
        .measure(&Arc::new(Early(pacer)), &sessions, &[ms(0), ms(20)].into_iter().collect())
        .await;
    let mut records = records.take();
    records.sort_by_key(RequestRecord::key);
    check(&records, |record| Some(record.scheduled), &[0, 10, 20, 30]);
    check(&records, |record| record.granted, &[0, 7, 17, 27]);
    check(&records, |record| record.sent, &[0, 10, 20, 30]);
}
