//! An incremental parser of requests. Incomplete input is a normal value; this module neither waits
//! nor reads.

use bytes::{Bytes, BytesMut};
use memchr::memmem;

use super::KeepAlive;

/// A whole request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: Head,
    pub(crate) body: Bytes,
}

/// The request line and headers as received; lookups scan the text.
#[derive(Debug)]
pub(crate) struct Head(String);

impl Head {
    fn new(bytes: &[u8]) -> Self {
        let lossy = || String::from_utf8_lossy(bytes).into_owned();
        Self(str::from_utf8(bytes).map_or_else(|_| lossy(), str::to_owned))
    }

    pub(crate) fn method(&self) -> &str {
        self.word(0)
    }

    /// The request target: the path with its query string.
    pub(crate) fn target(&self) -> &str {
        self.word(1)
    }

    pub(crate) fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.0.lines().skip(1);
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.lines().skip(1).find_map(|line| value_of(line, name))
    }

    pub(crate) fn keep_alive(&self) -> KeepAlive {
        let connection = self.header("connection").unwrap_or_default();
        match self.word(2) {
            "HTTP/1.1" if !connection.eq_ignore_ascii_case("close") => KeepAlive::Yes,
            "HTTP/1.0" if connection.eq_ignore_ascii_case("keep-alive") => KeepAlive::Yes,
            _ => KeepAlive::No,
        }
    }

    fn word(&self, nth: usize) -> &str {
        self.0.lines().next().and_then(|line| line.split(' ').nth(nth)).unwrap_or_default()
    }

    fn body_length(&self) -> Result<usize, Refusal> {
        if self.header("transfer-encoding").is_some() {
            return Err(Refusal::NoLength);
        }
        match self.header("content-length").map(str::parse) {
            None => Ok(0),
            Some(Ok(length)) if length <= LONGEST_BODY => Ok(length),
            Some(Ok(_)) => Err(Refusal::LongBody),
            Some(Err(_)) => Err(Refusal::Malformed),
        }
    }

    fn wants_continue(&self) -> bool {
        self.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
    }
}

/// Returns the value if the line is a header with this name. Only the prefix of the name's length
/// is compared.
fn value_of<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (known, rest) = line.split_at_checked(name.len())?;
    let value = rest.strip_prefix(':')?;
    known.eq_ignore_ascii_case(name).then(|| value.trim())
}

/// The result of parsing the bytes received so far.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// The client waits for `100 Continue` before it sends the body.
    Continue,
    More,
    Request(Request),
}

/// Why a request cannot be read. The connection is unusable afterwards.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    LongBody,
    LongHead,
    Malformed,
    NoLength,
}

impl Refusal {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::LongBody => 413,
            Self::LongHead => 431,
            Self::Malformed => 400,
            Self::NoLength => 411,
        }
    }
}

/// Splits the bytes of one connection into requests.
#[derive(Debug, Default)]
pub(crate) struct RequestParser {
    buffer: BytesMut,
    head: Option<(Head, usize)>,
}

impl RequestParser {
    /// Appends the next bytes of the connection.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn next(&mut self) -> Result<Parsed, Refusal> {
        let first_look = self.head.is_none();
        let Some((head, length)) = self.take_head()? else { return Ok(Parsed::More) };
        if self.buffer.len() >= length {
            let body = self.buffer.split_to(length).freeze();
            if self.buffer.is_empty() {
                // Only the body keeps the memory, so that an idle connection holds none.
                self.buffer = BytesMut::new();
            }
            return Ok(Parsed::Request(Request { head, body }));
        }
        self.buffer.reserve(length - self.buffer.len());
        let asked = first_look && head.wants_continue();
        self.head = Some((head, length));
        Ok(if asked { Parsed::Continue } else { Parsed::More })
    }

    fn take_head(&mut self) -> Result<Option<(Head, usize)>, Refusal> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        if self.buffer.first() == Some(&TLS_HANDSHAKE) {
            // The head of a request would never end.
            return Err(Refusal::Malformed);
        }
        let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") else {
            let too_long = self.buffer.len() > LONGEST_HEAD;
            return if too_long { Err(Refusal::LongHead) } else { Ok(None) };
        };
        let bytes = self.buffer.split_to(end + 4);
        let head = Head::new(&bytes[..end]);
        if !head.word(2).starts_with("HTTP/1.") {
            return Err(Refusal::Malformed);
        }
        let length = head.body_length()?;
        Ok(Some((head, length)))
    }
}

/// First byte of a TLS connection (RFC 8446 section 5.1, content type `handshake`), which is no
/// character of a method.
const TLS_HANDSHAKE: u8 = 22;
const LONGEST_HEAD: usize = 64 << 10;
const LONGEST_BODY: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const POST: &str = "POST /generate?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";

    fn parser(bytes: &str) -> RequestParser {
        let mut parser = RequestParser::default();
        parser.feed(bytes.as_bytes());
        parser
    }

    #[track_caller]
    fn request(parser: &mut RequestParser) -> Request {
        match parser.next() {
            Ok(Parsed::Request(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_split_gives_the_same_request() {
        for cut in 0..POST.len() {
            let mut parser = parser(&POST[..cut]);
            assert!(matches!(parser.next(), Ok(Parsed::More)), "{cut}");
            parser.feed(&POST.as_bytes()[cut..]);
            let request = request(&mut parser);
            assert_eq!((request.head.method(), request.head.path()), ("POST", "/generate"));
            assert_eq!(request.head.target(), "/generate?x=1");
            assert_eq!(
                (request.head.header("host"), &request.body[..]),
                (Some("a"), &b"hello"[..])
            );
        }
    }

    #[test]
    fn a_second_request_waits_its_turn() {
        let mut parser = parser(&format!("{POST}GET / HTTP/1.0\r\n\r\n"));
        assert_eq!(request(&mut parser).head.keep_alive(), KeepAlive::Yes);
        let second = request(&mut parser);
        assert_eq!((second.head.method(), second.head.keep_alive()), ("GET", KeepAlive::No));
        assert!(second.body.is_empty());
    }

    #[test]
    fn continue_is_asked_for_once() {
        let mut parser =
            parser("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
        assert!(matches!(parser.next(), Ok(Parsed::Continue)));
        assert!(matches!(parser.next(), Ok(Parsed::More)));
        parser.feed(b"ok");
        assert_eq!(&request(&mut parser).body[..], b"ok");
    }

    #[track_caller]
    fn check_refused(bytes: &str, expected: Refusal) {
        assert_eq!(parser(bytes).next().unwrap_err(), expected);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        check_refused("\u{16}\u{3}\u{1}\u{2}", Refusal::Malformed);
        check_refused("hello\r\n\r\n", Refusal::Malformed);
        check_refused("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", Refusal::Malformed);
        check_refused("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::NoLength);
        check_refused("GET / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n", Refusal::LongBody);
        check_refused(&"x".repeat(LONGEST_HEAD + 1), Refusal::LongHead);
    }
}
