//! ShareGPT's conversations, sent turn by turn.

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, Sample, SpecialTokens, Tokenizer, TokenizerError, parallel,
};
use servemark_rng::PythonRandom;

use crate::json_array;
use crate::vllm::rows::no_file;

/// ShareGPT's conversations: the human's texts, and the lengths of the answers.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct ShareGptTurnsSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Output length of every turn, in tokens; without it, the length of the recorded answer.
    pub output_tokens: Option<u32>,
    /// Maximum number of turns per conversation.
    pub most: Option<NonZero<u32>>,
}

/// A human's text with its answer.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Exchange {
    user: String,
    answer: String,
}

impl ShareGptTurnsSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Vec<Sample>>, DatasetError> {
        let hint = "give ShareGPT's file with `workload.dataset.path`";
        let path = self.path.as_deref().ok_or_else(|| no_file("sharegpt", hint))?;
        let mut conversations =
            json_array::read(path, context.progress, |record| Ok(self.turns(&record)))?;
        let python = &mut context.random.python;
        *python = PythonRandom::seeded(seed.into());
        python.shuffle(&mut conversations);
        let found = conversations.len();
        for _ in found..count {
            let again = python.choice(&conversations[..found]).cloned();
            conversations.extend(again);
        }
        conversations.truncate(count);
        let tokenizer = context.tokenizer;
        let samples = |messages: &Vec<Exchange>| {
            let turns = messages.iter().map(|exchange| self.sample(exchange, tokenizer));
            turns.collect::<Result<Vec<Sample>, TokenizerError>>()
        };
        let name = "tokenizing prompts";
        let made = parallel::map(name, &conversations, context.progress, samples);
        Ok(made.into_iter().collect::<Result<_, TokenizerError>>()?)
    }

    /// Returns the exchanges of a record, if there are at least two.
    fn turns(&self, record: &Value) -> Option<Vec<Exchange>> {
        let messages = record.get("conversations")?.as_array()?;
        let text = |message: &Value| message.get("value")?.as_str().map(str::to_owned);
        let mut turns = Vec::new();
        let mut left = messages.as_slice();
        while let [human, answer, rest @ ..] = left {
            let is_human = human.get("from").is_some_and(|from| from == "human");
            match text(human).filter(|text| is_human && !text.is_empty()) {
                Some(user) => {
                    turns.push(Exchange { user, answer: text(answer).unwrap_or_default() });
                    left = rest;
                }
                None => left = &left[1..],
            }
        }
        turns.truncate(self.most.map_or(usize::MAX, |most| most.get() as usize));
        (turns.len() > 1).then_some(turns)
    }

    fn sample(
        &self,
        turns: &Exchange,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Sample, TokenizerError> {
        let prompt_tokens = tokenizer.count(&turns.user, SpecialTokens::Omit)?;
        let output_tokens = match self.output_tokens {
            Some(tokens) => tokens,
            None => tokenizer.count(&turns.answer, SpecialTokens::Omit)?.max(1),
        };
        Ok(Sample::new(turns.user.as_str(), prompt_tokens, output_tokens))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_turns(messages: &[(&str, &str)], most: Option<u32>, expected: &[&str]) {
        let message = |(from, value): &(&str, &str)| json!({"from": from, "value": value});
        let record = json!({"conversations": messages.iter().map(message).collect::<Value>()});
        let most = most.and_then(NonZero::new);
        let spec = ShareGptTurnsSpec { most, ..ShareGptTurnsSpec::default() };
        let turns = spec.turns(&record).unwrap_or_default();
        let users: Vec<&str> = turns.iter().map(|exchange| exchange.user.as_str()).collect();
        assert_eq!(users, expected);
    }

    #[test]
    fn every_human_who_is_answered_makes_a_turn() {
        let talk = [("human", "a"), ("gpt", "A"), ("human", "b"), ("gpt", "B"), ("human", "c")];
        check_turns(&talk, None, &["a", "b"]);
        check_turns(&[&[("system", "s")], talk.as_slice()].concat(), None, &["a", "b"]);
        check_turns(&talk, Some(1), &[]);
        let long = [&talk[..4], &talk[..4]].concat();
        check_turns(&long, Some(3), &["a", "b", "a"]);
        check_turns(&talk[..2], None, &[]);
    }
}
