//! Prompts of drawn lengths with randomly drawn images.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::{DatasetError, DrawContext, ImageSize, Medium, Prompt};

use super::EvalscopeRandomSpec;
use super::drawing::{Drawing, EvalscopePictureMode};
use crate::evalscope::{EvalscopeSpec, RequestDraft};

/// Prompts of drawn lengths with randomly drawn images.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeRandomVlSpec {
    /// Number of tokens in the common prefix, in addition to each prompt's own tokens
    /// (`--prefix-length`).
    pub prefix_tokens: u32,
    /// Number of images per request (`--image-num`).
    pub images: NonZero<u32>,
    /// Image width in pixels (`--image-width`).
    pub width: NonZero<u32>,
    /// Image height in pixels (`--image-height`).
    pub height: NonZero<u32>,
    /// Colour mode of the images (`--image-format`).
    pub mode: EvalscopePictureMode,
}

impl Default for EvalscopeRandomVlSpec {
    fn default() -> Self {
        const SIDE: NonZero<u32> = NonZero::new(224).expect("a picture has pixels");
        Self {
            prefix_tokens: 0,
            images: NonZero::<u32>::MIN,
            width: SIDE,
            height: SIDE,
            mode: EvalscopePictureMode::default(),
        }
    }
}

impl EvalscopeRandomVlSpec {
    /// Makes the prompts of `random`, each followed by images.
    pub(in crate::evalscope) fn ask(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let text = EvalscopeRandomSpec { prefix_tokens: self.prefix_tokens, ..Default::default() };
        let mut drafts = text.ask(of, count, context)?;
        let size = ImageSize { width: self.width.get(), height: self.height.get() };
        for one in &mut drafts {
            one.prompt = self.message(&one.prompt);
            let python = &mut context.random.python;
            let picture = |_| Medium::image(Drawing::draw(size, self.mode, python));
            one.media = (0..self.images.get()).map(picture).collect();
        }
        Ok(drafts)
    }

    /// Builds a message from a text and the placeholders of its images. evalscope treats a plain
    /// text as a list of messages and sends only its first character.
    fn message(&self, prompt: &Prompt) -> Prompt {
        let turns = match prompt {
            Prompt::Messages(messages) => messages[0]["content"].clone(),
            prompt => json!(prompt.text().and_then(|text| text.chars().next())),
        };
        let mut parts = vec![json!({"type": "text", "text": turns})];
        parts.extend((0..self.images.get()).map(|_| json!({"type": "image_url", "image_url": {}})));
        let message = [("role".to_owned(), json!("user")), ("content".to_owned(), parts.into())];
        Prompt::Messages(vec![message.into_iter().collect()])
    }
}
