//! What a server is asked to do, as a value.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod duration;
mod fault;
mod grammar;

pub use duration::parse_duration;
pub use fault::{ErrorShape, Fault, FaultKind};

/// What a server is asked to do.
///
/// Durations are written as milliseconds and read as milliseconds or as text such as `"1.5s"`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MockSpec {
    /// Where to listen; port zero lets the machine choose.
    pub listen: SocketAddr,
    /// From the moment at which a request has arrived to its first piece of output.
    #[serde(with = "duration")]
    pub ttft: Duration,
    /// From one piece of output to the next.
    #[serde(with = "duration")]
    pub itl: Duration,
    /// How many tokens a piece of output has.
    pub tokens_per_chunk: NonZeroU32,
    /// How many pieces of output go out in one write where several are due. The head of the
    /// response and its end go with them where they are due too.
    pub pieces_per_write: NonZeroU32,
    /// How much later than its schedule a piece may be due, drawn evenly for each. The schedule
    /// itself does not move.
    #[serde(with = "duration")]
    pub jitter: Duration,
    /// How many requests are served at once. Who comes when all places are taken waits for the
    /// first that is free, in the order of arrival, and only then do its times begin; without a
    /// number nobody waits. A place is taken until the last piece of its answer is due, so the
    /// server can do exactly `places / (ttft + itl x (pieces - 1))` requests a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<NonZeroUsize>,
    /// The seed of the jitter.
    pub seed: u64,
    /// The model's name.
    pub model: String,
    /// Whether requests for a model by another name are refused with 404, as OpenAI's API does, on
    /// its routes. Otherwise the name does not matter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict_model: bool,
    /// How many tokens every answer has, whatever the request asks for.
    pub output_tokens: Option<u32>,
    /// The accepted length of speculative decoding that `/server_info` tells.
    pub accept_length: Option<f64>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// How many of the latest requests to keep whole, for tests that look at payloads.
    pub keep_requests: usize,
    /// How many threads serve. Each has every so-many-th connection.
    pub threads: NonZeroUsize,
    /// Whether the threads look for what is due without ever sleeping: what is due then goes out
    /// within microseconds, and each thread takes a whole core.
    pub spin: bool,
}

impl MockSpec {
    /// A server with this schedule and no faults.
    pub fn new(ttft: Duration, itl: Duration) -> Self {
        Self { ttft, itl, ..Self::default() }
    }

    /// The same server with one more fault.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }
}

impl Default for MockSpec {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ttft: Duration::from_millis(50),
            itl: Duration::from_millis(10),
            tokens_per_chunk: NonZeroU32::MIN,
            pieces_per_write: NonZeroU32::MIN,
            jitter: Duration::ZERO,
            places: None,
            seed: 0,
            model: "mock".to_owned(),
            strict_model: false,
            output_tokens: None,
            accept_length: None,
            faults: Vec::new(),
            keep_requests: 0,
            threads: NonZeroUsize::MIN,
            spin: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_survives_json() {
        let mut spec = MockSpec::new(Duration::from_micros(12_500), Duration::from_millis(3))
            .with_fault("cut@5/3".parse().unwrap());
        spec.accept_length = Some(2.5);
        let text = serde_json::to_string(&spec).unwrap();
        assert!(text.contains(r#""ttft":12.5"#) && text.contains(r#""cut@5/3""#), "{text}");
        assert_eq!(serde_json::from_str::<MockSpec>(&text).unwrap(), spec);
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        let spec: MockSpec =
            serde_json::from_str(r#"{"ttft": "1.5s", "itl": 20, "jitter": "250us"}"#).unwrap();
        assert_eq!(spec.ttft, Duration::from_millis(1500));
        assert_eq!(spec.itl, Duration::from_millis(20));
        assert_eq!(spec.jitter, Duration::from_micros(250));
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = serde_json::from_str::<MockSpec>(r#"{"tftt": 1}"#).unwrap_err().to_string();
        assert!(error.contains("tftt"), "{error}");
    }
}
