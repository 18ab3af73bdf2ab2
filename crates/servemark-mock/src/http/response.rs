//! Serialisation of responses.

use std::io::Write;

/// Whether the connection is kept open for another request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum KeepAlive {
    No,
    Yes,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// The connection is closed.
    Close,
    /// The answer never ends: the connection stays open and silent.
    Hang,
    /// The answer is complete, and the connection takes another request.
    Whole,
}

impl From<KeepAlive> for End {
    fn from(keep_alive: KeepAlive) -> Self {
        match keep_alive {
            KeepAlive::No => Self::Close,
            KeepAlive::Yes => Self::Whole,
        }
    }
}

/// How the end of a body is indicated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Framing {
    Chunked,
    /// The end of the connection ends the body, as in HTTP/1.0.
    Close,
    Length(usize),
}

/// Appends a response's head to `out`. `headers` are whole lines.
fn push_head_with(
    status: u16,
    content_type: &str,
    headers: &str,
    (framing, keep_alive): (Framing, KeepAlive),
    out: &mut Vec<u8>,
) {
    let version = if framing == Framing::Close { "1.0" } else { "1.1" };
    push(out, format_args!("HTTP/{version} {status} {}\r\n", reason(status)));
    push(out, format_args!("content-type: {content_type}\r\n{headers}"));
    match framing {
        Framing::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Framing::Close => {}
        Framing::Length(length) => push(out, format_args!("content-length: {length}\r\n")),
    }
    if keep_alive == KeepAlive::No {
        out.extend_from_slice(b"connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a response's head to `out`.
pub(crate) fn push_head(
    status: u16,
    content_type: &str,
    framing: Framing,
    keep_alive: KeepAlive,
    out: &mut Vec<u8>,
) {
    push_head_with(status, content_type, "", (framing, keep_alive), out);
}

/// Returns a whole JSON response with additional headers, each a whole line.
pub(crate) fn json_document(
    status: u16,
    body: &str,
    headers: &str,
    framing: Framing,
    keep_alive: KeepAlive,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + headers.len() + 128);
    push_head_with(status, "application/json", headers, (framing, keep_alive), &mut out);
    out.extend_from_slice(body.as_bytes());
    out
}

/// Returns a whole response.
pub(crate) fn document(
    status: u16,
    content_type: &str,
    body: &[u8],
    framing: Framing,
    keep_alive: KeepAlive,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 128);
    push_head(status, content_type, framing, keep_alive, &mut out);
    out.extend_from_slice(body);
    out
}

/// Appends the bytes that `data` writes as one chunk of a chunked body. If `data` writes nothing,
/// so does this: an empty chunk would end the body.
pub(crate) fn push_chunk(out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    // The size is known only after the data, so space for the largest is reserved and leading zeros
    // are removed at the end.
    out.extend_from_slice(&[b'0'; SIZE_DIGITS]);
    out.extend_from_slice(b"\r\n");
    let body = out.len();
    data(out);
    if out.len() == body {
        return out.truncate(start);
    }
    let zeros = write_hex(out.len() - body, &mut out[start..start + SIZE_DIGITS]);
    out.extend_from_slice(b"\r\n");
    out.drain(start..start + zeros);
}

/// Writes `number` in hexadecimal, right-aligned, and returns the number of unused digits on the
/// left.
fn write_hex(mut number: usize, digits: &mut [u8]) -> usize {
    let mut unused = digits.len();
    while number > 0 && unused > 0 {
        unused -= 1;
        digits[unused] = b"0123456789abcdef"[number % 16];
        number /= 16;
    }
    unused
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes any number of bytes");
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

/// Eight hexadecimal digits: chunks are smaller than 4 GiB.
const SIZE_DIGITS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document() {
        let bytes = document(200, "text/plain", b"hi", Framing::Length(2), KeepAlive::No);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\
             connection: close\r\n\r\nhi"
        );
    }

    #[test]
    fn chunks_tell_their_length_in_hex() {
        let mut out = Vec::new();
        push_chunk(&mut out, |out| out.extend_from_slice(&[b'x'; 26]));
        push_chunk(&mut out, |_| {});
        push_chunk(&mut out, |out| out.push(b'y'));
        assert_eq!(out, format!("1a\r\n{}\r\n1\r\ny\r\n", "x".repeat(26)).into_bytes());
    }
}
