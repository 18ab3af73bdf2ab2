//! Encodes requests before they are due.

use std::collections::VecDeque;

use servemark_core::{RequestError, Sample, Transport};

/// What became of a sample that was encoded.
pub(crate) type Prepared<T> = Result<<T as Transport>::Prepared, RequestError>;

/// Keeps the next requests encoded, at most so many, so that nothing but I/O is left to do when
/// one is due and large payloads are never all held at once.
pub(crate) struct LookAhead<'a, T: Transport> {
    transport: &'a T,
    samples: std::slice::Iter<'a, Sample>,
    ready: VecDeque<Prepared<T>>,
    most: usize,
}

impl<'a, T: Transport> LookAhead<'a, T> {
    pub(crate) fn new(transport: &'a T, samples: &'a [Sample], most: usize) -> Self {
        let mut ahead = Self { transport, samples: samples.iter(), ready: VecDeque::new(), most };
        ahead.fill();
        ahead
    }

    /// The next request in the order of the samples.
    pub(crate) fn next(&mut self) -> Option<Prepared<T>> {
        self.ready.pop_front().or_else(|| self.encode())
    }

    /// Encodes up to the bound again. Cheap to call when there is nothing to do.
    pub(crate) fn fill(&mut self) {
        while self.ready.len() < self.most
            && let Some(prepared) = self.encode()
        {
            self.ready.push_back(prepared);
        }
    }

    fn encode(&mut self) -> Option<Prepared<T>> {
        self.samples.next().map(|sample| self.transport.prepare(sample))
    }
}
