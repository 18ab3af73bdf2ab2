//! A text and its pictures as a request, with its tokens counted.

use serde_json::{Value, json};
use servemark_core::{
    DatasetError, ImageSize, JsonObject, Medium, Sample, SpecialTokens, Tokenizer, TokenizerError,
};

use crate::PromptFormat;

/// A text and the pictures that it is about.
pub(crate) struct Showing {
    pub(crate) text: String,
    pub(crate) pictures: Vec<(Medium, ImageSize)>,
    pub(crate) output_tokens: u32,
}

/// A request, and what a person should know of its count.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) sample: Sample,
    /// Why the prompt with pictures could not be rendered.
    unrendered: Option<String>,
    /// Whether the pictures' tokens are in the count.
    is_counted: bool,
}

impl Showing {
    /// The request. Its prompt's tokens are those of the rendered conversation, its text tokens
    /// those of the same conversation without pictures, and its vision tokens the rest, as with
    /// SGLang.
    pub(crate) fn count(
        self,
        format: PromptFormat,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Shown, DatasetError> {
        let (rendered, unrendered) = self.rendered(tokenizer);
        let text_tokens = self.text_tokens(tokenizer)?;
        let (images, sizes): (Vec<_>, Vec<_>) = self.pictures.into_iter().unzip();
        let counted = tokenizer.count_with_images(&rendered, &sizes)?;
        let prompt = match format {
            PromptFormat::Raw => self.text,
            PromptFormat::ChatTemplate => rendered,
        };
        let tokens = counted.unwrap_or(text_tokens);
        let mut sample = Sample::new(prompt, tokens, self.output_tokens);
        sample.text_tokens = text_tokens;
        sample.vision_tokens = tokens.saturating_sub(text_tokens);
        sample.media = images;
        Ok(Shown { sample, unrendered, is_counted: counted.is_some() })
    }

    /// The conversation as the model's template has it, else SGLang's makeshift, and why.
    fn rendered(&self, tokenizer: &dyn Tokenizer) -> (String, Option<String>) {
        let picture = json!({"type": "image", "image": {"url": ""}});
        let text = json!({"type": "text", "text": self.text});
        let content = vec![picture; self.pictures.len()].into_iter().chain([text]).collect();
        match render(Value::Array(content), tokenizer) {
            Ok(rendered) => (rendered, None),
            Err(error) => (format!("<image>{}", self.text), Some(error.to_string())),
        }
    }

    fn text_tokens(&self, tokenizer: &dyn Tokenizer) -> Result<u32, TokenizerError> {
        let rendered = render(json!(self.text), tokenizer);
        tokenizer.count(rendered.as_deref().unwrap_or(&self.text), SpecialTokens::Add)
    }
}

fn render(content: Value, tokenizer: &dyn Tokenizer) -> Result<String, TokenizerError> {
    let message =
        JsonObject::from_iter([("role".into(), json!("user")), ("content".into(), content)]);
    tokenizer.apply_chat_template(&[message])
}

/// What a person should know of the counts of a draw.
pub(crate) fn notices(shown: &[Shown]) -> Vec<String> {
    let unrendered = shown.iter().find_map(|shown| shown.unrendered.as_ref());
    let unrendered = unrendered.map(|why| {
        format!("The chat template takes no pictures ({why}); \"<image>\" stands for them.")
    });
    let is_uncounted = shown.iter().any(|shown| !shown.is_counted);
    let uncounted = is_uncounted.then(|| UNCOUNTED.to_owned());
    unrendered.into_iter().chain(uncounted).collect()
}

const UNCOUNTED: &str = "Vision tokens are not counted: the tokenizer's folder has no \
    preprocessor_config.json, or one of a processor whose rule is not built (Qwen2-VL, Qwen2.5-VL, \
    Qwen3-VL, LLaVA and Gemma 3 are). Input tokens are those of the text; the server's own count is in the \
    run log.";
