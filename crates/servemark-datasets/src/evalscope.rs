//! evalscope's data sets.
//!
//! For the same seed and tokenizer the requests are those of evalscope 1.14.1, body for body and in
//! the same order. Draws are made from the run's two global generators, as evalscope's are; what
//! evalscope draws while a run goes on, here is drawn before it.

mod asked;
mod conversations;
mod decisions;
mod inputs;
mod measure;
mod name;
mod pictured;
mod prompt;
mod random;
mod share_gpt;
mod speed;
mod swe_smith;
mod target;
mod texts;
mod trie;
mod workload;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, Session, Tokenizer};

pub use self::asked::MaxTokens;
use self::asked::{Asked, Conversation};
pub use self::conversations::{EvalscopeTurns, EvalscopeTurnsSpec};
pub use self::decisions::EvalscopeDecisionsSpec;
pub use self::inputs::{
    EvalscopeEmbeddingSpec, EvalscopeRandomEmbeddingSpec, EvalscopeRandomRerankSpec,
    EvalscopeRerankSpec,
};
pub use self::name::EvalscopeName;
pub use self::pictured::{EvalscopePictured, EvalscopePicturedSpec};
pub use self::prompt::EvalscopePromptSpec;
pub use self::random::{
    EvalscopePictureMode, EvalscopeRandomSpec, EvalscopeRandomTurnsSpec, EvalscopeRandomVlSpec,
};
pub use self::speed::EvalscopeSpeedSpec;
pub use self::swe_smith::{EvalscopeSweSmithSpec, LengthRange};
pub use self::target::{PrefixRole, ShortTexts, TargetLength};
pub use self::texts::{EvalscopeTextSpec, EvalscopeTexts};
pub use self::trie::{EvalscopeTrieSpec, TrieWorkload};
pub use self::workload::EvalscopeWorkloadSpec;
use crate::{DatasetName, Draw, Summary};

/// A data set of evalscope's, with what all of them are told.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalscopeSpec {
    /// Whether texts become messages, as `--apply-chat-template` has it.
    pub chat: bool,
    /// Whether prompts are sent as token ids (`--tokenize-prompt`).
    #[serde(default)]
    pub tokenize: bool,
    /// Whether there is a tokenizer; without one, lengths are counted in characters.
    pub tokenizer: bool,
    /// The shortest prompt (`--min-prompt-length`).
    #[serde(default)]
    pub shortest: u32,
    /// The longest (`--max-prompt-length`).
    #[serde(default = "longest")]
    pub longest: u32,
    /// How many tokens are asked for.
    #[serde(default)]
    pub max_tokens: MaxTokens,
    /// How many places of the vocabulary, or conversations, were used before (`--dataset-offset`).
    #[serde(default)]
    pub offset: u64,
    /// Where it is downloaded from if it is given no file (`--data-source`).
    #[serde(default, skip_serializing_if = "EvalscopeHub::is_usual")]
    pub hub: EvalscopeHub,
    /// Which data set.
    #[serde(flatten)]
    pub data: EvalscopeData,
}

/// Where a data set is downloaded from. Closed: evalscope knows two hubs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalscopeHub {
    /// The Hugging Face hub.
    #[default]
    HuggingFace,
    /// ModelScope.
    ModelScope,
}

impl EvalscopeHub {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
    fn is_usual(&self) -> bool {
        *self == Self::HuggingFace
    }
}

const fn longest() -> u32 {
    131_072
}

/// Which data set of evalscope's.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EvalscopeData {
    /// One prompt again and again (`--prompt`).
    Prompt(EvalscopePromptSpec),
    /// Prompts of a file.
    Texts(EvalscopeTextSpec),
    /// Pictures of a file with what is asked about them.
    Pictured(EvalscopePicturedSpec),
    /// Questions that have one answer of several.
    Decisions(EvalscopeDecisionsSpec),
    /// Prompts of drawn lengths, counted up from a drawn token.
    Random(EvalscopeRandomSpec),
    /// The same with drawn pictures.
    RandomVl(EvalscopeRandomVlSpec),
    /// Conversations of such prompts.
    RandomTurns(EvalscopeRandomTurnsSpec),
    /// Texts of drawn tokens to be embedded.
    RandomEmbedding(EvalscopeRandomEmbeddingSpec),
    /// Queries and documents of drawn tokens.
    RandomRerank(EvalscopeRandomRerankSpec),
    /// Texts of a file to be embedded.
    Embedding(EvalscopeEmbeddingSpec),
    /// Queries and documents of a file.
    Rerank(EvalscopeRerankSpec),
    /// Conversations of a file.
    Turns(EvalscopeTurnsSpec),
    /// What agents were told while they mended programs.
    SweSmith(EvalscopeSweSmithSpec),
    /// Lengths of what agents said.
    Trie(EvalscopeTrieSpec),
    /// Recorded requests, sent when they were.
    Workload(EvalscopeWorkloadSpec),
    /// One character again and again.
    Speed(EvalscopeSpeedSpec),
}

