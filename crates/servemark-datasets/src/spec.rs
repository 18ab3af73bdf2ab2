//! One data set with its knobs, as a plan stores it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{Dataset, DatasetError, DrawContext, Session};

use crate::{
    CustomSpec, DatasetName, Draw, MooncakeSpec, OpenaiSpec, RandomSpec, ShareGptSpec, Source,
    TraceSpec,
};

/// One data set with its knobs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "dataset", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DatasetSpec {
    /// Conversations, one JSON object a line.
    Custom(CustomSpec),
    /// Mooncake's traces: lengths, and which prompts begin alike.
    Mooncake(MooncakeSpec),
    /// Whole chat requests, one JSON object a line.
    Openai(OpenaiSpec),
    /// Prompts of drawn lengths: SGLang's `random` and `random-ids`.
    Random(RandomSpec),
    /// ShareGPT's conversations, one JSON array.
    Sharegpt(ShareGptSpec),
    /// What others once served, in one of several formats.
    Trace(TraceSpec),
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
            Self::Custom(spec) => spec.draw(count, context),
            Self::Mooncake(spec) => spec.draw(count, context),
            Self::Openai(spec) => spec.draw(count, context),
            Self::Random(spec) => spec.draw(count, context),
            Self::Sharegpt(spec) => spec.draw(count, context),
            Self::Trace(spec) => spec.draw(count, context),
        }?;
        if draw.sessions.is_empty() { Err(self.nothing(count, &draw)) } else { Ok(draw) }
    }

    /// Why there is no sample, and what to do.
    fn nothing(&self, count: usize, draw: &Draw) -> DatasetError {
        let why = match self {
            Self::Openai(_) => "no line that was read has \"messages\"",
            _ if count == 0 => "none was asked for (--num-prompts)",
            Self::Mooncake(_) | Self::Trace(_) => "the trace holds none",
            Self::Random(_) => "the file has no prompt that is not empty",
            Self::Custom(_) | Self::Sharegpt(_) => {
                "no conversation has two turns of two tokens or more that fit the context; is \
                 --sharegpt-context-len too small?"
            }
        };
        let skipped = draw.skipped.as_ref().map(|skipped| format!("; {skipped}"));
        DatasetError::Nothing { reason: format!("{why}{}", skipped.unwrap_or_default()) }
    }

    /// The file of a data set that is published and that was given none: the name under which it
    /// is published, and where the file's path goes.
    pub fn unfiled(&mut self) -> Option<(&'static str, &mut Option<PathBuf>)> {
        let (name, path) = match self {
            Self::Random(RandomSpec { source: Source::Sharegpt { path }, .. }) => ("random", path),
            Self::Sharegpt(ShareGptSpec { path, .. }) => ("sharegpt", path),
            Self::Mooncake(MooncakeSpec { path, workload, .. }) if !workload.is_here() => {
                (workload.published(), path)
            }
            Self::Custom(_)
            | Self::Mooncake(_)
            | Self::Openai(_)
            | Self::Random(_)
            | Self::Trace(_) => return None,
        };
        path.is_none().then_some((name, path))
    }

    /// Whether it tells when each session began, so that this can be replayed.
    pub fn has_timestamps(&self) -> bool {
        matches!(self, Self::Mooncake(_) | Self::Trace(_))
    }

    /// The name under which it is asked for.
    pub fn name(&self) -> DatasetName {
        match self {
            Self::Custom(_) => DatasetName::Custom,
            Self::Mooncake(_) => DatasetName::Mooncake,
            Self::Openai(_) => DatasetName::Openai,
            Self::Random(RandomSpec { source: Source::Vocabulary, .. }) => DatasetName::RandomIds,
            Self::Random(_) => DatasetName::Random,
            Self::Sharegpt(_) => DatasetName::Sharegpt,
            Self::Trace(spec) => spec.format.name(),
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
