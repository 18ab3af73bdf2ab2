//! Requests of a text with images, with their tokens counted.

use serde_json::{Value, json};
use servemark_core::{
    DatasetError, ImageSize, JsonObject, Medium, Sample, SpecialTokens, Tokenizer, TokenizerError,
};

use crate::PromptFormat;

/// A text with its images.
pub(crate) struct TextWithImages {
    pub(crate) text: String,
    pub(crate) pictures: Vec<(Medium, ImageSize)>,
    pub(crate) output_tokens: u32,
}

/// A request, with notices on how its tokens were counted.
#[derive(Debug)]
pub(crate) struct ImageSample {
    pub(crate) sample: Sample,
    /// Why the prompt with images could not be rendered.
    unrendered: Option<String>,
    /// Whether the images' tokens are counted.
    is_counted: bool,
}

impl TextWithImages {
    /// Builds the request. As in SGLang, prompt tokens are those of the rendered conversation, text
    /// tokens are those of the conversation rendered without images, and vision tokens are the
    /// difference.
    pub(crate) fn count(
        self,
        format: PromptFormat,
        tokenizer: &dyn Tokenizer,
    ) -> Result<ImageSample, DatasetError> {
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
        Ok(ImageSample { sample, unrendered, is_counted: counted.is_some() })
    }

    /// Returns the conversation rendered with the chat template, or SGLang's fallback text and the
    /// reason for it.
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

/// Returns the notices on how the tokens of a draw were counted.
pub(crate) fn notices(samples: &[ImageSample]) -> Vec<String> {
    let unrendered = samples.iter().find_map(|sample| sample.unrendered.as_ref());
    let unrendered = unrendered.map(|why| {
        format!("The chat template accepts no images ({why}); \"<image>\" is sent in their place.")
    });
    let is_uncounted = samples.iter().any(|samples| !samples.is_counted);
    let uncounted = is_uncounted.then(|| UNCOUNTED.to_owned());
    unrendered.into_iter().chain(uncounted).collect()
}

const UNCOUNTED: &str = "Vision tokens are not counted: the tokenizer's folder has no \
    preprocessor_config.json, or its processor is not supported (Qwen2-VL, Qwen2.5-VL, Qwen3-VL, \
    LLaVA and Gemma 3 are). Input tokens are those of the text; the run log has the server's own \
    count.";
