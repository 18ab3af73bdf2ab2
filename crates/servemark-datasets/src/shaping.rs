//! How an exchange becomes a request: what `sharegpt` and `custom` share.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, TokenizerError,
    parallel,
};

use crate::SpecError;
use crate::conversations::Exchange;

/// How an exchange becomes a request, and which exchanges do.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Shaping {
    /// The output length of every request; without it, that of the recorded answer.
    pub output_tokens: Option<FixedOutput>,
    /// The most tokens that prompt and output may have together; longer exchanges are left out.
    pub context_tokens: Option<NonZero<u32>>,
    /// Put at the end of every prompt, before `Assistant:`.
    pub prompt_suffix: String,
    /// Whether the prompt is a bare text or a rendered conversation.
    pub prompt_format: PromptFormat,
}

/// Whether a prompt is rendered. Closed: it is or it is not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptFormat {
    /// The text as it is.
    #[default]
    Raw,
    /// The text as a user's only message in the model's chat template, without the text that
    /// begins a sequence: the server adds it.
    ChatTemplate,
}

/// An output length for every request: 4 or more, as SGLang has it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(into = "u32", try_from = "u32")]
pub struct FixedOutput(u32);

impl FixedOutput {
    /// An output of so many tokens.
    pub fn new(tokens: u32) -> Result<Self, SpecError> {
        if tokens < 4 { Err(SpecError::OutputTooSmall(tokens)) } else { Ok(Self(tokens)) }
    }

    /// How many tokens.
    pub const fn tokens(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for FixedOutput {
    type Error = SpecError;

    fn try_from(tokens: u32) -> Result<Self, SpecError> {
        Self::new(tokens)
    }
}

impl From<FixedOutput> for u32 {
    fn from(output: FixedOutput) -> Self {
        output.0
    }
}

impl Shaping {
    /// What is needed of an exchange: the answer only where its length is.
    pub(crate) fn keep(&self, exchange: Exchange) -> Exchange {
        match self.output_tokens {
            Some(_) => Exchange { completion: String::new(), ..exchange },
            None => exchange,
        }
    }

    /// The first `count` samples that the shuffled exchanges give.
    pub(crate) fn draw(
        &self,
        mut exchanges: Vec<Exchange>,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        context.random.python.shuffle(&mut exchanges);
        let tokenizer = context.tokenizer;
        let sample = |exchange: &Exchange| self.sample(exchange, tokenizer);
        Ok(parallel::first("tokenizing prompts", &exchanges, count, context.progress, sample)?)
    }

    fn sample(
        &self,
        exchange: &Exchange,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Option<Sample>, TokenizerError> {
        let prompt = self.prompt(&exchange.prompt, tokenizer)?;
        let prompt_tokens = tokenizer.count(&prompt, SpecialTokens::Add)?;
        let output_tokens = match self.output_tokens {
            Some(fixed) => fixed.tokens(),
            None => tokenizer.count(&exchange.completion, SpecialTokens::Add)?,
        };
        let fits = self.fits(prompt_tokens, output_tokens);
        Ok(fits.then(|| Sample::new(prompt, prompt_tokens, output_tokens)))
    }

    fn prompt(&self, text: &str, tokenizer: &dyn Tokenizer) -> Result<String, TokenizerError> {
        let prompt = self.with_suffix(text);
        match self.prompt_format {
            PromptFormat::Raw => Ok(prompt),
            PromptFormat::ChatTemplate => render(&prompt, tokenizer),
        }
    }

    fn with_suffix(&self, text: &str) -> String {
        if self.prompt_suffix.is_empty() {
            return text.to_owned();
        }
        let text = text.strip_suffix(ASSISTANT).unwrap_or(text);
        [text, &self.prompt_suffix, ASSISTANT].concat()
    }

    fn fits(&self, prompt_tokens: u32, output_tokens: u32) -> bool {
        let total = prompt_tokens.saturating_add(output_tokens);
        let most = self.context_tokens.map_or(u32::MAX, NonZero::get);
        prompt_tokens >= 2 && output_tokens >= 2 && total <= most
    }
}

/// The prompt as a user's only message.
fn render(prompt: &str, tokenizer: &dyn Tokenizer) -> Result<String, TokenizerError> {
    let rendered = tokenizer.apply_chat_template(&[user_message(prompt)])?;
    Ok(match tokenizer.bos_token() {
        Some(bos) if !bos.is_empty() => rendered.replace(bos, ""),
        _ => rendered,
    })
}

/// What a user says, as a message of a chat.
pub(crate) fn user_message(text: &str) -> JsonObject {
    JsonObject::from_iter([("role".into(), json!("user")), ("content".into(), json!(text))])
}

/// What a prompt of the completion style ends with; a suffix goes before it.
const ASSISTANT: &str = "Assistant:";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn suffixed(suffix: &str, text: &str, expected: &str) {
        let shaping = Shaping { prompt_suffix: suffix.to_owned(), ..Shaping::default() };
        assert_eq!(shaping.with_suffix(text), expected);
    }

    #[test]
    fn a_suffix_goes_before_the_assistant() {
        suffixed("", "Why? Assistant:", "Why? Assistant:");
        suffixed(" Be brief. ", "Why? Assistant:", "Why?  Be brief. Assistant:");
        suffixed("\n", "Why?", "Why?\nAssistant:");
    }

    #[test]
    fn limits_include_their_bounds() {
        let context_tokens = NonZero::new(10);
        let shaping = Shaping { context_tokens, ..Shaping::default() };
        assert!(shaping.fits(2, 2) && shaping.fits(2, 8));
        assert!(!shaping.fits(1, 5) && !shaping.fits(5, 1) && !shaping.fits(3, 8));
        assert!(Shaping::default().fits(u32::MAX, u32::MAX));
    }

    #[test]
    fn an_output_of_three_tokens_is_refused() {
        assert_eq!(
            FixedOutput::new(3).unwrap_err().to_string(),
            "a fixed output of 3 tokens is too small; ask for 4 or more"
        );
        assert!(serde_json::from_str::<FixedOutput>("3").is_err());
        assert_eq!(FixedOutput::new(4).map(FixedOutput::tokens), Ok(4));
    }
}
