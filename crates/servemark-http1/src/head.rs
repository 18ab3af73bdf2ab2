//! The head of an answer: its headers, or only what they say about the connection.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode, Version};
use httparse::{ParserConfig, Response, Status};

use crate::Malformed;
use crate::summary::HeadSummary;

/// The head of an answer.
#[derive(Clone, Debug)]
pub struct Head {
    /// What it says about the connection.
    pub summary: HeadSummary,
    /// Headers of the answer.
    pub headers: HeaderMap,
}

impl Head {
    /// Parses the head at the start of `bytes`; also returns its length. `None` if it is not
    /// complete.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        parse(bytes, Self::of)
    }

    /// Copies the headers; all values share one copy of the head.
    fn of(response: &Response<'_, '_>, head: &[u8]) -> Result<Self, Malformed> {
        let copy = Bytes::copy_from_slice(head);
        let summary = HeadSummary::of(response)?;
        let mut headers = HeaderMap::with_capacity(response.headers.len());
        for header in &*response.headers {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| not_http())?;
            let value = HeaderValue::from_maybe_shared(within(&copy, head, header.value));
            headers.append(name, value.map_err(|_| not_http())?);
        }
        Ok(Self { summary, headers })
    }
}

impl HeadSummary {
    /// Parses the head at the start of `bytes`; also returns its length. `None` if it is not
    /// complete.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        parse(bytes, |response, _| Self::of(response))
    }

    fn of(response: &Response<'_, '_>) -> Result<Self, Malformed> {
        let version = if response.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
        let status = StatusCode::from_u16(response.code.unwrap_or_default());
        let mut summary = Self::new(version, status.map_err(|_| not_http())?);
        for header in &*response.headers {
            summary.add(header.name, header.value);
        }
        Ok(summary)
    }
}

/// Parses the head at the start of `bytes`, of which `of` takes what is wanted.
fn parse<T>(
    bytes: &[u8],
    of: impl FnOnce(&Response<'_, '_>, &[u8]) -> Result<T, Malformed>,
) -> Result<Option<(T, usize)>, Malformed> {
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default()
        .parse_response_with_uninit_headers(&mut response, bytes, &mut headers)
        .map_err(|_| not_http())?;
    match parsed {
        Status::Complete(length) => Ok(Some((of(&response, &bytes[..length])?, length))),
        Status::Partial if bytes.len() > LONGEST => {
            Err(Malformed::new("the head of the answer does not end"))
        }
        Status::Partial => Ok(None),
    }
}

fn not_http() -> Malformed {
    Malformed::new("the head of the answer is not HTTP")
}

/// Returns a part of `head` as a slice of its copy. An empty part may point anywhere.
fn within(copy: &Bytes, head: &[u8], part: &[u8]) -> Bytes {
    if part.is_empty() {
        return Bytes::new();
    }
    let start = part.as_ptr() as usize - head.as_ptr() as usize;
    copy.slice(start..start + part.len())
}

const MOST_HEADERS: usize = 100;

