//! Compressed answers: which are read, and how they become bytes again while they arrive.

use std::io::{self, Write};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue};
use servemark_core::{ErrorKind, RequestError};

/// Decompresses the body of an answer, read by read.
#[derive(Debug)]
pub(crate) enum Inflater {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Inflater {
    /// What the body of an answer with such a head needs; nothing if it is not compressed. A coding
    /// that the request's own headers did not accept is refused.
    pub(crate) fn of(answer: &HeaderMap, asked: &HeaderMap) -> Result<Option<Self>, RequestError> {
        let coding =
            answer.get(CONTENT_ENCODING).map(|coding| name(coding.to_str().unwrap_or("?")));
        let inflater = match coding.as_deref() {
            None | Some("" | "identity") => return Ok(None),
            Some("gzip" | "x-gzip") => Self::Gzip(MultiGzDecoder::new(Vec::new())),
            Some("deflate") => Self::Deflate(ZlibDecoder::new(Vec::new())),
            Some(other) => {
                return Err(refused(&format!(
                    "the server compressed its answer (content-encoding: {other}), and only gzip \
                     and deflate are read; make it or its proxy send one of them or none"
                )));
            }
        };
        let coding = if matches!(inflater, Self::Gzip(_)) { "gzip" } else { "deflate" };
        let mut accepted = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
        if accepted.any(|list| list.split(',').any(|one| name(one) == coding)) {
            return Ok(Some(inflater));
        }
        Err(refused(&format!(
            "the server compressed its answer (content-encoding: {coding}), which it was not asked \
             to; give --header Accept-Encoding={coding} to accept that, or turn compression off in \
             the server or its proxy"
        )))
    }

    /// Decompresses what a read brought and shows it to `visit`, a little at a time, until that
    /// returns an error: few compressed bytes may become very many.
    pub(crate) fn feed<E: From<RequestError>>(
        &mut self,
        bytes: &[u8],
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for piece in bytes.chunks(PIECE) {
            let damaged =
                |error| refused(&format!("the answer is not what it is coded as: {error}"));
            self.inflate(piece).map_err(damaged)?;
            let inflated = self.inflated();
            if !inflated.is_empty() {
                visit(inflated)?;
                inflated.clear();
            }
        }
        Ok(())
    }

    fn inflate(&mut self, piece: &[u8]) -> io::Result<()> {
        let decoder: &mut dyn Write = match self {
            Self::Gzip(decoder) => decoder,
            Self::Deflate(decoder) => decoder,
        };
        decoder.write_all(piece)?;
        decoder.flush()
    }

    fn inflated(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
        }
    }
}

/// The header by which a call that reads no compressed answer says so.
pub(crate) fn identity() -> HeaderValue {
    HeaderValue::from_static("identity")
}

/// A coding without its weight.
fn name(coding: &str) -> String {
    coding.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn refused(message: &str) -> RequestError {
    RequestError::new(ErrorKind::Decode, message)
}

/// A thousand bytes become a million at most.
const PIECE: usize = 1 << 10;
