//! Reads the text of one route again and again.
//!
//! Metrics are read many times a second beside a measurement, and have up to a hundred kilobytes.
//! Over HTTP/1.1 without TLS a reading is therefore one write and, as a rule, one read: the request
//! is encoded once, the answer is received into memory of an earlier one, and its framing is
//! removed in place. [`ServerControl`] reads from all other targets.
//!
//! Memory for an answer is taken from the pool when its first bytes have arrived, so that readers of
//! one thread use the same memory in turn.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;

use http::StatusCode;
use servemark_core::{Clock, MonotonicClock, Stamp};
use servemark_http1::{Body, Framing, Head, Piece};
use servemark_target::Timeouts;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::control::{LONGEST_TEXT, ServerControl, too_long};
use crate::dial;
use crate::direct::Encoded;
use crate::error::ClientError;
use crate::failure::ConnectionLoss;
use crate::link::WholeRequest;
use crate::pool::MOST_IDLE;
use crate::status::status_error;
use crate::target::Target;
use crate::text::{Memory, Text, TextPool};
use crate::watch::{TimeoutStage, Watch};

/// Client that reads the text of one route again and again, over one connection.
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
    /// The encoded request, once there was one.
    request: Option<Encoded>,
    /// The time-out of a reading. Its timer serves all of them, because setting another one up calls
    /// the kernel.
    watch: Watch,
    limit: Duration,
    pool: TextPool,
    /// The connection of the last answer, and when that answer ended.
    kept: Option<(TcpStream, Stamp)>,
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
        let watch = Watch::start(clock, Timeouts::all(limit));
        let pool = TextPool::new();
        Self { control, route: route.into(), request: None, watch, limit, pool, kept: None }
    }

    /// Takes memory from a pool that it shares with other readers.
    #[must_use]
    pub fn with_pool(mut self, pool: &TextPool) -> Self {
        self.pool = pool.clone();
        self
    }

    /// Returns the text at the route, which must have less than 16 MiB.
    ///
    /// A request that a kept connection did not carry to the server is sent once more on a new one.
    pub async fn read(&mut self) -> Result<Text, ClientError> {
        if self.request.is_none() {
            self.request = self.encode()?;
        }
        let Some(request) = &self.request else {
            return Ok(self.control.text(&self.route, self.limit).await?.into());
        };
        let clock = self.control.clock();
        self.watch.restart();
        // The connection is closed if this future is dropped or the time is over.
        let kept = self.kept.take().filter(|(_, since)| clock.now().since(*since) < MOST_IDLE);
        let exchange = pin!(exchange(kept, request, self.control.target(), &self.pool));
        let guarded = self.watch.guard(TimeoutStage::FirstByte, clock.now(), exchange).await;
        let (stream, answer) = guarded.and_then(|exchanged| exchanged)?;
        if answer.keeps_alive && self.control.target().reuse().keep_alive {
            self.kept = Some((stream, clock.now()));
        }
        if answer.status == StatusCode::OK {
            return Ok(answer.text);
        }
        let text = answer.text.as_bytes();
        Err(status_error(self.control.target(), answer.status, &self.route, text))
    }

    /// Encodes the request; `None` if [`ServerControl`] has to send it.
    fn encode(&self) -> Result<Option<Encoded>, ClientError> {
        if self.control.target().tls().is_some() {
            return Ok(None);
        }
        Ok(match self.control.question(&self.route)? {
            WholeRequest::Direct(request) => Some(request),
            WholeRequest::Hyper(_) => None,
        })
    }
}

struct TextAnswer {
    status: StatusCode,
    text: Text,
    /// Whether another request may follow on the connection.
    keeps_alive: bool,
}

/// Why an answer was not read.
struct Failure {
    reason: Reason,
    /// The first byte of the answer, if any was received.
    first_byte: Option<u8>,
}

enum Reason {
    NoHead(ConnectionLoss),
    NoEnd(ConnectionLoss),
    TooLong,
}

impl Failure {
    /// Returns whether a kept connection was closed before it carried the request to the server.
    fn is_unprocessed(&self) -> bool {
        match &self.reason {
            Reason::NoHead(loss) => self.first_byte.is_none() && loss.unprocessed(true).is_some(),
            Reason::NoEnd(_) | Reason::TooLong => false,
        }
    }

    fn error(self, target: &Target) -> ClientError {
        let is_tls = matches!(self.first_byte, Some(0x15 | 0x16));
        match self.reason {
            Reason::NoHead(loss) if is_tls => loss.in_tls(target.base_url()),
            Reason::NoHead(loss) => loss.before_head(target.base_url()),
            Reason::NoEnd(loss) => loss.in_body(),
            Reason::TooLong => too_long(),
        }
    }
}

/// Sends the request over the kept connection, or over a new one if there is none or it turns out
/// to be closed, and receives the answer.
async fn exchange(
    kept: Option<(TcpStream, Stamp)>,
    request: &Encoded,
    target: &Target,
    pool: &TextPool,
) -> Result<(TcpStream, TextAnswer), ClientError> {
    if let Some((mut stream, _)) = kept {
        match ask(&mut stream, request, pool).await {
            Ok(answer) if answer.status == StatusCode::REQUEST_TIMEOUT => {}
            Err(failure) if failure.is_unprocessed() => {}
            answered => {
                let answer = answered.map_err(|failure| failure.error(target))?;
                return Ok((stream, answer));
            }
        }
    }
    let mut stream = Box::pin(dial::connect(target)).await?;
    let answer = ask(&mut stream, request, pool).await;
    Ok((stream, answer.map_err(|failure| failure.error(target))?))
}

