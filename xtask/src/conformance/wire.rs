//! Splits recorded HTTP/1 bytes into exchanges of a request and its response.
//!
//! This is a second, simple reader of the bytes. It shares no code with the client, so that it
//! does not share the client's mistakes. The `answer` module interprets the replies.

use anyhow::{Context, ensure};

use super::wiretap::Conversation;

/// One request and its response.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) path: String,
    /// Value of the request's `x-request-id` header.
    pub(super) id: Option<String>,
    /// Body of the request.
    pub(super) request_body: Vec<u8>,
    pub(super) status: u16,
    /// Body of the response, without chunked framing.
    pub(super) reply: Vec<u8>,
}

impl Exchange {
    /// Whether the request asks a model for output; a cache is flushed by a POST, too.
    pub(super) fn is_inference(&self) -> bool {
        INFERENCE.contains(&&*self.path)
    }
}

/// Returns the POST exchanges of a connection in order.
pub(super) fn exchanges(conversation: &Conversation) -> anyhow::Result<Vec<Exchange>> {
    let (mut sent, mut received) = (&*conversation.sent, &*conversation.received);
    let mut exchanges = Vec::new();
    while !sent.is_empty() {
        let request = Message::read(&mut sent, Whole::Declared).context("in a request")?;
        let response = Message::read(&mut received, Whole::UntilClose).context("in a response")?;
        if let Some(("POST", path)) = request.start.split_once(' ') {
            exchanges.push(Exchange {
                path: path.split(' ').next().unwrap_or(path).to_owned(),
                id: request.id,
                request_body: request.body,
                status: response.status()?,
                reply: response.body,
            });
        }
    }
    Ok(exchanges)
}

/// Length of a body without a length header.
#[derive(Clone, Copy)]
enum Whole {
    /// The message has no body.
    Declared,
    /// The body continues to the end of the connection.
    UntilClose,
}

struct Message {
    start: String,
    id: Option<String>,
    body: Vec<u8>,
}

impl Message {
    /// Takes a message from the front of `bytes`.
    fn read(bytes: &mut &[u8], otherwise: Whole) -> anyhow::Result<Self> {
        let head = std::str::from_utf8(until(bytes, b"\r\n\r\n")?)?;
        let (start, fields) = head.split_once("\r\n").unwrap_or((head, ""));
        let body = if field(fields, "transfer-encoding").is_some_and(|coding| coding == "chunked") {
            chunks(bytes)?
        } else if let Some(length) = field(fields, "content-length") {
            take(bytes, length.parse()?)?.to_vec()
        } else {
            match otherwise {
                Whole::Declared => Vec::new(),
                Whole::UntilClose => std::mem::take(bytes).to_vec(),
            }
        };
        let id = field(fields, "x-request-id").map(str::to_owned);
        Ok(Self { start: start.to_owned(), id, body })
    }

    fn status(&self) -> anyhow::Result<u16> {
        let word = self.start.split(' ').nth(1).context("a response without a status")?;
        word.parse().with_context(|| format!("{word:?} is no status"))
    }
}

fn field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let pairs = fields.lines().filter_map(|line| line.split_once(':'));
    pairs.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Takes the data of a chunked body, including its final empty chunk.
fn chunks(bytes: &mut &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let size = std::str::from_utf8(until(bytes, b"\r\n")?)?;
        let size =
            usize::from_str_radix(size.trim(), 16).with_context(|| format!("chunk {size:?}"))?;
        data.extend(take(bytes, size)?);
        ensure!(until(bytes, b"\r\n")?.is_empty(), "a chunk that is longer than it says");
        if size == 0 {
            return Ok(data);
        }
    }
}

fn until<'a>(bytes: &mut &'a [u8], mark: &[u8]) -> anyhow::Result<&'a [u8]> {
    let end = bytes.windows(mark.len()).position(|window| window == mark);
    let found = take(bytes, end.context("the bytes end too soon")?)?;
    take(bytes, mark.len())?;
    Ok(found)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> anyhow::Result<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(length).context("the bytes end too soon")?;
    *bytes = rest;
    Ok(front)
}

/// Routes that ask a model for output.
const INFERENCE: [&str; 7] = [
    "/generate",
    "/pooling",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/rerank",
    "/v1/responses",
];

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::*;

    const QUESTION: &[u8] = b"POST /generate HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}";

    /// Returns an exchange with a recorded response.
    pub(in super::super) fn recorded(name: &str) -> Exchange {
        let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/sse_captures");
        let received = std::fs::read(captures.join(name)).unwrap();
        only(&[QUESTION], &[&received])
    }

    #[track_caller]
    fn only(sent: &[&[u8]], received: &[&[u8]]) -> Exchange {
        let mut exchanges = read(sent, received).unwrap();
        assert_eq!(exchanges.len(), 1);
        exchanges.remove(0)
    }

    fn read(sent: &[&[u8]], received: &[&[u8]]) -> anyhow::Result<Vec<Exchange>> {
        exchanges(&Conversation { sent: sent.concat(), received: received.concat() })
    }

    #[test]
    fn a_chunked_stream_is_taken_out_of_its_chunks() {
        let exchange = recorded("sglang-0.5.23/generate.http");
        assert_eq!((exchange.path.as_str(), exchange.status), ("/generate", 200));
        assert!(exchange.reply.starts_with(b"data: {\"text\":\" bookmark\""));
        assert!(exchange.reply.ends_with(b"data: [DONE]\n\n"));
    }

    #[test]
    fn a_stream_without_length_goes_on_to_the_end() {
        let exchange = recorded("mlx-lm-0.32.2/chat_stream_usage.http");
        assert!(exchange.reply.starts_with(b": keepalive"));
        assert!(exchange.reply.ends_with(b"data: [DONE]\n\n"));
    }

    #[test]
    fn exchanges_of_one_connection_stay_apart_and_only_posts_count() {
        let get = b"GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n".as_slice();
        let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno!".as_slice();
        let exchange = only(&[get, QUESTION], &[answer, answer]);
        assert_eq!((exchange.status, &*exchange.reply), (404, &b"no!"[..]));
        assert_eq!(read(&[QUESTION, QUESTION], &[answer, answer]).unwrap().len(), 2);
    }

    #[test]
    fn what_ends_too_soon_is_told() {
        let cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab".as_slice();
        let error = read(&[QUESTION], &[cut]).unwrap_err();
        assert_eq!(format!("{error:#}"), "in a response: the bytes end too soon");
    }
}
