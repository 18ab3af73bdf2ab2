//! One data set with its settings, as a plan stores it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{Dataset, DatasetError, DrawContext, Session, TokenizerError};

use crate::{
    AgenticTraceSpec, AisbenchSpec, BatchSource, BatchSpec, CustomSpec, DatasetName, Draw,
    EvalscopeSpec, ImageSpec, LongBenchSpec, MmmuSpec, MooncakeSpec, OpenaiSpec, PromptForm,
    PromptFormat, ProvidedDatasetSpec, RandomSpec, ShareGptSpec, SharedPrefixSpec, Source,
    SpeedBenchSpec, TraceFormat, TraceSpec, VllmSpec,
};

/// One data set with its settings.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "dataset", rename_all = "snake_case")]
pub enum DatasetSpec {
    /// Recorded agent conversations.
    AgenticTrace(AgenticTraceSpec),
    /// A data set of AISBench.
    Aisbench(AisbenchSpec),
    /// Prompts of another data set, sent as one request.
    Batch(BatchSpec),
    /// Conversations from a file with one JSON object per line.
    Custom(CustomSpec),
    /// Groups of prompts with a common prefix.
    GeneratedSharedPrefix(SharedPrefixSpec),
    /// Multiple-choice questions about long texts.
    #[serde(rename = "longbench_v2")]
    LongBenchV2(LongBenchSpec),
    /// Random text with generated images.
    Image(ImageSpec),
    /// MMMU questions, each with its image.
    Mmmu(MmmuSpec),
    /// A Mooncake trace: request lengths and shared prompt beginnings.
    Mooncake(MooncakeSpec),
    /// Complete chat requests, one JSON object per line.
    Openai(OpenaiSpec),
    /// A data set that the program supplies.
    Provided(ProvidedDatasetSpec),
    /// Prompts of drawn lengths: SGLang's `random` and `random-ids`.
    Random(RandomSpec),
    /// ShareGPT's conversations, one JSON array.
    Sharegpt(ShareGptSpec),
    /// SPEED-Bench's prompts, grouped by how predictable their answers are.
    SpeedBench(SpeedBenchSpec),
    /// A recorded trace of a production system, in one of several formats.
    Trace(TraceSpec),
    /// A data set of vLLM.
    Vllm(VllmSpec),
    /// A data set of evalscope.
    Evalscope(EvalscopeSpec),
}

impl DatasetSpec {
    /// Returns a [`Dataset`] that draws samples only. [`draw`](Self::draw) returns a summary and
    /// notices too.
    pub fn build(&self) -> Box<dyn Dataset> {
        Box::new(Samples { spec: self.clone() })
    }

    /// Draws up to `count` samples from the run's random state.
    ///
    /// Fewer samples than requested are not an error, as in SGLang; no samples at all are.
    pub fn draw(&self, count: usize, context: &mut DrawContext<'_>) -> Result<Draw, DatasetError> {
        let draw = match self {
            Self::AgenticTrace(spec) => spec.draw(count, context),
            Self::Aisbench(spec) => spec.draw(count, context),
            Self::Batch(spec) => spec.draw(count, context),
            Self::Custom(spec) => spec.draw(count, context),
            Self::GeneratedSharedPrefix(spec) => spec.draw(context),
            Self::LongBenchV2(spec) => spec.draw(count, context),
            Self::Image(spec) => spec.draw(count, context),
            Self::Mmmu(spec) => spec.draw(count, context),
            Self::Mooncake(spec) => spec.draw(count, context),
            Self::Openai(spec) => spec.draw(count, context),
            Self::Provided(spec) => Err(spec.missing()),
            Self::Random(spec) => spec.draw(count, context),
            Self::Sharegpt(spec) => spec.draw(count, context),
            Self::SpeedBench(spec) => spec.draw(count, context),
            Self::Trace(spec) => spec.draw(count, context),
            Self::Vllm(spec) => spec.draw(count, context),
            Self::Evalscope(spec) => spec.draw(count, context),
        }?;
        if draw.sessions.is_empty() { Err(self.nothing(count, &draw)) } else { Ok(draw) }
    }

    /// Advances the random state as [`draw`](Self::draw) does, for a later run that continues from
    /// it. Content that is expensive and draws nothing may be missing from the returned sessions.
    pub fn advance(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        match self {
            Self::Evalscope(spec) => spec.advance(count, context),
            spec => Ok(spec.draw(count, context)?.sessions),
        }
    }