impl EvalscopeSpec {
    /// A data set with evalscope's defaults for a chat, without a tokenizer.
    pub fn new(data: EvalscopeData) -> Self {
        Self {
            chat: true,
            tokenize: false,
            tokenizer: false,
            shortest: 0,
            longest: longest(),
            max_tokens: MaxTokens::default(),
            offset: 0,
            hub: EvalscopeHub::default(),
            data,
        }
    }

    pub(crate) fn name(&self) -> DatasetName {
        DatasetName::Evalscope(self.data.name())
    }

    /// The tokenizer, without which this data set cannot be made.
    fn tokenizer<'a>(&self, context: &DrawContext<'a>) -> Result<&'a dyn Tokenizer, DatasetError> {
        let missing = || measure::no_tokenizer(self.data.name().as_str());
        self.tokenizer.then_some(context.tokenizer).ok_or_else(missing)
    }

    /// The name under which its file, or its folder, is published, and where the path goes.
    pub(crate) fn unfiled(&mut self) -> Option<(&'static str, &mut Option<PathBuf>)> {
        let published = self.data.name().published(self.hub)?;
        let path = match &mut self.data {
            EvalscopeData::Texts(spec) => &mut spec.path,
            EvalscopeData::Turns(spec) => &mut spec.path,
            EvalscopeData::Trie(spec) => &mut spec.path,
            EvalscopeData::Pictured(spec) => &mut spec.path,
            EvalscopeData::SweSmith(spec) if spec.path.is_none() => &mut spec.trajectories,
            _ => return None,
        };
        Some((published, path))
    }

    /// Whether a session may have more than one turn.
    pub(crate) fn is_multi_turn(&self) -> bool {
        self.data.name().is_multi_turn()
    }

    /// What is there is sent again and again until there is as much as was asked for.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        // Conversations are read before the connection is tested, requests after it.
        let is_multi_turn = self.is_multi_turn();
        if !is_multi_turn {
            self.max_tokens.begin(&mut context.random.python);
        }
        let mut found = self.read(count, context)?;
        if is_multi_turn {
            self.max_tokens.begin(&mut context.random.python);
        }
        if self.tokenize {
            asked::tokenize(&mut found, context)?;
        }
        let count = if self.data.takes_all(count) { found.len() } else { count };
        let again = found.iter().cycle().take(if found.is_empty() { 0 } else { count });
        let python = &mut context.random.python;
        let sessions: Vec<_> =
            again.map(|one| one.session(|| self.max_tokens.draw(python))).collect();
        let summary = Summary::of_sessions(self.name(), &sessions).in_lines(String::new());
        Ok(Draw::of_sessions(sessions, summary))
    }

    /// Whether a seed makes a difference to what is asked.
    pub fn draws(&self) -> bool {
        self.data.is_drawn() || matches!(self.max_tokens, MaxTokens::Between { .. })
    }

    /// The same draws. Prompts of `random`, and those of files, are left out of the sessions.
    pub(crate) fn pass_over(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let random = match &self.data {
            EvalscopeData::Random(spec) => Some(spec),
            data if data.is_drawn() || self.is_multi_turn() || data.takes_all(count) => {
                return Ok(self.draw(count, context)?.sessions);
            }
            _ => None,
        };
        self.max_tokens.begin(&mut context.random.python);
        random.map(|spec| spec.pass_over(self, count, context)).transpose()?;
        let python = &mut context.random.python;
        let blank = |_| Session::from(Sample::new("", 0, self.max_tokens.draw(python)));
        Ok((0..count).map(blank).collect())
    }

    /// Up to `count` requests or conversations.
    fn read(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Conversation>, DatasetError> {
        let single = match &self.data {
            EvalscopeData::Prompt(spec) => vec![spec.ask(self, context)?],
            EvalscopeData::Texts(spec) => spec.ask(self, count, context)?,
            EvalscopeData::Random(spec) => spec.ask(self, count, context)?,
            EvalscopeData::RandomVl(spec) => spec.ask(self, count, context)?,
            EvalscopeData::RandomTurns(spec) => return spec.converse(self, count, context),
            EvalscopeData::RandomEmbedding(spec) => spec.ask(self, count, context)?,
            EvalscopeData::RandomRerank(spec) => spec.ask(self, count, context)?,
            EvalscopeData::Embedding(spec) => spec.ask(self, count, context)?,
            EvalscopeData::Rerank(spec) => spec.ask(self, count, context)?,
            EvalscopeData::Pictured(spec) => spec.ask(count, context)?,
            EvalscopeData::Decisions(spec) => spec.ask(count, context)?,
            EvalscopeData::Speed(spec) => spec.ask(self, context)?,
            EvalscopeData::Turns(spec) => return spec.converse(self, count, context),
            EvalscopeData::Trie(spec) => return spec.converse(self, count, context),
            EvalscopeData::SweSmith(spec) => return spec.converse(self, count, context),
            EvalscopeData::Workload(spec) => return spec.converse(count),
        };
        Ok(single.into_iter().map(Conversation::from).collect())
    }
}

