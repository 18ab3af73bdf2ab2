//! Prompts with audio from a file, one JSON object per line.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{
    Audio, DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, TokenizerError,
};

use super::PromptShape;
use super::custom::{CustomOutput, output_tokens};
use super::rows::{Choice, RowOrder, TooFewRows, no_file};
use crate::jsonl::Reader;
use crate::shaping::user_message;
use crate::sound::{Bare, Rewritten, Samples};
use crate::{PromptFormat, text_file};

/// Prompts with audio from a file. Rows have `audio` and `prompt`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmCustomAudioSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Source of the output lengths.
    pub output: CustomOutput,
    /// Whether a prompt is raw text, or rendered with the chat template if the model has one.
    /// Prompts for a chat route are raw.
    pub prompt_format: PromptFormat,
    /// Order in which prompts are sent.
    pub order: RowOrder,
    /// Handling of a file with too few rows.
    pub too_few: TooFewRows,
    /// Whether a chat message holds the audio as an encoded file, or, as vLLM's client has it
    /// without `--enable-multimodal-chat`, as the list of its samples.
    #[serde(skip_serializing_if = "PromptShape::is_text")]
    pub shape: PromptShape,
}

impl Default for VllmCustomAudioSpec {
    fn default() -> Self {
        Self {
            path: None,
            output: CustomOutput::Fixed(256),
            prompt_format: PromptFormat::ChatTemplate,
            order: RowOrder::default(),
            too_few: TooFewRows::default(),
            shape: PromptShape::default(),
        }
    }
}

/// The fields read from a line.
struct Row {
    line: usize,
    prompt: String,
    audio: Value,
    output_tokens: Option<Value>,
}

impl VllmCustomAudioSpec {
    /// Draws `count` prompts, or all if `count` is 0.
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let hint = "give a file with a JSON object with \"prompt\" and \"audio\" on each line";
        let path = self.path.as_deref().ok_or_else(|| no_file("custom_audio", hint))?;
        let reader = Reader { path, on_bad_line: None, limit: None };
        let rows = reader.read(|line, record| row(line, record).map(Some))?.rows;
        let tokenizer = context.tokenizer;
        let choice = Choice { order: self.order, too_few: self.too_few, count, seed };
        choice.samples(rows, "reading recordings", context, |row| self.sample(row, path, tokenizer))
    }

    fn sample(
        &self,
        row: &Row,
        path: &Path,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Sample, DatasetError> {
        let malformed = |reason| text_file::malformed(path, row.line, reason);
        let prompt = self.prompt(&row.prompt, tokenizer)?;
        let tokens = tokenizer.count(&prompt, SpecialTokens::Add)?;
        let output = output_tokens(self.output, row.output_tokens.as_ref());
        let sample = Sample::new(prompt, tokens, output.map_err(malformed)?);
        Ok(sample.with_audio(audio(&row.audio, self.shape).map_err(malformed)?))
    }

    /// Returns the prompt in the required format. Without a chat template, it is the raw text.
    fn prompt(&self, text: &str, tokenizer: &dyn Tokenizer) -> Result<String, TokenizerError> {
        if self.prompt_format == PromptFormat::Raw {
            return Ok(text.to_owned());
        }
        match tokenizer.apply_chat_template(&[user_message(text)]) {
            Err(TokenizerError::NoChatTemplate) => Ok(text.to_owned()),
            rendered => rendered,
        }
    }
}

fn row(line: usize, mut record: JsonObject) -> Result<Row, String> {
    let Some(Value::String(prompt)) = record.remove("prompt") else {
        return Err("\"prompt\" is not a string".to_owned());
    };
    let audio = record.remove("audio").ok_or("it has no \"audio\"")?;
    Ok(Row { line, prompt, audio, output_tokens: record.remove("output_tokens") })
}

/// Creates audio from a file path, or from samples with their rate.
fn audio(audio: &Value, shape: PromptShape) -> Result<Audio, String> {
    if let Some(path) = audio.as_str() {
        let sound = Rewritten::path(Path::new(path)).map(Audio::new);
        let sound = sound.map_err(|why| format!("an audio file cannot be read: {why}"))?;
        return Ok(if shape.is_text() { Bare::without_part(sound) } else { sound });
    }
    let samples = audio["array"].as_array().zip(audio["sampling_rate"].as_u64());
    let (listed, rate) = samples
        .ok_or("\"audio\" is neither the path of a file nor \"array\" and \"sampling_rate\"")?;
    let floats: Option<Vec<f64>> = listed.iter().map(Value::as_f64).collect();
    let floats = floats.ok_or("a sample of \"array\" is not a number")?;
    let part = json!([listed.iter().map(as_pandas_reads).collect::<Vec<_>>(), rate]);
    let rate = u32::try_from(rate).map_err(|_| "the \"sampling_rate\" is too high")?;
    let sound = Audio::new(Rewritten::samples(Samples::of_floats(&floats, rate)));
    if !shape.is_text() {
        return Ok(sound);
    }
    Ok(Bare::with_part(sound, "audio", part))
}

/// Returns a number of a file as pandas reads it: its decimals as a whole number times a power of
/// ten, which is not always the nearest float.
fn as_pandas_reads(number: &Value) -> Value {
    let text = number.to_string();
    let Some((whole, decimals)) = text.split_once('.').filter(|_| !text.contains('e')) else {
        return number.clone();
    };
    let size = |digits: &str| digits.trim_start_matches('-').parse::<f64>();
    let (Ok(whole), Ok(part), Some(scale)) =
        (size(whole), size(decimals), TENTHS.get(decimals.len()))
    else {
        return number.clone();
    };
    let read = whole + part * scale;
    json!(if text.starts_with('-') { -read } else { read })
}

/// Negative powers of ten up to the number of decimals that pandas reads so.
const TENTHS: [f64; 16] = [
    1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_as_by_pandas() {
        let read = |number: f64| as_pandas_reads(&json!(number)).to_string();
        assert_eq!(read(0.4327), "0.43270000000000003");
        assert_eq!(
            [read(0.1139), read(-0.25), read(0.0), read(2e-9)],
            ["0.1139", "-0.25", "0.0", "2e-9"]
        );
        assert_eq!(as_pandas_reads(&json!(3)), json!(3));
    }
}
