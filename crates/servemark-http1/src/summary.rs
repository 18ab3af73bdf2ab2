//! What the head of an answer says about the connection: framing of the body, and reuse.

use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{StatusCode, Version};

use crate::Malformed;

/// How the end of a body is marked. Closed: there is no other way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Framing {
    /// The body consists of chunks, each with its length.
    Chunked,
    /// The body has this number of bytes.
    Length(u64),
    /// The body ends with the connection.
    UntilClose,
}

/// What a head says about the connection, without its headers. It is cheaper to parse than the head.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeadSummary {
    /// HTTP/1.1 or HTTP/1.0.
    pub version: Version,
    /// Status of the answer.
    pub status: StatusCode,
    coding: Coding,
    length: ContentLength,
    /// Whether the connection header has the option `keep-alive`.
    asks_to_keep: bool,
    /// Whether it has the option `close`.
    asks_to_close: bool,
}

/// The last of the transfer codings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Coding {
    None,
    Chunked,
    Other,
}

/// The values of the header content-length.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ContentLength {
    None,
    Valid(u64),
    /// One of them is no number, or they differ.
    Invalid,
}

impl HeadSummary {
    pub(crate) fn new(version: Version, status: StatusCode) -> Self {
        Self {
            version,
            status,
            coding: Coding::None,
            length: ContentLength::None,
            asks_to_keep: false,
            asks_to_close: false,
        }
    }

    /// Takes what a header says about the connection. The items of a list may be spread over several
    /// headers.
    pub(crate) fn add(&mut self, name: &str, value: &[u8]) {
        let mut items = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        if name.eq_ignore_ascii_case(CONNECTION.as_str()) {
            for option in items {
                self.asks_to_keep |= option.eq_ignore_ascii_case(b"keep-alive");
                self.asks_to_close |= option.eq_ignore_ascii_case(b"close");
            }
        } else if name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str()) {
            for item in items {
                self.length = self.length.and(item);
            }
        } else if name.eq_ignore_ascii_case(TRANSFER_ENCODING.as_str()) {
            self.coding = match items.next_back() {
                Some(last) if last.eq_ignore_ascii_case(b"chunked") => Coding::Chunked,
                _ => Coding::Other,
            };
        }
    }

    /// Returns whether the final answer is still to come. Requests never ask to switch protocols,
    /// so status 101 counts as final.
    pub fn is_interim(&self) -> bool {
        self.status.is_informational() && self.status != StatusCode::SWITCHING_PROTOCOLS
    }

    /// Returns how the end of the body is marked. One with a transfer coding ends with the
    /// connection unless chunked is the last coding.
    pub fn framing(&self) -> Result<Framing, Malformed> {
        match (self.coding, self.length) {
            _ if self.has_no_body() => Ok(Framing::Length(0)),
            (Coding::Chunked | Coding::Other, _) if self.version == Version::HTTP_10 => {
                Err(Malformed::new("HTTP/1.0 has no transfer-encoding"))
            }
            (Coding::Chunked, _) => Ok(Framing::Chunked),
            (Coding::Other, _) | (Coding::None, ContentLength::None) => Ok(Framing::UntilClose),
            (Coding::None, ContentLength::Valid(length)) => Ok(Framing::Length(length)),
            (Coding::None, ContentLength::Invalid) => {
                Err(Malformed::new("the answer has no valid content-length"))
            }
        }
    }

    /// Returns whether another request may follow on the connection after the body.
    pub fn keeps_alive(&self) -> bool {
        match self.version {
            Version::HTTP_10 => self.asks_to_keep && !self.asks_to_close,
            _ => !self.asks_to_close,
        }
    }

    fn has_no_body(&self) -> bool {
        let without = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED];
        self.status.is_informational() || without.contains(&self.status)
    }
}

impl ContentLength {
    /// Takes another value.
    fn and(self, text: &[u8]) -> Self {
        match (self, length(text)) {
            (Self::None, Some(length)) => Self::Valid(length),
            (Self::Valid(before), Some(length)) if before == length => self,
            _ => Self::Invalid,
        }
    }
}

/// Parses a number of digits only: no sign, not empty, no overflow.
fn length(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then_some(text)?.iter().try_fold(0_u64, |length, digit| {
        length.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}