impl EvalscopeData {
    /// The data set of a name with evalscope's defaults; its file, where it has one, is to be given.
    pub fn named(name: EvalscopeName) -> Self {
        use EvalscopeName as Name;
        match name {
            Name::Custom => EvalscopeTextSpec::of(EvalscopeTexts::Custom),
            Name::LineByLine => EvalscopeTextSpec::of(EvalscopeTexts::LineByLine),
            Name::LongAlpaca => EvalscopeTextSpec::of(EvalscopeTexts::LongAlpaca),
            Name::Openqa => EvalscopeTextSpec::of(EvalscopeTexts::Openqa),
            Name::ShareGptEn => EvalscopeTextSpec::of(EvalscopeTexts::ShareGptEn),
            Name::ShareGptZh => EvalscopeTextSpec::of(EvalscopeTexts::ShareGptZh),
            Name::Flickr8k => EvalscopePicturedSpec::of(EvalscopePictured::Flickr8k),
            Name::KontextBench => EvalscopePicturedSpec::of(EvalscopePictured::KontextBench),
            Name::MmmuMultiImage => EvalscopePicturedSpec::of(EvalscopePictured::MmmuMultiImage),
            Name::OpenDecisions => Self::Decisions(EvalscopeDecisionsSpec::default()),
            Name::Random => Self::Random(EvalscopeRandomSpec::default()),
            Name::RandomVl => Self::RandomVl(EvalscopeRandomVlSpec::default()),
            Name::RandomMultiTurn => Self::RandomTurns(EvalscopeRandomTurnsSpec::default()),
            Name::RandomEmbedding => EvalscopeRandomEmbeddingSpec::of(None),
            Name::RandomEmbeddingBatch => EvalscopeRandomEmbeddingSpec::of(Some(inputs::BATCH)),
            Name::RandomRerank => Self::RandomRerank(EvalscopeRandomRerankSpec::default()),
            Name::Embedding => EvalscopeEmbeddingSpec::of(None),
            Name::EmbeddingBatch => EvalscopeEmbeddingSpec::of(Some(inputs::BATCH)),
            Name::Rerank => Self::Rerank(EvalscopeRerankSpec::default()),
            Name::CustomMultiTurn => EvalscopeTurnsSpec::of(EvalscopeTurns::Custom),
            Name::ShareGptEnMultiTurn => EvalscopeTurnsSpec::of(EvalscopeTurns::ShareGptEn),
            Name::ShareGptZhMultiTurn => EvalscopeTurnsSpec::of(EvalscopeTurns::ShareGptZh),
            Name::SweSmith => Self::SweSmith(EvalscopeSweSmithSpec::default()),
            Name::TrieAgenticCoding => EvalscopeTrieSpec::of(TrieWorkload::AgenticCoding),
            Name::TrieCodeQa => EvalscopeTrieSpec::of(TrieWorkload::CodeQa),
            Name::TrieOfficeWork => EvalscopeTrieSpec::of(TrieWorkload::OfficeWork),
            Name::WorkloadTrace => Self::Workload(EvalscopeWorkloadSpec::default()),
            Name::SpeedBenchmark => Self::Speed(EvalscopeSpeedSpec { long: false }),
            Name::SpeedBenchmarkLong => Self::Speed(EvalscopeSpeedSpec { long: true }),
        }
    }

    /// Its name; a prompt of one's own is `custom`.
    pub fn name(&self) -> EvalscopeName {
        match self {
            Self::Prompt(_) => EvalscopeName::Custom,
            Self::Texts(spec) => spec.texts.name(),
            Self::Pictured(spec) => spec.pictured.name(),
            Self::Decisions(_) => EvalscopeName::OpenDecisions,
            Self::Random(_) => EvalscopeName::Random,
            Self::RandomVl(_) => EvalscopeName::RandomVl,
            Self::RandomTurns(_) => EvalscopeName::RandomMultiTurn,
            Self::RandomEmbedding(spec) => spec.name(),
            Self::RandomRerank(_) => EvalscopeName::RandomRerank,
            Self::Embedding(spec) => spec.name(),
            Self::Rerank(_) => EvalscopeName::Rerank,
            Self::Turns(spec) => spec.turns.name(),
            Self::SweSmith(_) => EvalscopeName::SweSmith,
            Self::Trie(spec) => spec.workload.name(),
            Self::Workload(_) => EvalscopeName::WorkloadTrace,
            Self::Speed(spec) => spec.name(),
        }
    }

    /// Whether its requests are drawn, and not read.
    fn is_drawn(&self) -> bool {
        matches!(
            self,
            Self::Random(_)
                | Self::RandomVl(_)
                | Self::RandomTurns(_)
                | Self::RandomEmbedding(_)
                | Self::RandomRerank(_)
                | Self::SweSmith(_)
                | Self::Trie(_)
        )
    }

    /// Whether to ask for no request is to ask for all there are.
    pub(crate) fn takes_all(&self, count: usize) -> bool {
        count == 0 && matches!(self, Self::Workload(_))
    }
}
