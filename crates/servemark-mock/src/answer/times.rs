//! The true times of one answer, in the words of each engine.

use std::time::Duration;

use serde_json::{Map, Value, json};
use servemark_core::{SimulatedParts, Stamp};

use super::Dialect;
use crate::{ImitatedEngine, MockSpec, ReportedTimes};

/// The engines whose words an answer can use for its times.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TimesWords {
    /// Members of llama.cpp's `timings`.
    LlamaCpp,
    /// Members of the last line of Ollama's stream.
    Ollama,
    /// Members of SGLang's `meta_info`.
    Sglang,
    /// Members of vLLM's `metrics`.
    Vllm,
}

impl TimesWords {
    /// Returns the words for a route, if its answers have times.
    pub(super) fn of(spec: &MockSpec, dialect: Dialect) -> Option<Self> {
        match (dialect, spec.server_times) {
            (_, ReportedTimes::None) => None,
            (Dialect::Generate, _) => Some(Self::Sglang),
            (Dialect::Ollama { .. }, _) => Some(Self::Ollama),
            (Dialect::Chat | Dialect::Completions, ReportedTimes::LlamaCpp) => Some(Self::LlamaCpp),
            (Dialect::Chat | Dialect::Completions, ReportedTimes::Usual) => match spec.engine {
                None | Some(ImitatedEngine::Vllm) => Some(Self::Vllm),
                Some(ImitatedEngine::LlamaCpp) => Some(Self::LlamaCpp),
                // SGLang refuses to add its times to a stream of these routes, and has them in each
                // choice of a document on request.
                Some(_) => None,
            },
            _ => None,
        }
    }
}

/// The true times of one answer. Stamps are on the machine's monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrueTimes {
    /// When the request was received.
    pub(crate) received: Stamp,
    /// When the request joined the queue for a place.
    pub(crate) queued: Stamp,
    /// When the request got its place.
    pub(crate) begins: Stamp,
    /// When the computation of the prompt ended.
    pub(crate) prefilled: Stamp,
    /// Duration of the transfer of the prompt's key-value cache, after its computation.
    pub(crate) kv_transfer: Duration,
    /// When the first output was about to be written.
    pub(crate) first_sent: Option<Stamp>,
    /// When the current bytes are about to be written.
    pub(crate) now: Stamp,
    /// How long the bytes take from the server to the client's end of the network.
    pub(crate) network: Duration,
    /// What the server's clock shows at [`Stamp::ZERO`], in nanoseconds since the Unix epoch.
    pub(crate) zero_unix_ns: i128,
}

impl TrueTimes {
    /// Sets the time of the current bytes, which are the first output if `is_output` is set and
    /// there was none before.
    pub(super) fn advance(&mut self, now: Stamp, is_output: bool) {
        self.now = now - self.network;
        if is_output {
            self.first_sent.get_or_insert(self.now);
        }
    }

    /// Returns the parts before the first output, for the truth log.
    pub(crate) fn parts(&self) -> SimulatedParts {
        let nanos = |earlier: Stamp, later: Stamp| later.since(earlier).as_nanos() as u64;
        SimulatedParts::new(
            nanos(self.received, self.queued),
            nanos(self.queued, self.begins),
            nanos(self.begins, self.prefilled),
            self.kv_transfer.as_nanos() as u64,
        )
    }

