//! The HTTP transport: sends a backend's requests and records its answers as stamped deltas.

use std::borrow::Cow;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use servemark_backends::{Backend, Decoder, Flow};
use servemark_core::{
    Arrival, ErrorKind, Finish, MonotonicClock, Recorder, RequestError, Sample, Stamp, Transport,
};

use crate::answer::AnswerReader;
use crate::boxed::BoxFuture;
use crate::direct::Progress;
use crate::error::ClientError;
use crate::exchange::Exchange;
use crate::link::WholeRequest;
use crate::pool::Pool;
use crate::precise::PreciseSender;
use crate::request;
use crate::status::status_error;
use crate::target::Target;
use crate::watch::Watch;

/// Sends a backend's requests to a target over HTTP.
///
/// A transport keeps its connections in a pool that belongs to the runtime it is first used on, so
/// a run over several runtimes gives each of them a transport made by
/// [`for_shard`](Self::for_shard). Arrival times are exact on a current-thread runtime.
///
/// A request is sent a second time only if the server did not process the first sending, and its
/// record says so ([`Resent`](servemark_core::Resent)). Dropping the future of
/// [`execute`](Transport::execute) at any point closes its connection (on HTTP/2, resets its
/// stream); the recorder keeps what was observed until then, the send time included.
///
/// ```
/// use servemark_backends::{BackendName, BackendSpec, CommonSpec};
/// use servemark_client::{Credentials, HttpTransport, Target, TargetSpec};
/// use servemark_core::{MonotonicClock, Sample, Transport};
///
/// let spec = TargetSpec::new("http://127.0.0.1:30000".parse()?);
/// let target = Target::new(&spec, Credentials::new().bearer("sk-secret")?)?;
/// let backend = BackendSpec::new(BackendName::Sglang, CommonSpec::new("tiny-llama")).build();
/// let transport = HttpTransport::new(target, backend, MonotonicClock::start());
/// let request = transport.prepare(&Sample::new("Hello", 1, 16))?;
/// assert!(format!("{request:?}").contains("/generate"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HttpTransport<B> {
    pool: Pool,
    backend: Arc<B>,
}

impl<B: Backend> HttpTransport<B> {
    /// Creates a transport without connections. All stamps come from `clock`.
    pub fn new(target: Target, backend: B, clock: MonotonicClock) -> Self {
        Self { pool: Pool::new(target, clock), backend: Arc::new(backend) }
    }

    /// Creates a transport with the same settings and connections of its own, for another runtime.
    #[must_use]
    pub fn for_shard(&self) -> Self {
        Self { pool: self.pool.for_shard(), backend: Arc::clone(&self.backend) }
    }

    /// Makes a separate thread write each request exactly at its due time; the thread polls the
    /// clock and occupies a core. Transports [for shards](Self::for_shard) made from this one share
    /// the thread; it ends with the last of them.
    ///
    /// Returns an error if requests cannot be sent this way ([`NotPrecise`](crate::NotPrecise)), or
    /// if there is no second core.
    pub fn with_precise_send(self) -> Result<Self, ClientError> {
        let precise = PreciseSender::start(self.pool.target(), self.pool.clock())?;
        Ok(Self { pool: self.pool.with_precise(precise), ..self })
    }

    /// Returns when connections ceased to be reused because the server closes them after whole
    /// answers that announce keep-alive, if it does. All [shards](Self::for_shard) share it.
    pub fn reuse_ended(&self) -> Option<Stamp> {
        self.pool.reuse().end_of_reuse()
    }

    /// Opens connections ahead of the first request, as fast as the target's
    /// [`OpeningSpec`](crate::OpeningSpec) allows, until `connections` of them wait. Over HTTP/2
    /// there are at most as many as the target shares.
    ///
    /// If the future is dropped, the connections opened so far stay.
    pub async fn preconnect(&self, connections: usize) -> Result<(), ClientError> {
        self.pool.preconnect(connections).await
    }
}

impl<B: Backend> Transport for HttpTransport<B> {
    type Prepared = PreparedRequest;

    fn prepare(&self, sample: &Sample) -> Result<Self::Prepared, RequestError> {
        let wire = self.backend.encode(sample)?;
        let target = self.pool.target();
        let bytes = wire.body.len();
        let request = request::build(target, Method::POST, &wire.path, &wire.headers, wire.body)?;
        let (decoder, framing) = (self.backend.decoder(sample).boxed(), self.backend.framing());
        let answer = Box::new(AnswerReader::new(decoder, framing, target.budget()));
        Ok(PreparedRequest { request, bytes, route: wire.path, answer })
    }

    fn bytes(call: &Self::Prepared) -> usize {
        call.bytes
    }

    fn head_start(&self) -> Duration {
        self.pool.precise().map_or(Duration::ZERO, |_| PreciseSender::HEAD_START)
    }

