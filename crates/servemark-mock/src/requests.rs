//! The latest requests, kept for tests that inspect payloads.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use servemark_core::{ArrivalClock, Stamp};

use crate::http::Request;
use crate::reception::Reception;

/// A request as it was received.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReceivedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path with its query string.
    pub path: String,
    /// The headers in the order received, with the spelling of their names preserved.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// When the last byte was received, on the machine's monotonic clock.
    pub received: Stamp,
    /// Which clock produced `received`: the kernel's receive stamp, or the server's own as it read.
    pub clock: ArrivalClock,
}

impl ReceivedRequest {
    /// Returns the value of the first header with this name, compared without regard to case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn new(request: &Request, reception: Reception) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            method: request.head.method().to_owned(),
            path: request.head.target().to_owned(),
            headers: request.head.headers().map(owned).collect(),
            body: request.body.clone(),
            received: reception.at,
            clock: reception.clock,
        }
    }
}

/// Writes requests as JSON lines: `method`, `path`, `headers` as pairs in their order, and `body`
/// as text, or `body_base64` where it is none.
///
/// # Errors
///
/// `out` cannot be written to.
pub fn write_requests(requests: &[ReceivedRequest], out: &mut dyn io::Write) -> io::Result<()> {
    for request in requests {
        writeln!(out, "{}", line(request))?;
    }
    Ok(())
}

fn line(request: &ReceivedRequest) -> Value {
    let mut line = json!({
        "method": request.method,
        "path": request.path,
        "headers": request.headers,
    });
    match str::from_utf8(&request.body) {
        Ok(text) => line["body"] = text.into(),
        Err(_) => line["body_base64"] = BASE64_STANDARD.encode(&request.body).into(),
    }
    line
}

/// The latest `most` requests.
#[derive(Debug)]
pub(crate) struct RequestLog {
    kept: Mutex<VecDeque<ReceivedRequest>>,
    most: usize,
}

impl RequestLog {
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), most }
    }

    pub(crate) fn keep(&self, request: &Request, reception: Reception) {
        if self.most == 0 {
            return;
        }
        let mut kept = self.lock();
        if kept.len() == self.most {
            kept.pop_front();
        }
        kept.push_back(ReceivedRequest::new(request, reception));
    }

    pub(crate) fn all(&self) -> Vec<ReceivedRequest> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ReceivedRequest>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_body_as_it_came() {
        let mut request = ReceivedRequest {
            method: "POST".to_owned(),
            path: "/generate?a=b".to_owned(),
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: Bytes::from_static(b"{\"b\": 1.0, \"a\": \"\\u00e9\"}"),
            received: Stamp::from_nanos(5),
            clock: ArrivalClock::User,
        };
        let mut lines = Vec::new();
        write_requests(std::slice::from_ref(&request), &mut lines).unwrap();
        request.body = Bytes::from_static(&[0xff, 0x00]);
        write_requests(std::slice::from_ref(&request), &mut lines).unwrap();
        let head = r#"{"method":"POST","path":"/generate?a=b","headers":[["Content-Type","application/json"]],"#;
        let text = format!(r#"{head}"body":"{{\"b\": 1.0, \"a\": \"\\u00e9\"}}"}}"#);
        let bytes = format!(r#"{head}"body_base64":"/wA="}}"#);
        assert_eq!(String::from_utf8(lines).unwrap(), format!("{text}\n{bytes}\n"));
    }
}
