//! Reads the text of a route again and again.
//!
//! Metrics are read many times a second beside a measurement, and have up to a hundred kilobytes. A
//! [`TextReader`] reads from any target, and opens a connection for each text. Over HTTP/1.1 without
//! TLS the connection goes on as a [`TextConnection`](crate::TextConnection), which reads without a
//! runtime.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock};
use servemark_target::Timeouts;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::boxed::BoxFuture;
use crate::control::ServerControl;
use crate::dial;
use crate::direct::Encoded;
use crate::error::ClientError;
use crate::link::WholeRequest;
use crate::target::Target;
use crate::text::{Text, TextPool};
use crate::text_answer::{Failure, Incoming, TextAnswer};
use crate::text_connection::TextConnection;
use crate::watch::{TimeoutStage, Watch};

/// Client that reads the text of one route.
///
/// ```
/// use std::time::Duration;
///
/// use servemark_client::{Credentials, Target, TargetSpec, TextReader};
/// use servemark_core::MonotonicClock;
/// use servemark_mock::{MockServer, MockSpec};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = MockServer::start(MockSpec::default())?;
/// let target = Target::new(&TargetSpec::new(server.base_url().parse()?), Credentials::new())?;
/// let limit = Duration::from_secs(2);
/// let mut reader = TextReader::new(target, "/metrics", limit, MonotonicClock::start());
/// let text = reader.read().await?;
/// assert!(text.as_bytes().starts_with(b"# HELP vllm:"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextReader {
    control: ServerControl,
    route: String,
    limit: Duration,
    pool: TextPool,
    /// The connection of the last text.
    connection: Option<TextConnection>,
}

impl TextReader {
    /// Creates a reader of a target's route. Each text must arrive within `limit`.
    pub fn new(
        target: Target,
        route: impl Into<String>,
        limit: Duration,
        clock: MonotonicClock,
    ) -> Self {
        let control = ServerControl::new(target, clock);
        let pool = TextPool::new();
        Self { control, route: route.into(), limit, pool, connection: None }
    }

    /// Takes memory from a pool that it shares with other readers.
    #[must_use]
    pub fn with_pool(mut self, pool: &TextPool) -> Self {
        self.pool = pool.clone();
        self
    }

    /// Returns the text at the route, which must have less than 16 MiB.
    pub async fn read(&mut self) -> Result<Text, ClientError> {
        self.connection = None;
        let (clock, target) = (self.control.clock(), self.control.target());
        let Some(request) = self.encode(&self.route)? else {
            return Ok(self.control.text(&self.route, self.limit).await?.into());
        };
        // The connection is closed if this future is dropped or the time is over.
        let mut watch = Watch::start(clock, Timeouts::all(self.limit));
        let exchange = exchange(&request, target, &self.pool);
        let guarded = watch.guard(TimeoutStage::FirstByte, clock.now(), exchange).await;
        let (stream, answer) = guarded.and_then(|exchanged| exchanged)?;
        if answer.keeps_alive
            && target.reuse().keep_alive
            && let Ok(stream) = stream.into_std()
        {
            let (request, route) = (request.clone(), self.route.clone());
            let (target, pool) = (target.clone(), self.pool.clone());
            self.connection =
                Some(TextConnection::new(stream, request, target, route, pool, clock));
        }
        answer.text(self.control.target(), &self.route)
    }

    /// Returns the connection of the last text, if it can carry further requests.
    pub fn take_connection(&mut self) -> Option<TextConnection> {
        self.connection.take()
    }

    /// Adds a query to the requests of a connection that this reader opened, or removes it. Requests
    /// over a new connection have none.
    ///
    /// A path with the query ends with a slash: at `/metrics` itself vLLM's server ignores a query, at
    /// `/metrics/` the Python library `prometheus_client` answers.
    pub fn set_query(
        &self,
        connection: &mut TextConnection,
        query: Option<&str>,
    ) -> Result<(), ClientError> {
        let route = match query {
            None => self.route.clone(),
            Some(query) => {
                let (path, own) = self.route.split_once('?').unwrap_or((&self.route, ""));
                let sign = if own.is_empty() { "" } else { "&" };
                format!("{}/?{own}{sign}{query}", path.trim_end_matches('/'))
            }
        };
        if let Some(request) = self.encode(&route)? {
            connection.set_request(request);
        }
        Ok(())
    }

    /// Encodes the request for a route; `None` if [`ServerControl`] has to send it.
    fn encode(&self, route: &str) -> Result<Option<Encoded>, ClientError> {
        if self.control.target().tls().is_some() {
            return Ok(None);
        }
        Ok(match self.control.question(route)? {
            WholeRequest::Direct(request) => Some(request),
            WholeRequest::Hyper(_) => None,
        })
    }
}

/// Opens a connection, sends the request and receives the answer.
fn exchange<'a>(
    request: &'a Encoded,
    target: &'a Target,
    pool: &'a TextPool,
) -> BoxFuture<'a, Result<(TcpStream, TextAnswer), ClientError>> {
    Box::pin(async move {
        let mut stream = dial::connect(target).await?;
        let answer = ask(&mut stream, request, pool).await;
        Ok((stream, answer.map_err(|failure| failure.error(target))?))
    })
}

/// Sends a request and receives its answer.
async fn ask(
    stream: &mut TcpStream,
    request: &Encoded,
    pool: &TextPool,
) -> Result<TextAnswer, Failure> {
    let mut rest: &[u8] = request.head();
    while !rest.is_empty() {
        let written = poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, rest)).await;
        rest = &rest[written.map_err(Failure::of_write)?..];
    }
    let mut incoming = Incoming::into(pool.take());
    loop {
        let room = incoming.room();
        let received = poll_fn(|cx| {
            let mut buffer = ReadBuf::new(room);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer))?;
            Poll::Ready(Ok::<_, io::Error>(buffer.filled().len()))
        });
        let received = received.await;
        if incoming.take(received)? {
            return Ok(incoming.answer());
        }
    }
}