/// Maximum length of a head; larger than what any server sends, cookies included.
const LONGEST: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Framing;

    fn head(lines: &str) -> Head {
        let text = format!("{}\r\n\r\n", lines.replace('\n', "\r\n"));
        let (head, length) = Head::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(length, text.len());
        head
    }

    /// Returns what a head says about the connection, which is the same whether its headers are kept or
    /// not.
    fn summary(lines: &str) -> HeadSummary {
        let text = format!("{}\r\n\r\n", lines.replace('\n', "\r\n"));
        let (summary, length) = HeadSummary::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!((length, &head(lines).summary), (text.len(), &summary));
        summary
    }

    #[track_caller]
    fn framed(lines: &str, framing: Framing, keeps_alive: bool) {
        let summary = summary(lines);
        assert_eq!((summary.framing(), summary.keeps_alive()), (Ok(framing), keeps_alive));
    }

    #[track_caller]
    fn refused(lines: &str, reason: &str) {
        assert_eq!(summary(lines).framing().unwrap_err().to_string(), reason);
    }

    #[test]
    fn a_head_is_taken_apart() {
        let head = head("HTTP/1.1 503 Busy\nRetry-After: 7\nx: a\nx: b");
        assert_eq!(
            (head.summary.version, head.summary.status),
            (Version::HTTP_11, StatusCode::SERVICE_UNAVAILABLE)
        );
        assert_eq!(head.headers["retry-after"], "7");
        assert_eq!(head.headers.get_all("x").iter().count(), 2);
    }

    #[test]
    fn a_head_without_its_end_is_none_yet() {
        let whole = b"HTTP/1.1 200 OK\r\na: b\r\n\r\nbody";
        for length in 0..whole.len() - b"body".len() {
            assert!(Head::parse(&whole[..length]).unwrap().is_none(), "{length}");
        }
        assert_eq!(Head::parse(whole).unwrap().unwrap().1, whole.len() - b"body".len());
    }

    #[test]
    fn what_is_no_head() {
        assert!(Head::parse(b"SSH-2.0-OpenSSH_9.2\r\n").is_err());
        assert!(Head::parse(b"HTTP/2 200 OK\r\n\r\n").is_err());
        let endless = [&b"HTTP/1.1 200 OK\r\na: "[..], &vec![b'x'; LONGEST]].concat();
        let error = Head::parse(&endless).unwrap_err();
        assert_eq!(error.to_string(), "the head of the answer does not end");
    }

    #[test]
    fn the_framing_is_the_heads() {
        framed("HTTP/1.1 200 OK\ntransfer-encoding: chunked", Framing::Chunked, true);
        framed("HTTP/1.1 200 OK\ntransfer-encoding: gzip, Chunked", Framing::Chunked, true);
        framed("HTTP/1.1 200 OK\ntransfer-encoding: gzip", Framing::UntilClose, true);
        framed("HTTP/1.1 200 OK\ncontent-length: 12", Framing::Length(12), true);
        framed("HTTP/1.1 200 OK\ncontent-length: 12, 12", Framing::Length(12), true);
        framed("HTTP/1.1 200 OK\nContent-Length: 12\nx: 3", Framing::Length(12), true);
        let several = "HTTP/1.1 200 OK\ntransfer-encoding: gzip\ntransfer-encoding: chunked";
        framed(several, Framing::Chunked, true);
        framed("HTTP/1.1 200 OK", Framing::UntilClose, true);
        framed("HTTP/1.1 204 No Content\ncontent-length: 3", Framing::Length(0), true);
        let both = "HTTP/1.1 200 OK\ncontent-length: 3\ntransfer-encoding: chunked";
        framed(both, Framing::Chunked, true);
    }

    #[test]
    fn the_connection_is_kept_by_the_versions_rule() {
        framed("HTTP/1.1 200 OK\ncontent-length: 1\nconnection: close", Framing::Length(1), false);
        framed("HTTP/1.0 200 OK\ncontent-length: 1", Framing::Length(1), false);
        let kept = "HTTP/1.0 200 OK\ncontent-length: 1\nconnection: Keep-Alive";
        framed(kept, Framing::Length(1), true);
    }

    #[test]
    fn a_framing_that_cannot_be() {
        let reason = "the answer has no valid content-length";
        for length in ["1, 2", "1\ncontent-length: 2", "", "+1", "0x1", "99999999999999999999"] {
            refused(&format!("HTTP/1.1 200 OK\ncontent-length: {length}"), reason);
        }
        let old = "HTTP/1.0 200 OK\ntransfer-encoding: chunked";
        refused(old, "HTTP/1.0 has no transfer-encoding");
    }

    #[test]
    fn values_are_read_where_they_lie() {
        let head = head("HTTP/1.1 200 OK\nempty:\nblank: \nx:  a b \nx: c");
        let values = |name| -> Vec<_> {
            head.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
        };
        assert_eq!((values("empty"), values("blank")), (vec![""], vec![""]));
        assert_eq!(values("x"), ["a b", "c"]);
    }

    #[test]
    fn an_interim_answer_is_not_the_answer() {
        assert!(summary("HTTP/1.1 103 Early Hints").is_interim());
        assert!(!summary("HTTP/1.1 101 Switching Protocols").is_interim());
        assert!(!summary("HTTP/1.1 200 OK").is_interim());
        assert!(summary("HTTP/1.1 100 Continue").is_interim());
    }
}
