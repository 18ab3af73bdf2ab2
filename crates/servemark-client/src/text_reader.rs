//! Reads the text of one route again and again.
//!
//! Metrics are read many times a second beside a measurement, and have up to a hundred kilobytes.
//! Over HTTP/1.1 without TLS a reading is therefore one write and, as a rule, one read: the request
//! is encoded once, the answer is received into the memory of an earlier one, and its framing is
//! removed in place. [`ServerControl`] reads from all other targets.

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
use crate::watch::{TimeoutStage, Watch};

/// Client that reads the text of one route again and again, over one connection.
///
/// ```
/// use std::time::Duration;
///
/// use servemark_client::{Credentials, Target, TargetSpec, TextBuffer, TextReader};
/// use servemark_core::MonotonicClock;
/// use servemark_mock::{MockServer, MockSpec};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = MockServer::start(MockSpec::default())?;
/// let target = Target::new(&TargetSpec::new(server.base_url().parse()?), Credentials::new())?;
/// let limit = Duration::from_secs(2);
/// let mut reader = TextReader::new(target, "/metrics", limit, MonotonicClock::start());
/// let mut text = TextBuffer::default();
/// reader.read(&mut text).await?;
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
    /// The connection of the last answer, and when that answer ended.
    kept: Option<(TcpStream, Stamp)>,
}

/// A text, in memory that further texts can use again.
#[derive(Clone, Debug, Default)]
pub struct TextBuffer {
    bytes: Vec<u8>,
    /// Positions of the text within `bytes`.
    text: Range<usize>,
}

impl TextBuffer {
    /// Returns the text. It is as the server sent it, which need not be UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.text.clone()]
    }
}

impl<T: Into<Vec<u8>>> From<T> for TextBuffer {
    fn from(text: T) -> Self {
        let bytes = text.into();
        Self { text: 0..bytes.len(), bytes }
    }
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
        Self { control, route: route.into(), request: None, watch, limit, kept: None }
    }

    /// Replaces `text` by the text at the route, which must have less than 16 MiB. After an error
    /// `text` has no meaning.
    ///
    /// A request that a kept connection did not carry to the server is sent once more on a new one.
    pub async fn read(&mut self, text: &mut TextBuffer) -> Result<(), ClientError> {
        let Some(request) = self.request()? else {
            *text = self.control.text(&self.route, self.limit).await?.into();
            return Ok(());
        };
        let clock = self.control.clock();
        self.watch.restart();
        // The connection is closed if this future is dropped or the time is over.
        let kept = self.kept.take().filter(|(_, since)| clock.now().since(*since) < MOST_IDLE);
        let guarded = {
            let exchange = pin!(exchange(kept, &request, self.control.target(), text));
            self.watch.guard(TimeoutStage::FirstByte, clock.now(), exchange).await
        };
        let (stream, answer) = guarded.and_then(|exchanged| exchanged).inspect_err(|_| {
            // The memory of an answer without end is not kept.
            *text = TextBuffer::default();
        })?;
        if answer.keeps_alive && self.control.target().reuse().keep_alive {
            self.kept = Some((stream, clock.now()));
        }
        if answer.status == StatusCode::OK {
            return Ok(());
        }
        Err(status_error(self.control.target(), answer.status, &self.route, text.as_bytes()))
    }

    /// Returns the request; `None` if [`ServerControl`] has to send it.
    fn request(&mut self) -> Result<Option<Encoded>, ClientError> {
        if self.control.target().tls().is_some() {
            return Ok(None);
        }
        if self.request.is_none()
            && let WholeRequest::Direct(request) = self.control.question(&self.route)?
        {
            self.request = Some(request);
        }
        Ok(self.request.clone())
    }
}

/// What is known of an answer besides its text.
struct TextAnswer {
    status: StatusCode,
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
    text: &mut TextBuffer,
) -> Result<(TcpStream, TextAnswer), ClientError> {
    if let Some((mut stream, _)) = kept {
        match ask(&mut stream, request, text).await {
            Ok(answer) if answer.status == StatusCode::REQUEST_TIMEOUT => {}
            Err(failure) if failure.is_unprocessed() => {}
            answered => {
                let answer = answered.map_err(|failure| failure.error(target))?;
                return Ok((stream, answer));
            }
        }
    }
    let mut stream = Box::pin(dial::connect(target)).await?;
    let answer = ask(&mut stream, request, text).await;
    Ok((stream, answer.map_err(|failure| failure.error(target))?))
}

