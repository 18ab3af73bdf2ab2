//! The configuration of the simulator.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod duration;
mod engine;
mod error;
mod fault;
mod grammar;
mod server_times;

pub use duration::parse_duration;
pub use engine::ImitatedEngine;
pub use error::MockSpecError;
pub use fault::{ErrorShape, Fault, FaultKind};
pub use server_times::ReportedTimes;

/// The configuration of the simulator, the server of `servemark-mock`.
///
/// In JSON, durations are written as milliseconds and read as milliseconds or as text such as
/// `"1.5s"`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct MockSpec {
    /// The address to listen on; port 0 lets the operating system choose.
    pub listen: SocketAddr,
    /// The time from the arrival of a request to its first piece of output.
    #[serde(with = "duration")]
    pub ttft: Duration,
    /// The time that `ttft` grows by for each token of the prompt that is not found in the prefix
    /// cache.
    #[serde(with = "duration", skip_serializing_if = "Duration::is_zero")]
    pub prefill_per_token: Duration,
    /// The time that a request takes to the server, and each piece of output back: the server's own
    /// times do not contain it.
    #[serde(with = "duration", skip_serializing_if = "Duration::is_zero")]
    pub network: Duration,
    /// The time from the arrival of a request until it waits for a place. It comes before `ttft`,
    /// which counts from the place.
    #[serde(with = "duration", skip_serializing_if = "Duration::is_zero")]
    pub frontend: Duration,
    /// The time that `ttft` leaves out: the transfer of the prompt's key-value cache to another
    /// worker, after which the first piece follows.
    #[serde(with = "duration", skip_serializing_if = "Duration::is_zero")]
    pub kv_transfer: Duration,
    /// The time from one piece of output to the next.
    #[serde(with = "duration")]
    pub itl: Duration,
    /// The number of tokens in each piece of output.
    pub tokens_per_chunk: NonZeroU32,
    /// The largest number of pieces of output in one write, where several are due. The response's
    /// head and end join that write if they are due too.
    pub pieces_per_write: NonZeroU32,
    /// The largest delay of a piece after its scheduled time, drawn uniformly for each piece. A
    /// delay does not move later pieces.
    #[serde(with = "duration")]
    pub jitter: Duration,
    /// The number of requests served at once; unlimited if absent. A request that arrives while all
    /// places are taken waits for the first free one, in the order of arrival, and its times count
    /// from then. A place is taken until the last piece of its answer is due, so without jitter and
    /// stalls the server completes at most `places / (ttft + itl x (pieces - 1))` requests per
    /// second, and exactly that under load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<NonZeroUsize>,
    /// The capacity, in blocks, of the memory for the keys and values of the requests that are
    /// being answered; unlimited if absent. A request takes the blocks of its prompt and its whole
    /// output at once and waits until they are free, as for a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_blocks: Option<NonZeroUsize>,
    /// The seed of the jitter.
    pub seed: u64,
    /// The name of the served model.
    pub model: String,
    /// The engine whose descriptions and metrics the server imitates. Without one it has the
    /// descriptions of all engines at once, and says that it is a simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<ImitatedEngine>,
    /// Whether OpenAI's routes refuse requests for a model by another name with 404, as OpenAI's
    /// API does. Otherwise the name is ignored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict_model: bool,
    /// The number of tokens in every answer, whatever the request asks for; if absent, the request
    /// decides.
    pub output_tokens: Option<u32>,
    /// The accepted length of speculative decoding that `/server_info` reports.
    pub accept_length: Option<f64>,
    /// Which times of its own the server reports with an answer.
    #[serde(skip_serializing_if = "is_usual")]
    pub server_times: ReportedTimes,
    /// By how many milliseconds the server's clock is ahead of the machine's, in the instants that
    /// it reports; negative if it is behind.
    #[serde(skip_serializing_if = "is_zero")]
    pub clock_skew_ms: f64,
    /// The capacity in blocks of the prefix cache; without one there is no cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_blocks: Option<NonZeroUsize>,
    /// The number of tokens in a block of the prefix cache and of the memory for keys and values.
    #[serde(skip_serializing_if = "is_usual_block")]
    pub cache_block_tokens: NonZeroUsize,
    /// Whether answers and metrics omit tokens that were found in the prefix cache.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hides_cached: bool,
    /// The faults to inject.
    pub faults: Vec<Fault>,
    /// The number of latest requests to keep whole, for tests that inspect payloads; 0 keeps none.
    pub keep_requests: usize,
    /// The number of threads that serve; connections are assigned to them in turn.
    pub threads: NonZeroUsize,
    /// Whether the threads poll without ever sleeping: due pieces then go out within microseconds,
    /// and each thread occupies a whole core.
    pub spin: bool,
}

impl MockSpec {
    /// Returns a spec with this schedule and no faults.
    pub fn new(ttft: Duration, itl: Duration) -> Self {
        Self { ttft, itl, ..Self::default() }
    }

    /// Adds a fault.
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
            prefill_per_token: Duration::ZERO,
            network: Duration::ZERO,
            frontend: Duration::ZERO,
            kv_transfer: Duration::ZERO,
            itl: Duration::from_millis(10),
            tokens_per_chunk: NonZeroU32::MIN,
            pieces_per_write: NonZeroU32::MIN,
            jitter: Duration::ZERO,
            places: None,
            kv_blocks: None,
            seed: 0,
            model: "mock".to_owned(),
            engine: None,
            strict_model: false,
            output_tokens: None,
            accept_length: None,
            server_times: ReportedTimes::Usual,
            clock_skew_ms: 0.0,
            cache_blocks: None,
            cache_block_tokens: BLOCK_TOKENS,
            hides_cached: false,
            faults: Vec::new(),
            keep_requests: LATEST,
            threads: NonZeroUsize::MIN,
            spin: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn is_usual(times: &ReportedTimes) -> bool {
    *times == ReportedTimes::Usual
}

/// Tokens in a block of the prefix cache, as in vLLM.
const BLOCK_TOKENS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn is_usual_block(tokens: &NonZeroUsize) -> bool {
    *tokens == BLOCK_TOKENS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn is_zero(value: &f64) -> bool {
    value.total_cmp(&0.0).is_eq()
}

/// Number of requests that a server keeps unless it is told otherwise: more than a test sends, and
/// a bound on the memory of a server that runs for days.
const LATEST: usize = 10_000;

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
