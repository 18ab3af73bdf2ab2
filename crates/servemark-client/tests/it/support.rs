//! A server that sends what a test tells it to, a dialect that only echoes, and a client for both.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use servemark_backends::{Backend, Decoder, Flow, WireRequest};
use servemark_client::{Credentials, HttpTransport, Target, TargetSpec, Timeouts};
use servemark_core::{
    Delta, ErrorKind, MonotonicClock, Phase, Recorder, RequestError, RequestRecord, Sample, Sink,
    Stamp, Transport,
};
use servemark_sse::Event;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                                 transfer-encoding: chunked\r\n\r\n";
pub(crate) const LAST_CHUNK: &str = "0\r\n\r\n";

pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Returns a whole stream of these events and the end mark.
pub(crate) fn stream(events: &[&str]) -> String {
    let events = events.iter().chain(&["[DONE]"]).map(|data| chunk(&format!("data: {data}\n\n")));
    format!("{STREAM}{}{LAST_CHUNK}", events.collect::<String>())
}

/// Returns a whole answer with a length.
pub(crate) fn document(status: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A server that passes each connection to the test's own code.
#[derive(Debug)]
pub(crate) struct RawServer {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
}

impl RawServer {
    pub(crate) async fn start<F, Handled>(handle: F) -> Self
    where
        F: Fn(Peer) -> Handled + Send + 'static,
        Handled: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let number = count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(handle(Peer { stream, number }));
            }
        });
        Self { address, accepted }
    }

    /// Starts a server that answers every request on every connection with `bytes`.
    pub(crate) async fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = Arc::new(bytes.into());
        Self::start(move |mut peer| {
            let bytes = Arc::clone(&bytes);
            async move {
                while peer.request().await.is_some() {
                    peer.send(bytes.as_slice()).await;
                }
            }
        })
        .await
    }

    /// Starts a server that answers the first request of every connection and closes the
    /// connection.
    pub(crate) async fn answering_once(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = Arc::new(bytes.into());
        Self::start(move |mut peer| {
            let bytes = Arc::clone(&bytes);
            async move {
                peer.request().await;
                peer.send(bytes.as_slice()).await;
            }
        })
        .await
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    pub(crate) fn spec(&self) -> TargetSpec {
        TargetSpec::new(format!("http://{}", self.address).parse().unwrap())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The server's side of one connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    pub(crate) number: usize,
}

impl Peer {
    /// Reads the next whole request as text; `None` if the client closed the connection instead.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(b"\r\n\r\n") {
            if self.stream.read(&mut byte).await.ok()? == 0 {
                return None;
            }
            text.push(byte[0]);
        }
        let head = String::from_utf8(text).unwrap();
        let mut body = vec![0; content_length(&head)];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(head + std::str::from_utf8(&body).unwrap())
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // In some tests the client has given up meanwhile.
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Keeps the connection open until the client closes it.
    pub(crate) async fn hold(&mut self) {
        let mut ignored = [0; 1024];
        while self.stream.read(&mut ignored).await.is_ok_and(|read| read > 0) {}
    }
}

fn content_length(head: &str) -> usize {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap())
}

/// A dialect whose events are plain text: `[DONE]` ends the answer, `!` is an error in the stream,
/// and `?` cannot be decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echo {
    /// Notified of every event.
    pub(crate) decoded: Arc<Notify>,
}

#[derive(Debug)]
pub(crate) struct EchoDecoder {
    decoded: Arc<Notify>,
}

impl Backend for Echo {
    type Decoder = EchoDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        WireRequest::json("/echo", &json!({"n": sample.output_tokens}))?
            .with_headers(&sample.headers)
    }

    fn decoder(&self, _sample: &Sample) -> EchoDecoder {
        EchoDecoder { decoded: Arc::clone(&self.decoded) }
    }
}

impl Decoder for EchoDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        self.decoded.notify_one();
        match std::str::from_utf8(event.data()).unwrap() {
            "[DONE]" => return Ok(Flow::Done),
            "!" => return Err(RequestError::new(ErrorKind::InStream, "boom")),
            text if text.starts_with('?') => {
                return Err(RequestError::new(ErrorKind::Decode, "no word of ours"));
            }
            text => out.delta(Delta::content(text)),
        }
        Ok(Flow::Continue)
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        out.delta(Delta::content(std::str::from_utf8(body).unwrap()));
        Ok(())
    }

    fn end(&mut self) -> Result<(), RequestError> {
        Ok(())
    }
}

pub(crate) fn transport(spec: &TargetSpec) -> HttpTransport<Echo> {
    over(spec, Echo::default())
}

pub(crate) fn over<B: Backend>(spec: &TargetSpec, backend: B) -> HttpTransport<B> {
    let target = Target::new(spec, Credentials::new()).unwrap();
    HttpTransport::new(target, backend, MonotonicClock::start())
}

/// Changes the time-outs of a target.
pub(crate) fn hurried(mut spec: TargetSpec, hurry: impl FnOnce(&mut Timeouts)) -> TargetSpec {
    hurry(&mut spec.timeouts);
    spec
}

/// Sends one request and returns its record.
pub(crate) async fn ask<T: Transport>(transport: &T) -> RequestRecord {
    ask_for(transport, &Sample::new("hi", 1, 4)).await
}

pub(crate) async fn ask_for<T: Transport>(transport: &T, sample: &Sample) -> RequestRecord {
    ask_at(transport, sample, Stamp::ZERO).await
}

/// Sends a request that is handed over now and due at `due`.
pub(crate) async fn ask_at<T: Transport>(
    transport: &T,
    sample: &Sample,
    due: Stamp,
) -> RequestRecord {
    let call = transport.prepare(sample).unwrap();
    let mut recorder = Recorder::new(0, Phase::Measure, sample, due);
    let outcome = transport.execute(call, &mut recorder).await;
    recorder.finish(outcome, Stamp::from_nanos(u64::MAX))
}

#[track_caller]
pub(crate) fn error(record: &RequestRecord) -> (ErrorKind, &str) {
    let error = record.outcome.as_ref().unwrap_err();
    (error.kind, &error.message)
}
