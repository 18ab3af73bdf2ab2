//! Prompts cut out of a plain text.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, Progress, SpecialTokens, Tokenizer, TokenizerError, parallel};
use servemark_pyjson::Text;
use servemark_rng::{Pcg64, PythonRandom};

use super::VllmLengths;
use crate::text_file;

/// Prompts cut out of a text from random positions, as
/// `vllm.benchmarks.datasets.create_txt_slices_dataset` does for the data set `custom`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TextSlicesSpec {
    /// Path of the text file.
    pub path: PathBuf,
    /// Lengths of prompts and outputs.
    #[serde(default)]
    pub lengths: VllmLengths,
    /// Seed of the positions and lengths.
    #[serde(default)]
    pub seed: u32,
}

/// A prompt cut out of a text.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TextSlice {
    /// Text of the prompt.
    pub prompt: String,
    /// Requested output length, in tokens.
    pub output_tokens: u32,
}

impl TextSlice {
    /// Returns the slice as a JSON line for the data set `custom`, in the converter's format.
    pub fn line(&self) -> serde_json::Result<String> {
        servemark_pyjson::to_string(self, Text::Unicode).map(|json| json + "\n")
    }
}

impl TextSlicesSpec {
    /// Creates a spec for slices of the text at `path`, with default lengths and seed 0.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), lengths: VllmLengths::default(), seed: 0 }
    }

    /// Cuts `count` slices. The text wraps around at its end.
    pub fn cut(
        &self,
        count: usize,
        tokenizer: &dyn Tokenizer,
        progress: &dyn Progress,
    ) -> Result<Vec<TextSlice>, DatasetError> {
        // Python converts every line ending to `\n` when it reads a text.
        let text = text_file::read(&self.path)?.replace("\r\n", "\n").replace('\r', "\n");
        let ids = tokenizer.encode(&text, SpecialTokens::Omit)?;
        if ids.is_empty() {
            let reason = format!("{} has no text to cut", self.path.display());
            return Err(DatasetError::Nothing { reason });
        }
        let drawn = self.lengths.draw(count, tokenizer, &mut Pcg64::seeded(self.seed.into()))?;
        let mut random = PythonRandom::seeded(self.seed.into());
        let mut start = || random.randbelow(ids.len() as u64).unwrap_or_default() as usize;
        let rows: Vec<_> = drawn.into_iter().map(|row| (start(), row)).collect();
        let slices = parallel::map("making prompts", &rows, progress, |(start, row)| {
            let slice = ids.iter().copied().cycle().skip(*start).take(row.input_tokens);
            let prompt = tokenizer.decode(&slice.collect::<Vec<_>>())?;
            Ok(TextSlice { prompt, output_tokens: row.output_tokens })
        });
        Ok(slices.into_iter().collect::<Result<_, TokenizerError>>()?)
    }
}
