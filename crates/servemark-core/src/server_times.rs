//! A request's times as the server itself measured them.

use serde::{Deserialize, Serialize};

/// A request's times as measured by the server: durations in milliseconds, and instants in
/// nanoseconds since the Unix epoch by the server's clock. A time that the server does not report
/// is absent.
///
/// ```
/// use servemark_core::ServerTimes;
///
/// let times = ServerTimes::new(Some(2.5), Some(40.0)).with_prefill(Some(38.0));
/// assert_eq!((times.queue_ms, times.prefill_ms, times.decode_ms), (Some(2.5), Some(38.0), None));
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerTimes {
    /// Time in the server's queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<f64>,
    /// Time from the end of the queue to the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<f64>,
    /// Time from the reception of the request to its place in the queue: parsing, validation,
    /// tokenization and the way to the scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontend_ms: Option<f64>,
    /// Time of the prompt's computation, up to the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill_ms: Option<f64>,
    /// Time of the transfer of the prompt's key-value cache from one worker to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_transfer_ms: Option<f64>,
    /// Time from the first token to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode_ms: Option<f64>,
    /// Time from the reception of the request to the end of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<f64>,
    /// When the server received the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_unix_ns: Option<u64>,
    /// When the server sent its first output: the first piece of a stream, or a whole document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_sent_unix_ns: Option<u64>,
}

impl ServerTimes {
    /// Creates the times of a request of which only the queue and the time to first token are
    /// known.
    pub const fn new(queue_ms: Option<f64>, ttft_ms: Option<f64>) -> Self {
        Self {
            queue_ms,
            ttft_ms,
            frontend_ms: None,
            prefill_ms: None,
            kv_transfer_ms: None,
            decode_ms: None,
            total_ms: None,
            received_unix_ns: None,
            first_sent_unix_ns: None,
        }
    }

    /// Sets the time from the reception to the place in the queue.
    #[must_use]
    pub const fn with_frontend(self, frontend_ms: Option<f64>) -> Self {
        Self { frontend_ms, ..self }
    }

    /// Sets the time of the prompt's computation.
    #[must_use]
    pub const fn with_prefill(self, prefill_ms: Option<f64>) -> Self {
        Self { prefill_ms, ..self }
    }

    /// Sets the time of the transfer of the key-value cache.
    #[must_use]
    pub const fn with_kv_transfer(self, kv_transfer_ms: Option<f64>) -> Self {
        Self { kv_transfer_ms, ..self }
    }

    /// Sets the time from the first token to the last.
    #[must_use]
    pub const fn with_decode(self, decode_ms: Option<f64>) -> Self {
        Self { decode_ms, ..self }
    }

    /// Sets the time from the reception to the end of the answer.
    #[must_use]
    pub const fn with_total(self, total_ms: Option<f64>) -> Self {
        Self { total_ms, ..self }
    }

    /// Sets when the server received the request and sent its first output.
    #[must_use]
    pub const fn with_instants(self, received: Option<u64>, first_sent: Option<u64>) -> Self {
        Self { received_unix_ns: received, first_sent_unix_ns: first_sent, ..self }
    }

    /// Returns whether the server reported no time at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