/// Sends a request and receives its answer.
async fn ask(
    stream: &mut TcpStream,
    request: &Encoded,
    pool: &TextPool,
) -> Result<TextAnswer, Failure> {
    let broken =
        |error: io::Error| Failure { reason: Reason::NoHead(error.into()), first_byte: None };
    let mut rest: &[u8] = request.head();
    while !rest.is_empty() {
        let written = poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, rest)).await;
        rest = &rest[written.map_err(broken)?..];
    }
    poll_fn(|cx| stream.poll_read_ready(cx)).await.map_err(broken)?;
    let mut incoming = Incoming::into(pool.take());
    loop {
        let room = incoming.room();
        let received = poll_fn(|cx| {
            let mut buffer = ReadBuf::new(room);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer))?;
            Poll::Ready(Ok::<_, io::Error>(buffer.filled().len()))
        });
        let is_over = match received.await {
            Ok(0) => incoming.end(),
            Ok(length) => incoming.add(length),
            Err(error) => Err(error.into()),
        };
        match is_over {
            Ok(true) => return Ok(incoming.answer()),
            Ok(false) if incoming.is_too_long() => return Err(incoming.failure(None)),
            Ok(false) => {}
            Err(loss) => return Err(incoming.failure(Some(loss))),
        }
    }
}

/// An answer as it is received.
struct Incoming {
    /// The received bytes, and room for more.
    memory: Memory,
    /// Positions of the text so far.
    text: Range<usize>,
    received: usize,
    /// Number of bytes that were parsed.
    parsed: usize,
    /// The head, once it was received.
    head: Option<AnswerHead>,
}

/// What is known once the head of an answer was received.
struct AnswerHead {
    status: StatusCode,
    /// Whether another request may follow on the connection.
    keeps_alive: bool,
    body: Body,
}

impl Incoming {
    fn into(memory: Memory) -> Self {
        Self { memory, text: 0..0, received: 0, parsed: 0, head: None }
    }

    /// Returns memory for the next bytes. Few reads fill it, and after one that does not, the socket
    /// is known to be empty without another call.
    fn room(&mut self) -> &mut [u8] {
        let bytes = &mut self.memory.bytes;
        if bytes.len() - self.received < LEAST_ROOM {
            bytes.resize((bytes.len() * 2).max(2 * LEAST_ROOM), 0);
        }
        &mut bytes[self.received..]
    }

    /// Takes the next bytes, and returns whether the answer is complete.
    fn add(&mut self, length: usize) -> Result<bool, ConnectionLoss> {
        self.received += length;
        if self.head.is_none() {
            self.take_head()?;
        }
        self.take_body()
    }

    /// Takes the end of the stream, and returns whether the answer is complete.
    fn end(&mut self) -> Result<bool, ConnectionLoss> {
        match &mut self.head {
            Some(head) if head.body.may_end_here() => {
                head.keeps_alive = false;
                Ok(true)
            }
            _ => Err(ConnectionLoss::closed()),
        }
    }

    /// Takes the head, once all of it was received. Interim heads are skipped.
    fn take_head(&mut self) -> Result<(), ConnectionLoss> {
        while self.parsed < self.received {
            let unparsed = &self.memory.bytes[self.parsed..self.received];
            let Some((head, length)) = Head::parse(unparsed)? else { break };
            self.parsed += length;
            if !head.is_interim() {
                let framing = head.framing()?;
                let keeps_alive = head.keeps_alive() && framing != Framing::UntilClose;
                let (status, body) = (head.status, Body::new(framing));
                self.head = Some(AnswerHead { status, keeps_alive, body });
                self.text = self.parsed..self.parsed;
                break;
            }
        }
        Ok(())
    }

    /// Removes the framing of what was received of the body.
    fn take_body(&mut self) -> Result<bool, ConnectionLoss> {
        let Some(head) = &mut self.head else { return Ok(false) };
        let bytes = &mut self.memory.bytes;
        loop {
            let mut rest = &bytes[self.parsed..self.received];
            let piece = head.body.next(&mut rest)?;
            let end = self.received - rest.len();
            self.parsed = end;
            match piece {
                Piece::Data(data) => {
                    let data = end - data.len()..end;
                    if self.text.start == self.text.end {
                        self.text = data;
                    } else {
                        let next = self.text.end + data.len();
                        if self.text.end != data.start {
                            bytes.copy_within(data, self.text.end);
                        }
                        self.text.end = next;
                    }
                }
                Piece::More => return Ok(false),
                Piece::End => {
                    // Bytes after an answer belong to no request.
                    head.keeps_alive &= end == self.received;
                    return Ok(true);
                }
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.text.len() >= LONGEST_TEXT
    }

    fn answer(self) -> TextAnswer {
        let head = self.head.expect("an answer is complete only after its head");
        let text = Text { memory: self.memory, text: self.text };
        TextAnswer { status: head.status, text, keeps_alive: head.keeps_alive }
    }

    /// Returns the failure of a connection that was lost; without a loss, of a text that is too
    /// long.
    fn failure(&self, loss: Option<ConnectionLoss>) -> Failure {
        let reason = match (loss, &self.head) {
            (None, _) => Reason::TooLong,
            (Some(loss), Some(_)) => Reason::NoEnd(loss),
            (Some(loss), None) => Reason::NoHead(loss),
        };
        let first_byte = self.memory.bytes[..self.received].first().copied();
        Failure { reason, first_byte }
    }
}

/// Least room for a read in bytes: that of the largest segment of a connection within a machine.
const LEAST_ROOM: usize = 64 << 10;
