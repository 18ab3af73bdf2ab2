//! Requests that a separate thread writes at their due times.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use servemark_backends::{Backend, WireRequest};
use servemark_client::{
    ClientErrorKind, Credentials, Http1Stack, HttpTransport, NotPrecise, Target, TargetSpec,
};
use servemark_core::{
    Clock, Connection, ErrorKind, MonotonicClock, Phase, Recorder, RequestError, Sample, Stamp,
    Transport,
};
use tokio::sync::Notify;

use crate::support::{
    Echo, EchoDecoder, RawServer, ask, ask_at, error, over, stream, transport as ordinary,
};

/// A dialect whose requests are too large for a socket to take in one call.
pub(crate) struct Verbose;

impl Backend for Verbose {
    type Decoder = EchoDecoder;

    fn encode(&self, _sample: &Sample) -> Result<WireRequest, RequestError> {
        WireRequest::json("/echo", &json!({ "text": "0123456789abcdef".repeat(1 << 20) }))
    }

    fn decoder(&self, sample: &Sample) -> EchoDecoder {
        Echo::default().decoder(sample)
    }
}

pub(crate) fn hi() -> Sample {
    Sample::new("hi", 1, 4)
}

fn precise<B: Backend>(server: &RawServer, clock: MonotonicClock, backend: B) -> HttpTransport<B> {
    let target = Target::new(&server.spec(), Credentials::new()).unwrap();
    HttpTransport::new(target, backend, clock).with_precise_send().unwrap()
}

pub(crate) fn soon(clock: MonotonicClock, millis: u64) -> Stamp {
    clock.now() + Duration::from_millis(millis)
}

/// Starts a server that keeps the text of its requests.
async fn listener() -> (RawServer, Arc<Mutex<Vec<String>>>) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&received);
    let server = RawServer::start(move |mut peer| {
        let log = Arc::clone(&log);
        async move {
            while let Some(request) = peer.request().await {
                log.lock().unwrap().push(request);
                peer.send(stream(&["a", "b"])).await;
            }
        }
    })
    .await;
    (server, received)
}

#[tokio::test]
async fn the_bytes_are_those_that_the_requests_own_task_writes() {
    let (server, received) = listener().await;
    assert!(ask(&ordinary(&server.spec())).await.is_success());
    let clock = MonotonicClock::start();
    let transport = precise(&server, clock, Echo::default());
    for turn in 0..4 {
        let due = soon(clock, 3);
        let record = ask_at(&transport, &hi(), due).await;
        assert_eq!(record.text, "ab");
        assert!(record.sent.unwrap() >= due);
        assert_eq!(record.connection == Some(Connection::Reused), turn > 0);
    }
    assert_eq!(server.accepted(), 2);
    let received = received.lock().unwrap();
    assert_eq!(received.as_slice(), [received[0].as_str(); 5]);
}

#[tokio::test]
async fn requests_leave_when_they_are_due_and_not_as_they_come() {
    let (server, _) = listener().await;
    let clock = MonotonicClock::start();
    let transport = precise(&server, clock, Echo::default());
    transport.preconnect(4).await.unwrap();
    let due = [9, 3, 6, 3].map(|millis| soon(clock, millis));
    let sample = hi();
    let [a, b, c, d] = due.map(|due| ask_at(&transport, &sample, due));
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let sent = [a, b, c, d].map(|record| record.sent.unwrap());
    let early = sent.iter().zip(due).filter(|(sent, due)| **sent < *due).count();
    assert_eq!(early, 0);
    assert!(sent[1] < sent[2] && sent[3] < sent[2] && sent[2] < sent[0], "{sent:?}");
}

#[tokio::test]
async fn what_is_overdue_is_written_at_once() {
    let (server, _) = listener().await;
    let transport = precise(&server, MonotonicClock::start(), Echo::default());
    let record = ask_at(&transport, &hi(), Stamp::ZERO).await;
    assert!(record.is_success() && record.sent.is_some(), "{record:?}");
}

#[tokio::test]
async fn shards_share_the_thread_and_have_a_head_start_too() {
    let (server, _) = listener().await;
    let clock = MonotonicClock::start();
    let first = precise(&server, clock, Echo::default());
    let second = first.for_shard();
    assert_eq!(second.head_start(), first.head_start());
    assert!(ordinary(&server.spec()).head_start().is_zero() && !first.head_start().is_zero());
    drop(first);
    let due = soon(clock, 3);
    assert!(ask_at(&second, &hi(), due).await.sent.unwrap() >= due);
}

