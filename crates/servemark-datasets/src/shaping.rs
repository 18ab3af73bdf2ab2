//! Conversion of exchanges to requests, shared by `sharegpt` and `custom`.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, TokenizerError,
    parallel,
};

use crate::SpecError;
use crate::conversations::Exchange;

/// Settings for selecting exchanges and converting them to requests.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Shaping {
    /// Output length of every request; without it, the length of the recorded answer.
    pub output_tokens: Option<FixedOutput>,
    /// Maximum number of prompt and output tokens together; longer exchanges are left out.
    pub context_tokens: Option<NonZero<u32>>,
    /// Suffix appended to every prompt, before `Assistant:`.
    pub prompt_suffix: String,
    /// Whether the prompt is raw text or a rendered conversation.
    pub prompt_format: PromptFormat,
}

/// Whether a prompt is rendered with the chat template. Exhaustive: it either is or is not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptFormat {
    /// The raw text.
    #[default]
    Raw,
    /// The text as the only user message, rendered with the model's chat template. The BOS token is
    /// removed, because the server adds it.
    ChatTemplate,
}

impl PromptFormat {
    /// Returns whether prompts are rendered with the chat template.
    pub(crate) fn is_rendered(self) -> bool {
        self == Self::ChatTemplate
    }
}

/// Output length of every request; at least 4 tokens, as in SGLang.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(into = "u32", try_from = "u32")]
pub struct FixedOutput(u32);

impl FixedOutput {
    /// Creates an output length, which must be at least 4 tokens.
    pub fn new(tokens: u32) -> Result<Self, SpecError> {
        if tokens < 4 { Err(SpecError::OutputTooSmall(tokens)) } else { Ok(Self(tokens)) }
    }

    /// Returns the number of tokens.
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
    /// Drops the answer of an exchange if its length is not needed.
    pub(crate) fn keep(&self, exchange: Exchange) -> Exchange {
        match self.output_tokens {
            Some(_) => Exchange { completion: String::new(), ..exchange },
            None => exchange,
        }
    }

    /// Shuffles the exchanges and returns the first `count` samples that fit.
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

/// Renders the prompt as the only user message, without the BOS token.
fn render(prompt: &str, tokenizer: &dyn Tokenizer) -> Result<String, TokenizerError> {
    let rendered = tokenizer.apply_chat_template(&[user_message(prompt)])?;
    Ok(match tokenizer.bos_token() {
        Some(bos) if !bos.is_empty() => rendered.replace(bos, ""),
        _ => rendered,
    })
}

/// Returns a chat message of the user.
pub(crate) fn user_message(text: &str) -> JsonObject {
    JsonObject::from_iter([("role".into(), json!("user")), ("content".into(), json!(text))])
}

/// Ending of completion-style prompts; a suffix is inserted before it.
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
