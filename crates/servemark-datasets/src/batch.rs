//! Batches of prompts sent as one request: the inputs of SGLang's one-batch benchmark.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Prompt, Sample, SpecialTokens, Tokenizer,
    TokenizerError, parallel,
};

use crate::{DatasetName, DatasetSpec, Draw, PromptFormat, Summary, text_file};

/// Batches of prompts as token ids. One sample is a whole batch.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct BatchSpec {
    /// Number of prompts per batch.
    pub size: NonZero<u32>,
    /// Source of the prompts.
    pub source: BatchSource,
    /// How prompt lengths are adjusted.
    pub lengths: BatchLengths,
    /// Output length of every prompt, in tokens.
    pub output_tokens: u32,
}

/// Source of the prompts of a batch.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchSource {
    /// Prompts of another data set.
    Dataset(Box<DatasetSpec>),
    /// A file whose text is used for every prompt.
    File {
        /// Path of the text file.
        path: PathBuf,
        /// Whether the text is sent raw or rendered with the chat template.
        prompt_format: PromptFormat,
    },
}

/// How the prompts of a batch are adjusted in length. Exhaustive: these are the modes of SGLang's
/// benchmark.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchLengths {
    /// Prompts keep the length that they were drawn with.
    #[default]
    Drawn,
    /// Prompts are cut to this number of tokens; shorter prompts are left out.
    Cut(u32),
    /// Prompts are repeated or cut to these lengths in turn, starting anew with each batch.
    Each(Vec<u32>),
}

impl BatchSpec {
    /// Creates a spec for batches of another data set's prompts, with lengths as drawn.
    pub fn new(size: NonZero<u32>, dataset: DatasetSpec, output_tokens: u32) -> Self {
        let source = BatchSource::Dataset(Box::new(dataset));
        Self { size, source, lengths: BatchLengths::Drawn, output_tokens }
    }

    /// Draws `count` batches.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let size = self.size.get() as usize;
        let (prompts, mut draw) = self.prompts(count * size, context)?;
        let prompts = self.at_length(prompts);
        if prompts.len() < count * size {
            return Err(self.too_few(prompts.len(), count * size));
        }
        let batches = prompts.chunks_exact(size).take(count);
        draw.sessions = batches.map(|batch| self.sample(batch.to_vec()).into()).collect();
        Ok(draw)
    }

    fn sample(&self, prompts: Vec<Vec<u32>>) -> Sample {
        let tokens = prompts.iter().map(Vec::len).sum::<usize>();
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        Sample::new(Prompt::Batch(prompts), tokens, self.output_tokens)
    }

    fn prompts(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<(Vec<Vec<u32>>, Draw), DatasetError> {
        match &self.source {
            BatchSource::Dataset(dataset) => {
                let mut draw = dataset.draw(count, context)?;
                let samples = std::mem::take(&mut draw.sessions);
                let prompts: Vec<Prompt> =
                    samples.into_iter().map(|session| session.first.prompt).collect();
                let tokenizer = context.tokenizer;
                let encode = |prompt: &Prompt| ids_of(prompt, tokenizer);
                let ids = parallel::map("tokenizing prompts", &prompts, context.progress, encode);
                Ok((ids.into_iter().collect::<Result<_, _>>()?, draw))
            }
            BatchSource::File { path, prompt_format } => {
                let ids = of_file(path, *prompt_format, context.tokenizer)?;
                // SGLang prints no summary for a text file.
                let tokens = ids.len() as u64 * count as u64;
                let output = u64::from(self.output_tokens) * count as u64;
                let summary = Summary::from_totals(DatasetName::Custom, count, tokens, output);
                Ok((vec![ids; count], Draw::of([], summary.in_lines(String::new()))))
            }
        }
    }

    fn at_length(&self, prompts: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
        match &self.lengths {
            BatchLengths::Drawn => prompts,
            BatchLengths::Cut(length) => {
                let length = *length as usize;
                let long_enough = prompts.into_iter().filter(|ids| ids.len() >= length);
                long_enough.map(|ids| ids[..length].to_vec()).collect()
            }
            BatchLengths::Each(lengths) => {
                let size = self.size.get() as usize;
                let length = |place: usize| lengths[place % size % lengths.len()] as usize;
                let prompts = prompts.into_iter().enumerate();
                prompts
                    .map(|(place, ids)| ids.iter().copied().cycle().take(length(place)).collect())
                    .collect()
            }
        }
    }

    fn too_few(&self, found: usize, wanted: usize) -> DatasetError {
        let least = match self.lengths {
            BatchLengths::Cut(length) => format!(" of {length} tokens or more"),
            _ => String::new(),
        };
        let name = self.name();
        DatasetError::Settings(format!(
            "{name} produced only {found} usable prompts{least} for batch size {wanted}; use a \
             smaller batch size or a larger dataset"
        ))
    }

    /// Returns the name of the data set that the prompts come from.
    pub(crate) fn name(&self) -> DatasetName {
        match &self.source {
            BatchSource::Dataset(dataset) => dataset.name(),
            BatchSource::File { .. } => DatasetName::Custom,
        }
    }

    pub(crate) fn unfiled(&mut self) -> Option<(&'static str, &mut Option<PathBuf>)> {
        match &mut self.source {
            BatchSource::Dataset(dataset) => dataset.unfiled(),
            BatchSource::File { .. } => None,
        }
    }

    /// Returns whether the prompts are made of token ids, so that drawing them encodes no text.
    pub(crate) fn only_decodes(&self) -> bool {
        match &self.source {
            BatchSource::Dataset(dataset) => dataset.only_decodes() && dataset.sends_token_ids(),
            BatchSource::File { .. } => false,
        }
    }
}