/// Sends a request and receives its answer.
async fn ask(
    stream: &mut TcpStream,
    request: &Encoded,
    text: &mut TextBuffer,
) -> Result<TextAnswer, Failure> {
    let broken =
        |error: io::Error| Failure { reason: Reason::NoHead(error.into()), first_byte: None };
    let mut rest: &[u8] = request.head();
    while !rest.is_empty() {
        let written = poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, rest)).await;
        rest = &rest[written.map_err(broken)?..];
    }
    let mut incoming = Incoming::into(text);
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
struct Incoming<'a> {
    /// The received bytes, and room for more.
    bytes: &'a mut Vec<u8>,
    /// Positions of the text so far.
    text: &'a mut Range<usize>,
    received: usize,
    /// Number of bytes that were parsed.
    parsed: usize,
    /// What the head says, once it was received.
    begun: Option<(TextAnswer, Body)>,
}

impl<'a> Incoming<'a> {
    fn into(buffer: &'a mut TextBuffer) -> Self {
        let TextBuffer { bytes, text } = buffer;
        *text = 0..0;
        Self { bytes, text, received: 0, parsed: 0, begun: None }
    }

    /// Returns memory for the next bytes. Few reads fill it, and after one that does not, the socket
    /// is known to be empty without another call.
    fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.received < LEAST_ROOM {
            self.bytes.resize((self.bytes.len() * 2).max(2 * LEAST_ROOM), 0);
        }
        &mut self.bytes[self.received..]
    }

    /// Takes the next bytes, and returns whether the answer is complete.
    fn add(&mut self, length: usize) -> Result<bool, ConnectionLoss> {
        self.received += length;
        if self.begun.is_none() {
            self.take_head()?;
        }
        self.take_body()
    }

    /// Takes the end of the stream, and returns whether the answer is complete.
    fn end(&mut self) -> Result<bool, ConnectionLoss> {
        match &mut self.begun {
            Some((answer, body)) if body.may_end_here() => {
                answer.keeps_alive = false;
                Ok(true)
            }
            _ => Err(ConnectionLoss::closed()),
        }
    }

    /// Takes the head, once all of it was received. Interim heads are skipped.
    fn take_head(&mut self) -> Result<(), ConnectionLoss> {
        while self.parsed < self.received {
            let unparsed = &self.bytes[self.parsed..self.received];
            let Some((head, length)) = Head::parse(unparsed)? else { break };
            self.parsed += length;
            if !head.is_interim() {
                let framing = head.framing()?;
                let keeps_alive = head.keeps_alive() && framing != Framing::UntilClose;
                let answer = TextAnswer { status: head.status, keeps_alive };
                self.begun = Some((answer, Body::new(framing)));
                *self.text = self.parsed..self.parsed;
                break;
            }
        }
        Ok(())
    }

    /// Removes the framing of what was received of the body.
    fn take_body(&mut self) -> Result<bool, ConnectionLoss> {
        let Some((answer, body)) = &mut self.begun else { return Ok(false) };
        loop {
            let mut rest = &self.bytes[self.parsed..self.received];
            let piece = body.next(&mut rest)?;
            let end = self.received - rest.len();
            self.parsed = end;
            match piece {
                Piece::Data(data) => {
                    let data = end - data.len()..end;
                    if self.text.start == self.text.end {
                        *self.text = data;
                    } else {
                        let next = self.text.end + data.len();
                        if self.text.end != data.start {
                            self.bytes.copy_within(data, self.text.end);
                        }
                        self.text.end = next;
                    }
                }
                Piece::More => return Ok(false),
                Piece::End => {
                    // Bytes after an answer belong to no request.
                    answer.keeps_alive &= end == self.received;
                    return Ok(true);
                }
            }
        }
    }

    fn is_too_long(&self) -> bool {
        self.text.len() >= LONGEST_TEXT
    }

    fn answer(self) -> TextAnswer {
        let (answer, _) = self.begun.expect("an answer is complete only after its head");
        answer
    }

    /// Returns the failure of a connection that was lost; without a loss, of a text that is too
    /// long.
    fn failure(&self, loss: Option<ConnectionLoss>) -> Failure {
        let reason = match (loss, &self.begun) {
            (None, _) => Reason::TooLong,
            (Some(loss), Some(_)) => Reason::NoEnd(loss),
            (Some(loss), None) => Reason::NoHead(loss),
        };
        let first_byte = self.bytes[..self.received].first().copied();
        Failure { reason, first_byte }
    }
}

/// Least room for a read in bytes: that of the largest segment of a connection within a machine.
const LEAST_ROOM: usize = 64 << 10;
