//! One data set with its knobs, as a plan stores it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{Dataset, DatasetError, DrawContext, Session};

use crate::{
    AgenticTraceSpec, AisbenchSpec, BatchSpec, CustomSpec, DatasetName, Draw, EvalscopeData,
    EvalscopeSpec, ImageSpec, LongBenchSpec, MmmuSpec, MooncakeSpec, OpenaiSpec, PromptForm,
    PromptFormat, RandomSpec, ShareGptSpec, SharedPrefixSpec, Source, SpeedBenchSpec, TraceFormat,
    TraceSpec, VllmData, VllmSpec,
};

/// One data set with its knobs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "dataset", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DatasetSpec {
    /// Recorded conversations of agents.
    AgenticTrace(AgenticTraceSpec),
    /// A data set as AISBench has it.
    Aisbench(AisbenchSpec),
    /// Prompts of another data set that travel as one request.
    Batch(BatchSpec),
    /// Conversations, one JSON object a line.
    Custom(CustomSpec),
    /// Groups of prompts that begin alike.
    GeneratedSharedPrefix(SharedPrefixSpec),
    /// Questions about long texts.
    #[serde(rename = "longbench_v2")]
    LongBenchV2(LongBenchSpec),
    /// Random text and drawn pictures.
    Image(ImageSpec),
    /// Questions of MMMU, each with its picture.
    Mmmu(MmmuSpec),
    /// Mooncake's traces: lengths, and which prompts begin alike.
    Mooncake(MooncakeSpec),
    /// Whole chat requests, one JSON object a line.
    Openai(OpenaiSpec),
    /// Prompts of drawn lengths: SGLang's `random` and `random-ids`.
    Random(RandomSpec),
    /// ShareGPT's conversations, one JSON array.
    Sharegpt(ShareGptSpec),
    /// Prompts by how predictable their answers are.
    SpeedBench(SpeedBenchSpec),
    /// What others once served, in one of several formats.
    Trace(TraceSpec),
    /// A data set as vLLM has it.
    Vllm(VllmSpec),
    /// A data set as evalscope has it.
    Evalscope(EvalscopeSpec),
}

impl DatasetSpec {
    /// A data set that draws samples and gives nothing else. [`draw`](Self::draw) gives more.
    pub fn build(&self) -> Box<dyn Dataset> {
        Box::new(Samples { spec: self.clone() })
    }

