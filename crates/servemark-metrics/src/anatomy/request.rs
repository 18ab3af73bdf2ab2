//! Splits the time of one request into its parts.

use servemark_core::{ArrivalClock, RequestRecord, ServerTimes, Stamp};

use super::{AnatomyFacts, RequestPart};

/// The parts of one request, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RequestAnatomy {
    parts: [Option<f64>; RequestPart::ALL.len()],
    /// Time from due until the answer ended, in a closed loop from when the concurrency limit let the
    /// request through, plus the delay until the first output had been read.
    pub total_ms: f64,
    /// Likewise, time until the first output had been read; absent for an answer that came as one
    /// document.
    pub ttft_ms: Option<f64>,
    /// Whether the server reports its prefill only together with the transfer of key-value caches.
    pub(super) hides_prefill: bool,
}

impl RequestAnatomy {
    /// Splits a request's time into parts; `None` if it failed, was never sent or has no output.
    ///
    /// The clock of `facts` places the server's instants. Without it only the durations are used.
    pub fn of(record: &RequestRecord, facts: &AnatomyFacts) -> Option<Self> {
        let sent = record.sent.filter(|_| record.is_success())?;
        let first = first_output(record)?;
        let free = record.granted.map_or(record.scheduled, |at| at.max(record.scheduled));
        let due = if facts.is_closed_loop { free } else { record.scheduled };
        let read_lag_ms = read_lag_ms(record, &first);
        let mut parts = Parts::default();
        if let Some(granted) = record.granted {
            parts.set(RequestPart::GateWait, ms(due, granted));
        }
        parts.set(RequestPart::SendLag, ms(free, sent));
        if let Some(lag) = read_lag_ms {
            parts.set(RequestPart::ReadLag, lag);
        }
        let times = record.server_times.as_deref().copied().unwrap_or_default();
        if record.is_document {
            parts.set_some(RequestPart::Decode, times.decode_ms);
        } else {
            parts.set(RequestPart::Decode, ms(first.at, record.ended));
        }
        let hides_prefill = facts.has_transfers && times.prefill_ms.is_none();
        let hides_prefill = hides_prefill && times.ttft_ms.is_some();
        parts.divide(sent, &first, record.is_document, &times, facts);
        let until_read = ms(due, first.at) + read_lag_ms.unwrap_or_default();
        let total_ms = ms(due, record.ended) + read_lag_ms.unwrap_or_default();
        let ttft_ms = (!record.is_document).then_some(until_read);
        Some(Self { parts: parts.0, total_ms, ttft_ms, hides_prefill })
    }

    /// Returns a part's time in milliseconds, if it is known.
    pub fn part_ms(&self, part: RequestPart) -> Option<f64> {
        self.parts[part.place()]
    }

    /// Returns the absolute difference between the sum of the parts and the total.
    pub fn residual_ms(&self) -> f64 {
        (self.parts.iter().flatten().sum::<f64>() - self.total_ms).abs()
    }
}

/// The first output of an answer, or a whole document.
struct FirstOutput {
    at: Stamp,
    lag_us: u32,
}

/// Returns when the first output arrived; for a document, when its last byte did.
fn first_output(record: &RequestRecord) -> Option<FirstOutput> {
    if record.is_document {
        return Some(FirstOutput { at: record.ended, lag_us: record.end_lag_us });
    }
    let row = record.deltas.rows().next()?;
    Some(FirstOutput { at: row.at, lag_us: row.lag_us })
}

/// Returns how long the first output was queued unread; absent if only the client's own clock stamped it.
fn read_lag_ms(record: &RequestRecord, first: &FirstOutput) -> Option<f64> {
    let is_known = matches!(record.arrival_clock, ArrivalClock::Kernel | ArrivalClock::KernelBound);
    is_known.then(|| f64::from(first.lag_us) / 1e3)
}

#[derive(Default)]
struct Parts([Option<f64>; RequestPart::ALL.len()]);

impl Parts {
    fn set(&mut self, part: RequestPart, ms: f64) {
        self.0[part.place()] = Some(ms);
    }

    fn set_some(&mut self, part: RequestPart, ms: Option<f64>) {
        self.0[part.place()] = ms;
    }

    /// Divides the time from sending to the first output, or to the end of a document, among the
    /// server's parts and the ways to it and back.
    fn divide(
        &mut self,
        sent: Stamp,
        first: &FirstOutput,
        is_document: bool,
        times: &ServerTimes,
        facts: &AnatomyFacts,
    ) {
        let until_first = times.ttft_ms.filter(|_| !facts.has_transfers);
        let parts = [
            (RequestPart::ServerFrontend, times.frontend_ms),
            (RequestPart::ServerQueue, times.queue_ms),
            (RequestPart::Prefill, times.prefill_ms.or(until_first)),
            (RequestPart::KvTransfer, times.kv_transfer_ms),
        ];
        let mut known = 0.0;
        for (part, ms) in parts {
            self.set_some(part, ms);
            known += ms.unwrap_or_default();
        }
        if is_document {
            known += times.decode_ms.unwrap_or_default();
        }
        let mut outside = 0.0;
        if let Some(clock) = &facts.clock {
            let placed = |unix_ns: Option<u64>| Some(clock.nanos_since(unix_ns?, sent) / 1e6);
            let whole = ms(sent, first.at);
            if let Some(received) = placed(times.received_unix_ns) {
                outside += self.set_way(RequestPart::RequestTransit, received);
            }
            if let Some(answered) = placed(times.first_sent_unix_ns) {
                outside += self.set_way(RequestPart::ResponseTransit, whole - answered);
            }
        }
        let rest = ms(sent, first.at) - known - outside;
        self.set(RequestPart::InsideServer, rest.max(0.0));
    }

    /// Sets the time on the network, which the error of the clock can make slightly negative.
    fn set_way(&mut self, part: RequestPart, ms: f64) -> f64 {
        let ms = ms.max(0.0);
        self.set(part, ms);
        ms
    }
}

fn ms(earlier: Stamp, later: Stamp) -> f64 {
    later.since(earlier).as_nanos() as f64 / 1e6
}
