//! Every stage has its time-out, and the error names the one that expired.

use std::time::Duration;

use servemark_client::TargetSpec;
use servemark_core::{ErrorKind, RequestRecord};

use crate::support::{RawServer, STREAM, ask, chunk, error, hurried, transport};

const SHORT: Duration = Duration::from_millis(20);

#[track_caller]
fn timed_out(record: &RequestRecord, stage: &str) {
    let (kind, message) = error(record);
    assert_eq!(kind, ErrorKind::Timeout);
    assert!(message.ends_with(&format!("the {stage} time-out of 20ms passed")), "{message}");
}

async fn text_server(text: String) -> RawServer {
    RawServer::start(move |mut peer| {
        let text = text.clone();
        async move {
            peer.request().await;
            peer.send(text).await;
            peer.hold().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_handshake_that_never_ends() {
    let server = RawServer::start(|mut peer| async move { peer.hold().await }).await;
    let url = format!("https://{}", server.address());
    let mut spec = TargetSpec::new(url.parse().unwrap());
    spec.ca_file = Some(crate::encrypted::authority_file("timeouts").0);
    let record = ask(&transport(&hurried(spec, |limit| limit.connect = SHORT))).await;
    timed_out(&record, "connect");
    assert!(error(&record).1.starts_with(&format!("cannot connect to {url}")));
}

#[tokio::test]
async fn no_head() {
    let server = text_server(String::new()).await;
    let record = ask(&transport(&hurried(server.spec(), |limit| limit.first_byte = SHORT))).await;
    timed_out(&record, "first-byte");
    assert!(record.sent.is_some());
}

#[tokio::test]
async fn a_head_without_a_body() {
    let server = text_server(STREAM.to_owned()).await;
    let record = ask(&transport(&hurried(server.spec(), |limit| limit.first_byte = SHORT))).await;
    timed_out(&record, "first-byte");
    assert_eq!((record.status, record.first_byte), (Some(200), None));
}

#[tokio::test]
async fn a_stream_that_stands_still() {
    let server = text_server(format!("{STREAM}{}", chunk("data: a\n\n"))).await;
    let record = ask(&transport(&hurried(server.spec(), |limit| limit.idle = SHORT))).await;
    timed_out(&record, "idle");
    assert_eq!(record.text, "a");
}

#[tokio::test]
async fn a_stream_that_never_ends() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
        peer.send(STREAM).await;
        loop {
            peer.send(chunk("data: a\n\n")).await;
            tokio::task::yield_now().await;
        }
    })
    .await;
    let record = ask(&transport(&hurried(server.spec(), |limit| limit.total = SHORT))).await;
    timed_out(&record, "total");
}