fn ids_of(prompt: &Prompt, tokenizer: &dyn Tokenizer) -> Result<Vec<u32>, TokenizerError> {
    match prompt {
        Prompt::TokenIds(ids) => Ok(ids.clone()),
        prompt => tokenizer.encode(&prompt.text().unwrap_or_default(), SpecialTokens::Add),
    }
}

fn of_file(
    path: &Path,
    prompt_format: PromptFormat,
    tokenizer: &dyn Tokenizer,
) -> Result<Vec<u32>, DatasetError> {
    let text = text_file::read(path)?;
    if prompt_format == PromptFormat::Raw {
        return Ok(tokenizer.encode(&text, SpecialTokens::Add)?);
    }
    let mut message = JsonObject::new();
    message.insert("role".to_owned(), json!("user"));
    message.insert("content".to_owned(), json!(text));
    let rendered = tokenizer.apply_chat_template(&[message])?;
    Ok(tokenizer.encode(&rendered, SpecialTokens::Omit)?)
}

#[cfg(test)]
mod tests {
    use servemark_core::{NoProgress, Session};
    use servemark_rng::RandomState;
    use servemark_testkit::ByteTokenizer;

    use super::*;
    use crate::{PromptForm, RandomSpec, RangeRatio, Source};

    fn random(size: u32, length: u32) -> BatchSpec {
        let random = RandomSpec {
            source: Source::Vocabulary,
            form: PromptForm::TokenIds,
            input_tokens: length,
            range_ratio: RangeRatio::FIXED,
            ..RandomSpec::default()
        };
        BatchSpec::new(NonZero::new(size).unwrap(), DatasetSpec::Random(random), 3)
    }

    fn draw(spec: &BatchSpec, count: usize) -> Result<Vec<Session>, DatasetError> {
        let mut state = RandomState::seeded(42);
        let mut context = DrawContext::new(&ByteTokenizer, &mut state, &NoProgress);
        DatasetSpec::Batch(spec.clone()).draw(count, &mut context).map(|draw| draw.sessions)
    }

    fn lengths(session: &Session) -> Vec<usize> {
        let Prompt::Batch(prompts) = &session.first.prompt else { panic!("no batch") };
        prompts.iter().map(Vec::len).collect()
    }

    #[test]
    fn a_sample_is_a_whole_batch() {
        let sessions = draw(&random(3, 5), 2).unwrap();
        assert_eq!(sessions.iter().map(lengths).collect::<Vec<_>>(), [[5; 3]; 2]);
        let first = &sessions[0].first;
        assert_eq!((first.prompt_tokens, first.output_tokens), (15, 3));
    }

    #[test]
    fn lengths_may_be_others_than_drawn() {
        let mut spec = random(3, 5);
        spec.lengths = BatchLengths::Each(vec![2, 12]);
        assert_eq!(lengths(&draw(&spec, 1).unwrap()[0]), [2, 12, 2]);
        spec.lengths = BatchLengths::Cut(4);
        assert_eq!(lengths(&draw(&spec, 1).unwrap()[0]), [4; 3]);
        spec.lengths = BatchLengths::Cut(6);
        let error = draw(&spec, 1).unwrap_err().to_string();
        assert!(error.contains("only 0 usable prompts of 6 tokens or more"), "{error}");
    }

    #[test]
    fn a_file_is_every_prompt() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prompt.txt");
        std::fs::write(&path, "hello").unwrap();
        let mut spec = random(2, 5);
        spec.source = BatchSource::File { path, prompt_format: PromptFormat::Raw };
        assert_eq!(lengths(&draw(&spec, 1).unwrap()[0]), [5, 5]);
    }
}
