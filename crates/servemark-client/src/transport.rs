//! The transport: a backend's requests over HTTP, and its answers back as stamped deltas.

use std::fmt;
use std::sync::Arc;

use http::{Method, StatusCode};
use servemark_backends::{Backend, Flow};
use servemark_core::{Arrival, Finish, MonotonicClock, Recorder, RequestError, Sample, Transport};

use crate::answer::Answer;
use crate::direct::Progress;
use crate::error::ClientError;
use crate::exchange::Exchange;
use crate::link::WholeRequest;
use crate::pool::Pool;
use crate::request;
use crate::status::status_error;
use crate::target::Target;
use crate::watch::Watch;

/// Carries a backend's requests to a target over HTTP.
///
/// A transport keeps its connections in a pool that belongs to the runtime it is first used on, so
/// a run over several runtimes gives each of them one of its own with
/// [`for_shard`](Self::for_shard). Arrival stamps are exact on a current-thread runtime.
///
/// Nothing is ever retried. Dropping the future of [`execute`](Transport::execute) at any point
/// closes its connection (on HTTP/2, resets its stream); the recorder keeps what was seen until
/// then, the departure included.
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
    /// A transport without connections. All stamps come from `clock`.
    pub fn new(target: Target, backend: B, clock: MonotonicClock) -> Self {
        Self { pool: Pool::new(target, clock), backend: Arc::new(backend) }
    }

    /// The same transport with connections of its own, for another runtime.
    #[must_use]
    pub fn for_shard(&self) -> Self {
        let pool = Pool::new(self.pool.target().clone(), self.pool.clock());
        Self { pool, backend: Arc::clone(&self.backend) }
    }

    /// Opens connections ahead of the first request, 64 at a time. Over HTTP/2 at most as many as
    /// the target shares.
    ///
    /// If the future is dropped, the connections opened so far stay.
    pub async fn preconnect(&self, connections: usize) -> Result<(), ClientError> {
        self.pool.preconnect(connections).await
    }
}

impl<B: Backend> Transport for HttpTransport<B> {
    type Prepared = PreparedRequest<B::Decoder>;

    fn prepare(&self, sample: &Sample) -> Result<Self::Prepared, RequestError> {
        let wire = self.backend.encode(sample)?;
        let target = self.pool.target();
        let bytes = wire.body.len();
        let request = request::build(target, Method::POST, wire.path, &wire.headers, wire.body)?;
        let decoder = self.backend.decoder(sample);
        Ok(PreparedRequest { request, bytes, route: wire.path, decoder })
    }

    fn bytes(call: &Self::Prepared) -> usize {
        call.bytes
    }

    async fn execute(
        &self,
        call: Self::Prepared,
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        let outcome = self.carry(call, recorder).await;
        outcome.map(|()| Finish::default()).map_err(|mut error| {
            error.message = self.pool.target().redact(&error.message);
            error
        })
    }
}

impl<B: Backend> HttpTransport<B> {
    async fn carry(
        &self,
        call: PreparedRequest<B::Decoder>,
        recorder: &mut Recorder,
    ) -> Result<(), RequestError> {
        let mut watch = Watch::start(self.pool.clock(), self.pool.target().timeouts());
        let mut exchange = Exchange::begin(&self.pool, call.request, &mut watch, recorder).await?;
        recorder.arrival_clock(exchange.arrival_clock());
        recorder.headers(exchange.head_at(), exchange.status().as_u16());
        if exchange.status() != StatusCode::OK {
            return Err(self.refused(exchange, call.route, &mut watch).await.into());
        }
        let mut answer = Answer::new(exchange.headers(), call.decoder)?;
        let (mut flow, mut progress) = (Flow::Continue, Progress::More);
        while flow == Flow::Continue && progress == Progress::More {
            let mut taken = Ok(flow);
            let take = |arrival: Arrival, bytes: &[u8]| {
                if taken == Ok(Flow::Continue) {
                    recorder.body(arrival, bytes.len());
                    taken = answer.read(bytes, arrival, recorder);
                }
            };
            let read = exchange.read(&mut watch, take).await;
            recorder.arrival_clock(exchange.arrival_clock());
            flow = taken?;
            // What comes after the dialect's end mark is not the answer's any more.
            progress = if flow == Flow::Done { Progress::End } else { read? };
        }
        answer.end(flow, recorder)?;
        exchange.release(&self.pool).await;
        Ok(())
    }

    /// The status is the failure, whatever becomes of the body that explains it.
    async fn refused(&self, mut exchange: Exchange, route: &str, watch: &mut Watch) -> ClientError {
        let status = exchange.status();
        let body = exchange.collect(watch, EXPLANATION).await.unwrap_or_default();
        exchange.release(&self.pool).await;
        status_error(self.pool.target(), status, route, &body)
    }
}

impl<B> fmt::Debug for HttpTransport<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("pool", &self.pool).finish_non_exhaustive()
    }
}

/// A request that only needs to be sent.
pub struct PreparedRequest<D> {
    request: WholeRequest,
    bytes: usize,
    route: &'static str,
    decoder: D,
}

impl<D> fmt::Debug for PreparedRequest<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedRequest").field("route", &self.route).finish_non_exhaustive()
    }
}

/// How much of an error's body is read.
const EXPLANATION: usize = 64 << 10;