    /// Returns whether the data set holds conversations, which require a chat route.
    pub fn is_conversation(&self) -> bool {
        match self {
            Self::AgenticTrace(_)
            | Self::Openai(_)
            | Self::Trace(TraceSpec { format: TraceFormat::Otel, .. }) => true,
            Self::Aisbench(spec) => spec.is_multi_turn(),
            Self::GeneratedSharedPrefix(spec) => spec.turns.get() > 1,
            Self::Vllm(spec) => spec.is_multi_turn(),
            Self::Evalscope(spec) => spec.is_multi_turn(),
            _ => false,
        }
    }

    /// Returns whether the sessions are conversations in a peer's tables, even with a single turn.
    pub fn converses(&self) -> bool {
        matches!(self, Self::Evalscope(spec) if spec.is_multi_turn())
    }

    /// Returns whether a session may have more than one turn.
    pub fn is_multi_turn(&self) -> bool {
        match self {
            Self::AgenticTrace(_) => true,
            Self::Aisbench(spec) => spec.is_multi_turn(),
            Self::GeneratedSharedPrefix(spec) => spec.turns.get() > 1,
            Self::Vllm(spec) => spec.is_multi_turn(),
            Self::Evalscope(spec) => spec.is_multi_turn(),
            _ => false,
        }
    }

    /// Returns whether a request count of zero means all requests of the data set.
    pub fn zero_means_all(&self) -> bool {
        match self {
            Self::Aisbench(_) => true,
            Self::Vllm(spec) => spec.is_custom(),
            Self::Evalscope(spec) => spec.zero_means_all(),
            _ => self.name().zero_means_all(),
        }
    }

    /// Returns whether prompts are sent as token ids.
    pub fn sends_token_ids(&self) -> bool {
        let form = match self {
            Self::GeneratedSharedPrefix(spec) => spec.form,
            Self::Random(spec) => spec.form,
            Self::Batch(_) => PromptForm::TokenIds,
            Self::Vllm(spec) if spec.sends_token_ids() => PromptForm::TokenIds,
            _ => PromptForm::Text,
        };
        form == PromptForm::TokenIds
    }

    /// Returns how the text is sent if requests have images, else `None`.
    pub fn pictured(&self) -> Option<PromptFormat> {
        match self {
            Self::Image(spec) => Some(spec.prompt_format),
            Self::Mmmu(spec) => Some(spec.prompt_format),
            _ => None,
        }
    }

    /// Returns whether the requested count determines the number of sessions. It does not for
    /// shared prefixes, whose groups determine it.
    pub fn counts_requests(&self) -> bool {
        !matches!(self, Self::GeneratedSharedPrefix(_))
    }

    /// Returns the error for a draw without samples, with the reason and a hint.
    fn nothing(&self, count: usize, draw: &Draw) -> DatasetError {
        let why = match self {
            Self::GeneratedSharedPrefix(_) => "it has no group",
            Self::Openai(_) => "no line that was read has \"messages\"",
            Self::AgenticTrace(_) => "no conversation of the file has a turn with messages",
            Self::Evalscope(_) => "no prompt is within the length bounds",
            Self::Vllm(spec) if count > 0 || spec.is_custom() => "no row of the file can be sent",
            _ if count == 0 => "no request was asked for (`workload.requests`)",
            Self::LongBenchV2(_) => {
                "no question fits the context; is `workload.dataset.context_tokens` too small?"
            }
            Self::Batch(_) | Self::Image(_) => "it drew no sample",
            Self::Mmmu(_) => "no row has a readable image in image_1",
            Self::Aisbench(_) => "no row of the file can be sent",
            Self::Mooncake(_) | Self::Trace(_) | Self::Vllm(_) => "the trace has no requests",
            Self::Provided(_) => "it has no session",
            Self::Random(_) => "every prompt of the file is empty",
            Self::SpeedBench(spec) => spec.nothing(),
            Self::Custom(_) | Self::Sharegpt(_) => {
                "no conversation has two turns of two tokens or more that fit the context; is \
                 `workload.dataset.context_tokens` too small?"
            }
        };
        let skipped = draw.skipped.as_ref().map(ToString::to_string);
        let words = [why.to_owned()].into_iter().chain(skipped).chain(draw.notices.clone());
        DatasetError::Nothing { reason: words.collect::<Vec<_>>().join("; ") }
    }