#[tokio::test]
async fn what_one_call_does_not_take_follows() {
    let (server, received) = listener().await;
    assert!(ask(&over(&server.spec(), Verbose)).await.is_success());
    let clock = MonotonicClock::start();
    let (transport, due) = (precise(&server, clock, Verbose), soon(clock, 3));
    let record = ask_at(&transport, &hi(), due).await;
    assert!(record.is_success() && record.sent.unwrap() >= due, "{:?}", record.outcome);
    let received = received.lock().unwrap();
    assert!(received.len() == 2 && received[0] == received[1], "they differ");
}

/// Starts a server that closes a connection when it is told to.
async fn closing(closed: &Arc<Notify>, reset: bool) -> RawServer {
    let close = Arc::clone(closed);
    RawServer::start(move |mut peer| {
        let close = Arc::clone(&close);
        async move {
            if peer.number > 0 {
                peer.request().await;
                return peer.send(stream(&["a"])).await;
            }
            close.notified().await;
            if reset {
                peer.stream.set_zero_linger().unwrap();
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_fails_the_request() {
    let (close, clock) = (Arc::new(Notify::new()), MonotonicClock::start());
    let server = closing(&close, false).await;
    let transport = precise(&server, clock, Echo::default());
    transport.preconnect(1).await.unwrap();
    let (sample, due) = (hi(), soon(clock, 50));
    let ask = ask_at(&transport, &sample, due);
    let (record, ()) = tokio::join!(ask, async { close.notify_one() });
    assert_eq!(error(&record).0, ErrorKind::Connect);
    assert!(record.sent.unwrap() >= due);
}

#[tokio::test]
async fn a_write_that_fails_sends_nothing_and_the_request_goes_over_a_new_connection() {
    let (close, clock) = (Arc::new(Notify::new()), MonotonicClock::start());
    let server = closing(&close, true).await;
    let transport = precise(&server, clock, Echo::default());
    transport.preconnect(1).await.unwrap();
    let (sample, due) = (hi(), soon(clock, 50));
    let ask = ask_at(&transport, &sample, due);
    let (record, ()) = tokio::join!(ask, async { close.notify_one() });
    assert_eq!((record.text.as_str(), server.accepted()), ("a", 2));
    assert!(record.sent.unwrap() >= due);
}

#[tokio::test]
async fn a_request_that_is_abandoned_before_it_is_due_is_never_sent() {
    let (server, received) = listener().await;
    let clock = MonotonicClock::start();
    let transport = precise(&server, clock, Echo::default());
    transport.preconnect(1).await.unwrap();
    let (sample, due) = (hi(), soon(clock, 20));
    let call = transport.prepare(&sample).unwrap();
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, due);
    tokio::select! {
        biased;
        _ = transport.execute(call, &mut recorder) => panic!("it is not due"),
        () = tokio::task::yield_now() => {}
    }
    let record = recorder.finish(Ok(servemark_core::Finish::default()), Stamp::ZERO);
    assert_eq!(record.sent, None);
    // A request that is due later is sent, and nothing before it.
    assert!(ask_at(&transport, &sample, due + Duration::from_millis(1)).await.is_success());
    assert_eq!(received.lock().unwrap().len(), 1);
}

#[test]
fn connections_of_hyper_and_tls_are_refused() {
    let spec = |url: &str| TargetSpec::new(url.parse().unwrap());
    #[cfg(feature = "http2")]
    let http2 =
        TargetSpec { http_version: servemark_client::HttpVersion::Http2, ..spec("http://h:1") };
    let mut hyper = spec("http://h:1");
    hyper.http1_stack = Http1Stack::Hyper;
    let all = [
        (spec("https://h:1"), NotPrecise::Encrypted),
        #[cfg(feature = "http2")]
        (http2, NotPrecise::Http2),
        (hyper, NotPrecise::Hyper),
    ];
    for (spec, why) in all {
        let target = Target::new(&spec, Credentials::new()).unwrap();
        let transport = HttpTransport::new(target, Echo::default(), MonotonicClock::start());
        let refusal = transport.with_precise_send().unwrap_err();
        assert_eq!(refusal.kind(), ClientErrorKind::Configuration);
        assert_eq!(refusal.to_string(), why.to_string());
        assert_eq!(spec.check_precise(), Err(why));
    }
}
