//! The stamps of a request.

use std::sync::Arc;

use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_client::{Credentials, HttpTransport, Target};
use servemark_core::{
    ArrivalClock, Clock, MonotonicClock, Phase, Recorder, RequestRecord, Sample, Stamp, Transport,
};
use tokio::sync::Notify;

use crate::support::{Echo, LAST_CHUNK, RawServer, STREAM, ask, ask_for, chunk, over};

fn arrivals(record: &RequestRecord) -> Vec<Stamp> {
    record.deltas.rows().map(|row| row.at).collect()
}

#[tokio::test]
async fn all_events_of_one_read_share_its_stamp() {
    let echo = Echo::default();
    let notify = Arc::clone(&echo.decoded);
    let server = RawServer::start(move |mut peer| {
        let notify = Arc::clone(&notify);
        async move {
            peer.request().await;
            let first = chunk("data: a\n\ndata: b\n\n") + &chunk("data: c\n\n");
            peer.send(format!("{STREAM}{first}")).await;
            // The client has parsed the first read before the second is written.
            notify.notified().await;
            peer.send(chunk("data: d\n\ndata: [DONE]\n\n") + LAST_CHUNK).await;
        }
    })
    .await;

    let record = ask(&over(&server.spec(), echo)).await;
    assert_eq!(record.text, "abcd");
    let at = arrivals(&record);
    assert_eq!((at[0], at[1]), (at[1], at[2]));
    assert!(at[3] > at[2]);
}

#[tokio::test]
async fn stamps_are_in_the_order_of_a_requests_life() {
    let server = RawServer::answering(crate::support::stream(&["a", "b"])).await;
    let record = ask(&over(&server.spec(), Echo::default())).await;
    let life = [record.sent, record.headers, record.first_byte];
    let life: Vec<_> = life.into_iter().map(Option::unwrap).collect();
    let life = [life, arrivals(&record), vec![record.ended]].concat();
    assert!(life.is_sorted(), "{life:?}");
}

#[tokio::test]
async fn an_event_cut_in_two_arrives_with_its_end() {
    let clock = MonotonicClock::start();
    let finished = Arc::new(std::sync::Mutex::new(Stamp::ZERO));
    let notify = Arc::clone(&finished);
    let server = RawServer::start(move |mut peer| {
        let notify = Arc::clone(&notify);
        async move {
            peer.request().await;
            peer.send(format!("{STREAM}{}", chunk("data: a"))).await;
            tokio::task::yield_now().await;
            *notify.lock().unwrap() = clock.now();
            peer.send(chunk("b\n\n") + LAST_CHUNK).await;
        }
    })
    .await;

    let target = Target::new(&server.spec(), Credentials::new()).unwrap();
    let record = ask(&HttpTransport::new(target, Echo::default(), clock)).await;
    assert_eq!(record.text, "ab");
    assert!(arrivals(&record)[0] >= *finished.lock().unwrap());
}

#[tokio::test]
async fn the_departure_is_before_the_server_reads() {
    let clock = MonotonicClock::start();
    let received = Arc::new(std::sync::Mutex::new(Stamp::ZERO));
    let notify = Arc::clone(&received);
    let server = RawServer::start(move |mut peer| {
        let notify = Arc::clone(&notify);
        async move {
            peer.request().await;
            *notify.lock().unwrap() = clock.now();
            peer.send(crate::support::stream(&["a"])).await;
        }
    })
    .await;

    let target = Target::new(&server.spec(), Credentials::new()).unwrap();
    let record = ask(&HttpTransport::new(target, Echo::default(), clock)).await;
    let received = *received.lock().unwrap();
    assert!(record.sent.unwrap() < received && received < record.headers.unwrap());
}

#[tokio::test]
async fn an_abandoned_request_keeps_its_departure() {
    let received = Arc::new(Notify::new());
    let notify = Arc::clone(&received);
    let server = RawServer::start(move |mut peer| {
        let notify = Arc::clone(&notify);
        async move {
            peer.request().await;
            notify.notify_one();
            peer.hold().await;
        }
    })
    .await;

    let transport = over(&server.spec(), Echo::default());
    let sample = Sample::new("hi", 1, 4);
    let call = transport.prepare(&sample).unwrap();
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
    tokio::select! {
        _ = transport.execute(call, &mut recorder) => panic!("there was no answer"),
        () = received.notified() => {}
    }
    let record = recorder.finish(Ok(servemark_core::Finish::default()), Stamp::ZERO);
    assert!(record.sent.is_some() && record.headers.is_none());
}

/// The kernel's stamp of a read is before the client's.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn arrivals_are_the_kernels_and_the_lag_is_kept() {
    let server = RawServer::answering(crate::support::stream(&["a", "b"])).await;
    let transport = over(&server.spec(), Echo::default());
    // The first socket that asks for stamps enables them on the machine, which takes a moment.
    let record = loop {
        let record = ask(&transport).await;
        if record.arrival_clock != ArrivalClock::User {
            break record;
        }
    };
    assert_eq!(record.arrival_clock, ArrivalClock::Kernel);
    let at = arrivals(&record);
    assert!(at[0] >= record.sent.unwrap() && record.ended >= at[1], "{record:?}");
}

/// Counts cover the request alone, also on a connection that has carried others before it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_kernels_counts_are_each_requests_own() {
    let server = RawServer::answering(crate::support::stream(&["a", "b"])).await;
    let transport = over(&server.spec(), Echo::default());
    let mut segments = 0;
    for _ in 0..8 {
        let record = ask(&transport).await;
        let facts = record.socket.expect("the kernel tells");
        assert_eq!(facts.retransmits, 0);
        segments = facts.data_segments_in.expect("it counts segments");
        assert!((1..=record.reads).contains(&segments), "{facts:?}");
    }
    assert!(segments < 8, "{segments} are those of all requests");
}

#[cfg(target_os = "linux")]
const PIECE: &str =
    r#"{"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}"#;

/// A small request fits into the socket's buffer; a large one waits for room in it several times.
/// All are sent over one connection.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_kernel_tells_when_each_request_of_a_connection_left() {
    let server = RawServer::answering(crate::support::stream(&[PIECE, "[DONE]"])).await;
    let mut spec = server.spec();
    spec.send_stamps = true;
    let chat = BackendSpec::new(BackendName::VllmChat, CommonSpec::new("m")).build();
    let transport = over(&spec, chat);
    for length in [2, 16 << 20, 2, 2] {
        let record = ask_for(&transport, &Sample::new("x".repeat(length), 1, 4)).await;
        assert_eq!(record.text, "a");
        assert!(record.left.unwrap() >= record.sent.unwrap(), "{length}");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn transmit_stamps_are_requested_only_if_the_target_asks() {
    let server = RawServer::answering(crate::support::stream(&["a"])).await;
    assert_eq!(ask(&over(&server.spec(), Echo::default())).await.left, None);
}