    /// Draws up to `count` samples from the run's own random state.
    ///
    /// Fewer samples than asked for are no error, because they are none to SGLang; none at all
    /// are.
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
            Self::Random(spec) => spec.draw(count, context),
            Self::Sharegpt(spec) => spec.draw(count, context),
            Self::SpeedBench(spec) => spec.draw(count, context),
            Self::Trace(spec) => spec.draw(count, context),
            Self::Vllm(spec) => spec.draw(count, context),
            Self::Evalscope(spec) => spec.draw(count, context),
        }?;
        if draw.sessions.is_empty() { Err(self.nothing(count, &draw)) } else { Ok(draw) }
    }

    /// Draws as much, for a run that comes later from the same random state: what costs time and
    /// draws nothing may be left out of these sessions.
    pub fn pass_over(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        match self {
            Self::Evalscope(spec) => spec.pass_over(count, context),
            spec => Ok(spec.draw(count, context)?.sessions),
        }
    }

    /// Whether it holds conversations, which only a route for chats takes.
    pub fn is_conversation(&self) -> bool {
        match self {
            Self::AgenticTrace(_)
            | Self::Openai(_)
            | Self::Trace(TraceSpec { format: TraceFormat::Otel, .. }) => true,
            Self::Aisbench(spec) => spec.is_multi_turn(),
            Self::GeneratedSharedPrefix(spec) => spec.turns.get() > 1,
            Self::Vllm(spec) => matches!(spec.data, VllmData::Conversations(_)),
            Self::Evalscope(spec) => spec.is_multi_turn(),
            _ => false,
        }
    }

    /// Whether a session may have more than one turn.
    pub fn is_multi_turn(&self) -> bool {
        match self {
            Self::AgenticTrace(_) => true,
            Self::Aisbench(spec) => spec.is_multi_turn(),
            Self::GeneratedSharedPrefix(spec) => spec.turns.get() > 1,
            Self::Vllm(spec) => matches!(spec.data, VllmData::Conversations(_)),
            Self::Evalscope(spec) => spec.is_multi_turn(),
            _ => false,
        }
    }

    /// Whether to ask for no request is to ask for all there are.
    pub fn zero_means_all(&self) -> bool {
        match self {
            Self::Aisbench(_) => true,
            Self::Vllm(spec) => spec.is_custom(),
            Self::Evalscope(spec) => spec.data.takes_all(0),
            _ => self.name().zero_means_all(),
        }
    }

    /// Whether its prompts are sent as token ids.
    pub fn sends_token_ids(&self) -> bool {
        let form = match self {
            Self::GeneratedSharedPrefix(spec) => spec.form,
            Self::Random(spec) => spec.form,
            Self::Batch(_) => PromptForm::TokenIds,
            Self::Vllm(VllmSpec { data: VllmData::Batch(_) | VllmData::TimedTrace(_), .. }) => {
                PromptForm::TokenIds
            }
            _ => PromptForm::Text,
        };
        form == PromptForm::TokenIds
    }

    /// Whether its requests have pictures, and how their text is sent then.
    pub fn pictured(&self) -> Option<PromptFormat> {
        match self {
            Self::Image(spec) => Some(spec.prompt_format),
            Self::Mmmu(spec) => Some(spec.prompt_format),
            _ => None,
        }
    }

    /// Whether the number of requests that is asked for says how many sessions there are. The groups
    /// of shared prefixes say it themselves.
    pub fn counts_requests(&self) -> bool {
        !matches!(self, Self::GeneratedSharedPrefix(_))
    }

    /// Why there is no sample, and what to do.
    fn nothing(&self, count: usize, draw: &Draw) -> DatasetError {
        let why = match self {
            Self::GeneratedSharedPrefix(_) => "it has no group",
            Self::Openai(_) => "no line that was read has \"messages\"",
            Self::AgenticTrace(_) => "no conversation of the file has a turn with messages",
            Self::Evalscope(_) => "no prompt of it is as long as was asked for",
            Self::Vllm(spec) if count > 0 || spec.is_custom() => "no row of the file can be sent",
            _ if count == 0 => "none was asked for (--num-prompts)",
            Self::LongBenchV2(_) => {
                "no question fits the context; is --sharegpt-context-len too small?"
            }
            Self::Batch(_) | Self::Image(_) => "it draws as many as are asked for",
            Self::Mmmu(_) => "no row has a picture in image_1 that can be read",
            Self::Aisbench(_) => "no row of the file can be sent",
            Self::Mooncake(_) | Self::Trace(_) | Self::Vllm(_) => "the trace holds none",
            Self::Random(_) => "the file has no prompt that is not empty",
            Self::SpeedBench(spec) => spec.nothing(),
            Self::Custom(_) | Self::Sharegpt(_) => {
                "no conversation has two turns of two tokens or more that fit the context; is \
                 --sharegpt-context-len too small?"
            }
        };
        let skipped = draw.skipped.as_ref().map(ToString::to_string);
        let words = [why.to_owned()].into_iter().chain(skipped).chain(draw.notices.clone());
        DatasetError::Nothing { reason: words.collect::<Vec<_>>().join("; ") }
    }

    /// The file of a data set that is published and that was given none: the name under which it
    /// is published, and where the file's path goes.
    pub fn unfiled(&mut self) -> Option<(&'static str, &mut Option<PathBuf>)> {
        let (name, path) = match self {
            Self::Random(RandomSpec { source: Source::Sharegpt { path }, .. }) => ("random", path),
            Self::LongBenchV2(LongBenchSpec { path, .. }) => ("longbench_v2", path),
            Self::Sharegpt(ShareGptSpec { path, .. }) => ("sharegpt", path),
            Self::Mmmu(MmmuSpec { path, .. }) => ("mmmu", path),
            Self::Mooncake(MooncakeSpec { path, workload, .. }) if !workload.is_here() => {
                (workload.published(), path)
            }
            Self::Evalscope(spec) => spec.unfiled()?,
            Self::Batch(spec) => return spec.unfiled(),
            _ => return None,
        };
        path.is_none().then_some((name, path))
    }

    /// Whether it tells when each session began, so that this can be replayed.
    pub fn has_timestamps(&self) -> bool {
        match self {
            Self::Mooncake(_) | Self::Trace(_) => true,
            Self::Aisbench(spec) => spec.timed,
            Self::Vllm(spec) => matches!(spec.data, VllmData::TimedTrace(_)),
            Self::Evalscope(spec) => matches!(spec.data, EvalscopeData::Workload(_)),
            _ => false,
        }
    }

    /// Whether its prompts are made of token ids, so that drawing them encodes nothing.
    pub fn only_decodes(&self) -> bool {
        match self {
            Self::Batch(spec) => spec.only_decodes(),
            _ => matches!(self, Self::Random(RandomSpec { source: Source::Vocabulary, .. })),
        }
    }

    /// The name under which it is asked for.
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

/// A spec seen through core's trait.
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
