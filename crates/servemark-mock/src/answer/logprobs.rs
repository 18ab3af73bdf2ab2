//! Log probabilities of an answer's tokens: constant, with the words that follow in the list as the
//! less likely alternatives.

use serde_json::{Map, Value, json};

use super::ask::Logprobs;
use super::words;

impl Logprobs {
    /// Returns the log probabilities of the tokens `from..until`.
    pub(super) fn of(self, from: u32, until: u32) -> Value {
        match self {
            Self::Chat { top } => {
                let content: Vec<Value> = (from..until).map(|token| in_chat(token, top)).collect();
                json!({"content": content, "refusal": null})
            }
            Self::Completions { top } => in_completion(from, until, top),
        }
    }
}

fn in_chat(token: u32, top: u32) -> Value {
    let described = |(word, logprob): (String, f64)| {
        let bytes = word.as_bytes().to_vec();
        json!({"token": word, "logprob": logprob, "bytes": bytes})
    };
    let mut chosen = described((words::word(token), CHOSEN));
    chosen["top_logprobs"] = likely(token, top).map(described).collect();
    chosen
}

fn in_completion(from: u32, until: u32, top: u32) -> Value {
    let tokens: Vec<String> = (from..until).map(words::word).collect();
    let logprobs = vec![CHOSEN; tokens.len()];
    let of_place = |token| -> Map<String, Value> {
        likely(token, top).map(|(word, logprob)| (word, json!(logprob))).collect()
    };
    let likely: Vec<_> = (from..until).map(of_place).collect();
    let offsets: Vec<usize> = (from..until).map(words::offset).collect();
    json!({
        "tokens": tokens,
        "token_logprobs": logprobs,
        "top_logprobs": if top == 0 { Value::Null } else { json!(likely) },
        "text_offset": offsets,
    })
}

/// Returns the `top` likeliest tokens of a position, the chosen one first. All differ: the words of
/// one round through the list, then their plurals.
fn likely(token: u32, top: u32) -> impl Iterator<Item = (String, f64)> {
    (0..top).map(move |rank| {
        let plural = if rank < words::COUNT { "" } else { "s" };
        let word = words::word(token.wrapping_add(rank)) + plural;
        (word, CHOSEN - f64::from(rank))
    })
}

/// The log probability of every token of an answer.
const CHOSEN: f64 = -0.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_describes_each_token_with_its_bytes() {
        let logprobs = Logprobs::Chat { top: 2 }.of(1, 2);
        let year = json!({"token": " year", "logprob": -0.5, "bytes": [32, 121, 101, 97, 114]});
        let mut first = year.clone();
        first["top_logprobs"] =
            json!([year, {"token": " work", "logprob": -1.5, "bytes": [32, 119, 111, 114, 107]}]);
        assert_eq!(logprobs, json!({"content": [first], "refusal": null}));
    }

    #[test]
    fn a_completion_has_a_column_for_each_fact() {
        assert_eq!(
            Logprobs::Completions { top: 1 }.of(1, 3),
            json!({
                "tokens": [" year", " work"],
                "token_logprobs": [-0.5, -0.5],
                "top_logprobs": [{" year": -0.5}, {" work": -0.5}],
                "text_offset": [5, 10],
            })
        );
        assert_eq!(Logprobs::Completions { top: 0 }.of(0, 1)["top_logprobs"], Value::Null);
    }

    #[test]
    fn as_many_tokens_are_likely_as_were_asked_for() {
        let logprobs = Logprobs::Completions { top: 20 }.of(16, 17);
        assert_eq!(logprobs["top_logprobs"][0].as_object().unwrap().len(), 20);
    }
}
