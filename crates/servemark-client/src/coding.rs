//! Decompression of answers while they arrive.

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
    /// Returns the inflater for an answer with this head; `None` if the body is not compressed. A
    /// coding that the request's headers did not accept is an error.
    pub(crate) fn of(
        answer: &HeaderMap,
        request: &HeaderMap,
    ) -> Result<Option<Self>, RequestError> {
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
        let mut accepted =
            request.get_all(ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
        if accepted.any(|list| list.split(',').any(|one| name(one) == coding)) {
            return Ok(Some(inflater));
        }
        Err(refused(&format!(
            "the server compressed its answer (content-encoding: {coding}), which it was not asked \
             to; send a header Accept-Encoding: {coding} to accept that, or turn compression off in \
             the server or its proxy"
        )))
    }

    /// Decompresses the bytes of a read and passes the output to `visit` in small parts, until
    /// `visit` returns an error: few compressed bytes may expand to very many.
    pub(crate) fn feed<E: From<RequestError>>(
        &mut self,
        bytes: &[u8],
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for piece in bytes.chunks(PIECE) {
            let damaged = |error| refused(&format!("the answer cannot be decompressed: {error}"));
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

/// Returns the `Accept-Encoding` value of calls that do not read compressed answers.
pub(crate) fn identity() -> HeaderValue {
    HeaderValue::from_static("identity")
}

/// Returns the name of a coding without its weight, in lower case.
fn name(coding: &str) -> String {
    coding.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn refused(message: &str) -> RequestError {
    RequestError::new(ErrorKind::Decode, message)
}

/// Number of compressed bytes inflated at a time; they expand to about a million bytes at most.
const PIECE: usize = 1 << 10;