    async fn execute(
        &self,
        call: Self::Prepared,
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        execute(&self.pool, call, recorder).await
    }
}

/// Sends a request and reads its answer.
fn execute<'a>(
    pool: &'a Pool,
    call: PreparedRequest,
    recorder: &'a mut Recorder,
) -> BoxFuture<'a, Result<Finish, RequestError>> {
    Box::pin(async move {
        let PreparedRequest { request, route, mut answer, .. } = call;
        let mut watch = Watch::start(pool.clock(), pool.target().timeouts());
        let outcome = match Exchange::begin(pool, request, &mut watch, recorder).await {
            Ok(exchange) => read(pool, exchange, route, &mut answer, &mut watch, recorder).await,
            Err(error) => Err(error.into()),
        };
        outcome.map(|()| Finish::default()).map_err(|mut error| {
            error.message = pool.target().redact(&error.message);
            error
        })
    })
}

/// Reads an answer whose head was read, and keeps the connection if it can be used again.
async fn read(
    pool: &Pool,
    mut exchange: Exchange,
    route: Cow<'static, str>,
    answer: &mut AnswerReader,
    watch: &mut Watch,
    recorder: &mut Recorder,
) -> Result<(), RequestError> {
    recorder.arrival_clock(exchange.arrival_clock());
    if let Some(at) = exchange.transmit_time() {
        recorder.record_transmitted(at);
    }
    recorder.headers(exchange.head_at(), exchange.status().as_u16());
    let outcome = match exchange.status() {
        StatusCode::OK => {
            let headers = pool.target().headers();
            receive(&mut exchange, headers, answer, watch, recorder).await
        }
        status => {
            let target = pool.target();
            Err(refused(target, status, &route, &mut exchange, watch).await.into())
        }
    };
    if outcome.is_ok() {
        // After the dialect's end mark comes the end of the framing.
        exchange.drain(pool.clock()).await;
    }
    if let Some(facts) = exchange.facts() {
        recorder.socket(facts);
    }
    if outcome.is_ok() || exchange.status() != StatusCode::OK {
        exchange.release(pool).await;
    }
    outcome
}

/// Returns the error of a status other than 200, even if the body that explains it cannot be read.
fn refused<'a>(
    target: &'a Target,
    status: StatusCode,
    route: &'a str,
    exchange: &'a mut Exchange,
    watch: &'a mut Watch,
) -> BoxFuture<'a, ClientError> {
    Box::pin(async move {
        let body = exchange.collect(watch, EXPLANATION).await.unwrap_or_default();
        status_error(target, status, route, &body)
    })
}

/// Reads an answer to its end, or to the dialect's end mark: what follows the mark is not part of
/// the answer.
async fn receive(
    exchange: &mut Exchange,
    request_headers: &HeaderMap,
    answer: &mut AnswerReader,
    watch: &mut Watch,
    recorder: &mut Recorder,
) -> Result<(), RequestError> {
    answer.begin(exchange.headers(), request_headers)?;
    answer.head(exchange.headers(), &mut recorder.at(exchange.head_at()));
    let flow = poll_fn(|cx| poll_receive(exchange, answer, watch, recorder, cx)).await;
    flow.and_then(|flow| answer.end(flow, recorder)).inspect_err(|error| {
        if error.kind == ErrorKind::AnswerTooLarge {
            recorder.drop_output();
        }
    })
}

/// Reads until the answer is over. It is a plain function without a future, because it runs once
/// per read.
fn poll_receive(
    exchange: &mut Exchange,
    answer: &mut AnswerReader,
    watch: &mut Watch,
    recorder: &mut Recorder,
    cx: &mut Context<'_>,
) -> Poll<Result<Flow, RequestError>> {
    loop {
        let mut taken = Ok(Flow::Continue);
        let take = |arrival: Arrival, bytes: &[u8]| {
            if taken == Ok(Flow::Continue) {
                recorder.body(arrival, bytes.len());
                taken = answer.read(bytes, arrival, recorder);
            }
        };
        let read = ready!(exchange.poll_read(cx, watch, take));
        recorder.arrival_clock(exchange.arrival_clock());
        let flow = taken?;
        if flow == Flow::Done || read? == Progress::End {
            return Poll::Ready(Ok(flow));
        }
    }
}

impl<B> fmt::Debug for HttpTransport<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("pool", &self.pool).finish_non_exhaustive()
    }
}

/// A request that only needs to be sent.
pub struct PreparedRequest {
    request: WholeRequest,
    bytes: usize,
    route: Cow<'static, str>,
    /// The reader of the answer, boxed: a request is moved from function to function, and copying
    /// the reader would cost more than creating it.
    answer: Box<AnswerReader>,
}

impl fmt::Debug for PreparedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedRequest").field("route", &self.route).finish_non_exhaustive()
    }
}

/// Maximum number of bytes of an error's body that are read.
const EXPLANATION: usize = 64 << 10;
