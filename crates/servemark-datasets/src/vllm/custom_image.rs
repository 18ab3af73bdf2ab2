//! Prompts with images from a file, one JSON object per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Medium, MediumKind, Sample, SpecialTokens, Tokenizer,
};

use super::media::PictureReader;
use super::rows::{Choice, RowOrder, TooFewRows, no_file};
use super::shape::{PromptShape, message, place, shape};
use crate::jsonl::Reader;

/// Prompts with images from a file. A row has `prompt` and `image_files`, or `content` with
/// interleaved texts and images.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmCustomImageSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Output length of every request, in tokens.
    pub output_tokens: u32,
    /// Component that reads the images.
    pub pictures: PictureReader,
    /// Whether a prompt is a text or a message. A row with interleaved images is always a message.
    pub shape: PromptShape,
    /// Order in which prompts are sent.
    pub order: RowOrder,
    /// Handling of a file with too few rows.
    pub too_few: TooFewRows,
}

impl Default for VllmCustomImageSpec {
    fn default() -> Self {
        Self {
            path: None,
            output_tokens: 256,
            pictures: PictureReader::default(),
            shape: PromptShape::default(),
            order: RowOrder::default(),
            too_few: TooFewRows::default(),
        }
    }
}

/// The content of a line.
struct Row {
    text: String,
    /// Parts of the user message, if images are interleaved with texts.
    parts: Option<Vec<Value>>,
    media: Vec<Medium>,
}

impl VllmCustomImageSpec {
    /// Draws `count` prompts, or all if `count` is 0.
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let hint = "give a file with a JSON object with \"prompt\" and \"image_files\", or with \
                    \"content\", on each line";
        let path = self.path.as_deref().ok_or_else(|| no_file("custom_image", hint))?;
        let reader = Reader { path, on_bad_line: None, limit: None };
        let rows = reader.read(|_, record| self.row(&record).map(Some))?.rows;
        let tokenizer = context.tokenizer;
        let choice = Choice { order: self.order, too_few: self.too_few, count, seed };
        choice.samples(rows, "tokenizing prompts", context, |row| self.sample(row, tokenizer))
    }

    fn row(&self, record: &JsonObject) -> Result<Row, String> {
        match (record.get("content"), record.get("prompt"), record.get("image_files")) {
            (Some(content), ..) => self.between(content),
            (None, Some(prompt), Some(files)) => self.beside(prompt, files),
            _ => Err("it has neither \"content\" nor \"prompt\" and \"image_files\"".to_owned()),
        }
    }

    /// Parses a text with a list of images.
    fn beside(&self, prompt: &Value, files: &Value) -> Result<Row, String> {
        let text = prompt.as_str().ok_or("\"prompt\" is not a string")?.to_owned();
        let files = files.as_array().filter(|files| !files.is_empty());
        let files = files.ok_or("\"image_files\" is not a list of files")?;
        let place = |file: &Value| {
            let place =
                file.as_str().ok_or("one of \"image_files\" is not the path or URL of a file")?;
            self.pictures.picture(place)
        };
        let media = files.iter().map(place).collect::<Result<_, String>>()?;
        Ok(Row { text, parts: None, media })
    }

    /// Parses interleaved texts and images.
    fn between(&self, content: &Value) -> Result<Row, String> {
        let given = content.as_array().filter(|parts| !parts.is_empty());
        let given = given.ok_or("\"content\" is not a list of texts and images")?;
        let mut row = Row { text: String::new(), parts: None, media: Vec::new() };
        let parts = given.iter().map(|part| self.part(part, &mut row));
        let parts = parts.collect::<Result<_, String>>()?;
        row.parts = Some(parts);
        Ok(row)
    }

    fn part(&self, part: &Value, row: &mut Row) -> Result<Value, String> {
        match part["type"].as_str() {
            Some("text") => {
                let text = part["text"].as_str().ok_or("a part of text has no \"text\"")?;
                row.text.push_str(text);
                Ok(json!({"type": "text", "text": text}))
            }
            Some("image") => {
                let place = part["image"]
                    .as_str()
                    .ok_or("an \"image\" is not the path or URL of a file")?;
                self.image_part(place, row)
            }
            Some("image_url") => {
                let url = &part["image_url"];
                let place = url.as_str().or_else(|| url["url"].as_str());
                let mut shown =
                    self.image_part(place.ok_or("an \"image_url\" has no \"url\"")?, row)?;
                let others = url.as_object().into_iter().flatten().filter(|(key, _)| *key != "url");
                for (key, value) in others {
                    shown["image_url"][key] = value.clone();
                }
                Ok(shown)
            }
            _ => Err("a part of \"content\" is neither text, image nor image_url".to_owned()),
        }
    }

    fn image_part(&self, picture: &str, row: &mut Row) -> Result<Value, String> {
        row.media.push(self.pictures.picture(picture)?);
        Ok(place(MediumKind::Image))
    }

    fn sample(&self, row: &Row, tokenizer: &dyn Tokenizer) -> Result<Sample, DatasetError> {
        let tokens = tokenizer.count(&row.text, SpecialTokens::Add)?;
        let mut sample = match &row.parts {
            Some(parts) => Sample::new(message(parts), tokens, self.output_tokens),
            None => Sample::new(row.text.as_str(), tokens, self.output_tokens),
        };
        sample.media.clone_from(&row.media);
        Ok(shape(sample, self.shape))
    }
}
