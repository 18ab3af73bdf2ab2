//! Responses into bytes.

use std::io::Write;

/// Whether the connection is used again. Closed: it is or it is not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum KeepAlive {
    No,
    Yes,
}

/// How an answer ends. Closed: these are the ways that the server knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// With the connection.
    Close,
    /// Not at all: the connection stays open and silent.
    Hang,
    /// And the next request may come.
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

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Framing {
    Chunked,
    /// By the end of the connection, as in HTTP/1.0.
    Close,
    Length(usize),
}

/// Appends a response's head.
pub(crate) fn push_head(
    status: u16,
    content_type: &str,
    framing: Framing,
    keep_alive: KeepAlive,
    out: &mut Vec<u8>,
) {
    let version = if framing == Framing::Close { "1.0" } else { "1.1" };
    push(out, format_args!("HTTP/{version} {status} {}\r\n", reason(status)));
    push(out, format_args!("content-type: {content_type}\r\n"));
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

/// A whole response.
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

/// Appends one chunk of a chunked body. An empty chunk would end the body and is left out.
pub(crate) fn push_chunk(data: &[u8], out: &mut Vec<u8>) {
    if !data.is_empty() {
        push(out, format_args!("{:x}\r\n", data.len()));
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
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
        push_chunk(&[b'x'; 26], &mut out);
        push_chunk(b"", &mut out);
        assert_eq!(out, format!("1a\r\n{}\r\n", "x".repeat(26)).into_bytes());
    }
}