    /// Returns the published name of a data set that has no file set, and the field that takes the
    /// file's path. Returns `None` if a file is set or the data set is not published.
    pub fn missing_path(&mut self) -> Option<(&'static str, &mut Option<PathBuf>)> {
        let (name, path) = match self {
            Self::Random(RandomSpec { source: Source::Sharegpt { path }, .. }) => ("random", path),
            Self::LongBenchV2(LongBenchSpec { path, .. }) => ("longbench_v2", path),
            Self::Sharegpt(ShareGptSpec { path, .. }) => ("sharegpt", path),
            Self::Mmmu(MmmuSpec { path, .. }) => ("mmmu", path),
            Self::Mooncake(MooncakeSpec { path, workload, .. }) if !workload.is_here() => {
                (workload.published(), path)
            }
            Self::Evalscope(spec) => spec.missing_path()?,
            Self::Batch(spec) => return spec.missing_path(),
            _ => return None,
        };
        path.is_none().then_some((name, path))
    }

    /// Returns whether sessions have recorded start times that can be replayed.
    pub fn has_timestamps(&self) -> bool {
        match self {
            // Each session has its own start time.
            Self::Mooncake(_) | Self::Provided(_) | Self::Trace(_) => true,
            Self::Aisbench(spec) => spec.has_timestamps(),
            Self::Vllm(spec) => spec.has_timestamps(),
            Self::Evalscope(spec) => spec.has_timestamps(),
            _ => false,
        }
    }

    /// Returns whether the prompts are made of token ids, so that drawing them encodes no text.
    pub fn only_decodes(&self) -> bool {
        match self {
            Self::Batch(spec) => spec.only_decodes(),
            _ => matches!(self, Self::Random(RandomSpec { source: Source::Vocabulary, .. })),
        }
    }

    /// Returns the error of a draw with a tokenizer that has no chat template; `None` if prompts
    /// can be drawn without one. Some data sets ask for a template only for some of their rows,
    /// which are not read here.
    pub fn without_chat_template(&self) -> Option<DatasetError> {
        let needs_one = match self {
            Self::Openai(_) => return Some(OpenaiSpec::without_chat_template()),
            Self::Batch(spec) => match &spec.source {
                BatchSource::Dataset(dataset) => return dataset.without_chat_template(),
                BatchSource::File { prompt_format, .. } => prompt_format.is_rendered(),
            },
            Self::Custom(spec) => spec.shaping.prompt_format.is_rendered(),
            Self::Sharegpt(spec) => spec.shaping.prompt_format.is_rendered(),
            Self::Evalscope(spec) => spec.needs_chat_template(),
            Self::Vllm(spec) => spec.needs_chat_template(),
            _ => false,
        };
        needs_one.then(|| TokenizerError::NoChatTemplate.into())
    }

    /// Returns the data set's name in reports.
    pub fn label(&self) -> &str {
        match self {
            Self::Provided(spec) => &spec.name,
            _ => self.name().as_str(),
        }
    }

    /// Returns the data set's name.
    pub fn name(&self) -> DatasetName {
        match self {
            Self::AgenticTrace(_) => DatasetName::AgenticTrace,
            Self::Aisbench(_) => DatasetName::Aisbench,
            Self::Batch(spec) => spec.name(),
            Self::Custom(_) => DatasetName::Custom,
            Self::GeneratedSharedPrefix(_) => DatasetName::GeneratedSharedPrefix,
            Self::LongBenchV2(_) => DatasetName::LongBenchV2,
            Self::Image(_) => DatasetName::Image,
            Self::Mmmu(_) => DatasetName::Mmmu,
            Self::Mooncake(_) => DatasetName::Mooncake,
            Self::Openai(_) => DatasetName::Openai,
            Self::Provided(_) => DatasetName::Provided,
            Self::Random(RandomSpec { source: Source::Vocabulary, .. }) => DatasetName::RandomIds,
            Self::Random(_) => DatasetName::Random,
            Self::Sharegpt(_) => DatasetName::Sharegpt,
            Self::SpeedBench(_) => DatasetName::SpeedBench,
            Self::Trace(spec) => spec.format.name(),
            Self::Vllm(spec) => spec.name(),
            Self::Evalscope(spec) => spec.name(),
        }
    }
}

/// Adapter of a spec to core's [`Dataset`] trait.
#[derive(Debug)]
struct Samples {
    spec: DatasetSpec,
}

impl Dataset for Samples {
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        self.spec.draw(count, context).map(|draw| draw.sessions)
    }
}
