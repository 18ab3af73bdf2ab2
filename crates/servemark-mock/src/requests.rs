//! The latest requests, kept for tests that look at payloads.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use servemark_core::{ArrivalClock, Stamp};

use crate::http::Request;
use crate::reception::Reception;

/// A request as it was received.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SeenRequest {
    /// Its method.
    pub method: String,
    /// Its path, with its query.
    pub path: String,
    /// Its headers in their order, with their names as they were spelled.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Bytes,
    /// When its last byte was received, by the machine's monotonic clock.
    pub received: Stamp,
    /// Who says when: the kernel, or the server as it read it.
    pub clock: ArrivalClock,
}

impl SeenRequest {
    /// The first header of this name, however it is spelled.
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

/// The latest `most` requests.
#[derive(Debug)]
pub(crate) struct RequestLog {
    kept: Mutex<VecDeque<SeenRequest>>,
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
        kept.push_back(SeenRequest::new(request, reception));
    }

    pub(crate) fn all(&self) -> Vec<SeenRequest> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SeenRequest>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