    /// Returns the members that report the times of an answer of `tokens` tokens.
    pub(super) fn members(&self, words: TimesWords, tokens: u32) -> Map<String, Value> {
        let first = self.first_sent.unwrap_or(self.now);
        let members = match words {
            TimesWords::LlamaCpp => self.llama_cpp(first, tokens),
            TimesWords::Ollama => self.ollama(first),
            TimesWords::Sglang => self.sglang(first, tokens),
            TimesWords::Vllm => self.vllm(first, tokens),
        };
        match members {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// vLLM's time to first token begins at the end of the queue.
    fn vllm(&self, first: Stamp, tokens: u32) -> Value {
        let generation = ms(first, self.now);
        let per_token = per(generation, tokens.saturating_sub(1));
        json!({
            "time_to_first_token_ms": ms(self.begins, first),
            "generation_time_ms": generation,
            "queue_time_ms": ms(self.queued, self.begins),
            "mean_itl_ms": per_token,
            "tokens_per_second": f64::from(tokens) * 1e3 / ms(self.begins, self.now).max(1e-3),
        })
    }

    fn sglang(&self, first: Stamp, tokens: u32) -> Value {
        let decode_s = ms(first, self.now) / 1e3;
        let mut members = json!({
            "forward_entry_time": self.unix_s(self.begins),
            "prefill_finished_time": self.unix_s(self.prefilled),
            "queue_time": ms(self.queued, self.begins) / 1e3,
            "e2e_latency": ms(self.received, self.now) / 1e3,
            "request_received_ts": self.unix_s(self.received),
            "first_token_latency": ms(self.received, first) / 1e3,
            "api_server_dispatch_finish_ts": self.unix_s(self.queued),
            "response_sent_to_client_ts": self.unix_s(first),
            "request_finished_ts": self.unix_s(self.now),
            "decode_throughput": f64::from(tokens.saturating_sub(1)) / decode_s.max(1e-6),
        });
        if !self.kv_transfer.is_zero() {
            let prefill_s = ms(self.begins, self.prefilled) / 1e3;
            members["pd_prefill_forward_duration"] = json!(prefill_s);
            members["pd_decode_transfer_duration"] = json!(self.kv_transfer.as_secs_f64());
        }
        members
    }

    /// Returns the headers of text-generation-inference's answers: durations in whole milliseconds,
    /// and the numbers of tokens.
    pub(crate) fn tgi_headers(&self, prompt_tokens: u32, tokens: u32) -> String {
        let inference = ms(self.begins, self.now);
        let headers = [
            ("x-total-time", ms(self.received, self.now)),
            ("x-validation-time", ms(self.received, self.queued)),
            ("x-queue-time", ms(self.queued, self.begins)),
            ("x-inference-time", inference),
            ("x-time-per-token", per(inference, tokens)),
            ("x-prompt-tokens", prompt_tokens.into()),
            ("x-generated-tokens", tokens.into()),
        ];
        headers.map(|(name, value)| format!("{name}: {value:.0}\r\n")).concat()
    }

    fn llama_cpp(&self, first: Stamp, tokens: u32) -> Value {
        let (prompt, predicted) = (ms(self.begins, self.prefilled), ms(first, self.now));
        json!({
            "prompt_ms": prompt,
            "predicted_n": tokens,
            "predicted_ms": predicted,
            "predicted_per_token_ms": per(predicted, tokens.saturating_sub(1)),
        })
    }

    fn ollama(&self, first: Stamp) -> Value {
        let nanos = |earlier: Stamp, later: Stamp| later.since(earlier).as_nanos() as u64;
        json!({
            "total_duration": nanos(self.received, self.now),
            "load_duration": nanos(self.queued, self.begins),
            "prompt_eval_duration": nanos(self.begins, self.prefilled),
            "eval_duration": nanos(first, self.now),
        })
    }

    /// Returns a stamp as the server's clock shows it, in seconds since the Unix epoch.
    fn unix_s(&self, at: Stamp) -> f64 {
        (self.zero_unix_ns + i128::from(at.as_nanos())) as f64 / 1e9
    }
}

fn ms(earlier: Stamp, later: Stamp) -> f64 {
    later.since(earlier).as_nanos() as f64 / 1e6
}

fn per(whole: f64, count: u32) -> f64 {
    whole / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Stamp {
        Stamp::from_nanos(ms * 1_000_000)
    }

    fn times() -> TrueTimes {
        TrueTimes {
            received: at(1000),
            queued: at(1001),
            begins: at(1005),
            prefilled: at(1025),
            kv_transfer: Duration::ZERO,
            network: Duration::ZERO,
            first_sent: Some(at(1026)),
            now: at(1076),
            zero_unix_ns: 1_795_350_000_000_000_000,
        }
    }

    #[track_caller]
    fn check_time(words: TimesWords, key: &str, expected: f64) {
        let logprobs = times().members(words, 6)[key].as_f64().unwrap();
        assert!((logprobs - expected).abs() < 1e-6, "{key}: {logprobs} is not {expected}");
    }

    #[test]
    fn an_imitated_engine_uses_its_own_words_on_openai_routes() {
        let of =
            |engine, dialect| TimesWords::of(&MockSpec { engine, ..MockSpec::default() }, dialect);
        for dialect in [Dialect::Chat, Dialect::Completions] {
            assert_eq!(of(None, dialect), Some(TimesWords::Vllm));
            for engine in ImitatedEngine::ALL {
                let expected = match engine {
                    ImitatedEngine::Vllm => Some(TimesWords::Vllm),
                    ImitatedEngine::LlamaCpp => Some(TimesWords::LlamaCpp),
                    _ => None,
                };
                assert_eq!(of(Some(engine), dialect), expected, "{engine}");
            }
        }
        assert_eq!(of(Some(ImitatedEngine::Sglang), Dialect::Generate), Some(TimesWords::Sglang));
    }

    #[test]
    fn each_engine_has_words_of_its_own() {
        check_time(TimesWords::Vllm, "queue_time_ms", 4.0);
        check_time(TimesWords::Vllm, "time_to_first_token_ms", 21.0);
        check_time(TimesWords::Vllm, "mean_itl_ms", 10.0);
        check_time(TimesWords::Sglang, "queue_time", 0.004);
        check_time(TimesWords::Sglang, "request_received_ts", 1_795_350_001.0);
        check_time(TimesWords::Sglang, "prefill_finished_time", 1_795_350_001.025);
        check_time(TimesWords::Sglang, "response_sent_to_client_ts", 1_795_350_001.026);
        check_time(TimesWords::LlamaCpp, "prompt_ms", 20.0);
        check_time(TimesWords::LlamaCpp, "predicted_ms", 50.0);
        check_time(TimesWords::Ollama, "load_duration", 4e6);
        check_time(TimesWords::Ollama, "total_duration", 76e6);
    }

    #[test]
    fn tgis_headers_are_whole_milliseconds() {
        let headers = times().tgi_headers(7, 6);
        for line in ["x-total-time: 76", "x-validation-time: 1", "x-queue-time: 4"] {
            assert!(headers.contains(line), "{headers}");
        }
        assert!(headers.contains("x-inference-time: 71\r\nx-time-per-token: 12\r\n"), "{headers}");
    }

    #[test]
    fn the_truth_has_the_parts_before_the_first_output() {
        let kv_transfer = Duration::from_millis(1);
        let parts = TrueTimes { kv_transfer, ..times() }.parts();
        assert_eq!((parts.frontend_ns, parts.queue_ns), (1_000_000, 4_000_000));
        assert_eq!((parts.prefill_ns, parts.kv_transfer_ns), (20_000_000, 1_000_000));
    }
}
