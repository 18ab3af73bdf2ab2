//! evalscope's data sets.
//!
//! For the same seed and tokenizer, requests have the same bodies and order as in evalscope 1.14.1.
//! Draws come from the run's two global generators, as in evalscope. What evalscope draws during a
//! run is drawn here before the run.

mod conversations;
mod decisions;
mod inputs;
mod measure;
mod name;
mod pictured;
mod prompt;
mod random;
mod request_draft;
mod share_gpt;
mod speed;
mod swe_smith;
mod target;
mod texts;
mod trie;
mod workload;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Prompt, Sample, Session, Tokenizer};
use servemark_rng::PythonRandom;

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
pub use self::request_draft::MaxTokens;
use self::request_draft::{Conversation, RequestDraft};
pub use self::speed::EvalscopeSpeedSpec;
pub use self::swe_smith::{EvalscopeSweSmithSpec, LengthRange};
pub use self::target::{PrefixRole, ShortTexts, TargetLength};
pub use self::texts::{EvalscopeTextSpec, EvalscopeTexts};
pub use self::trie::{EvalscopeTrieSpec, TrieWorkload};
pub use self::workload::EvalscopeWorkloadSpec;
use crate::layout::FileLayout;
use crate::{DatasetName, Draw, Summary};

/// An evalscope data set with the settings common to all of them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EvalscopeSpec {
    /// Whether texts are sent as chat messages (`--apply-chat-template`).
    pub chat: bool,
    /// Whether prompts are sent as token ids (`--tokenize-prompt`).
    #[serde(default)]
    pub tokenize: bool,
    /// Whether a tokenizer is given. Without one, lengths are counted in characters.
    pub tokenizer: bool,
    /// Minimum prompt length, in tokens or characters (`--min-prompt-length`).
    #[serde(default)]
    pub shortest: u32,
    /// Maximum prompt length, in tokens or characters (`--max-prompt-length`).
    #[serde(default = "longest")]
    pub longest: u32,
    /// Requested output length.
    #[serde(default)]
    pub max_tokens: MaxTokens,
    /// Number of vocabulary positions, or of conversations, to skip at the start
    /// (`--dataset-offset`).
    #[serde(default)]
    pub offset: u64,
    /// Hub from which the data set is downloaded if no file is given (`--data-source`).
    #[serde(default, skip_serializing_if = "EvalscopeHub::is_usual")]
    pub hub: EvalscopeHub,
    /// The data set and its own settings.
    #[serde(flatten)]
    pub data: EvalscopeData,
}

/// Hub from which a data set is downloaded. Exhaustive: evalscope supports two hubs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalscopeHub {
    /// The Hugging Face hub.
    #[default]
    HuggingFace,
    /// ModelScope's hub.
    ModelScope,
}

impl EvalscopeHub {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    fn is_usual(&self) -> bool {
        *self == Self::HuggingFace
    }
}

const fn longest() -> u32 {
    131_072
}

/// Prompt of the request that tests the connection.
const HELLO: &str = "hello";

/// An evalscope data set.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EvalscopeData {
    /// One prompt, repeated (`--prompt`).
    Prompt(EvalscopePromptSpec),
    /// Prompts from a file.
    Texts(EvalscopeTextSpec),
    /// Images from a file, with questions about them.
    Pictured(EvalscopePicturedSpec),
    /// Multiple-choice questions.
    Decisions(EvalscopeDecisionsSpec),
    /// Prompts of drawn lengths, with consecutive token ids from a drawn one on.
    Random(EvalscopeRandomSpec),
    /// Prompts of drawn lengths with randomly drawn images.
    RandomVl(EvalscopeRandomVlSpec),
    /// Conversations of prompts of drawn lengths.
    RandomTurns(EvalscopeRandomTurnsSpec),
    /// Embedding inputs made of randomly drawn tokens.
    RandomEmbedding(EvalscopeRandomEmbeddingSpec),
    /// Queries and documents made of randomly drawn tokens, for reranking.
    RandomRerank(EvalscopeRandomRerankSpec),
    /// Embedding inputs from a file.
    Embedding(EvalscopeEmbeddingSpec),
    /// Queries and documents from a file, for reranking.
    Rerank(EvalscopeRerankSpec),
    /// Conversations from a file.
    Turns(EvalscopeTurnsSpec),
    /// Trajectories of software engineering agents (SWE-smith).
    SweSmith(EvalscopeSweSmithSpec),
    /// Agent conversations of recorded lengths.
    Trie(EvalscopeTrieSpec),
    /// Recorded requests, sent at their recorded times.
    Workload(EvalscopeWorkloadSpec),
    /// One character, repeated (evalscope's speed benchmark).
    Speed(EvalscopeSpeedSpec),
}

impl EvalscopeSpec {
    /// Creates a spec with evalscope's defaults for a chat, without a tokenizer.
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

    /// Returns the tokenizer, or an error if none is given and this data set requires one.
    fn tokenizer<'a>(&self, context: &DrawContext<'a>) -> Result<&'a dyn Tokenizer, DatasetError> {
        let missing = || measure::no_tokenizer(self.data.name().as_str());
        self.tokenizer.then_some(context.tokenizer).ok_or_else(missing)
    }

    /// Returns the name under which the data set's file or folder is published, and the field that
    /// takes its local path.
    pub(crate) fn missing_path(&mut self) -> Option<(&'static str, &mut Option<PathBuf>)> {
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

    /// Returns whether a session may have more than one turn.
    pub(crate) fn is_multi_turn(&self) -> bool {
        self.data.name().is_multi_turn()
    }

    /// Returns whether a request count of zero means all requests of the data set.
    pub(crate) fn zero_means_all(&self) -> bool {
        self.data.is_sent_once()
    }

    /// Returns whether sessions have recorded start times that can be replayed.
    pub(crate) fn has_timestamps(&self) -> bool {
        matches!(self.data, EvalscopeData::Workload(_))
    }

    /// Returns whether prompts are rendered by a chat template.
    pub(crate) fn needs_chat_template(&self) -> bool {
        matches!(self.data, EvalscopeData::Random(_)) && self.chat && !self.tokenize
    }

    /// Returns the data set's file and its layout, if it has one file of one text layout.
    pub(crate) fn file_layout(&self) -> Option<(&Path, FileLayout)> {
        let (path, layout) = match &self.data {
            EvalscopeData::Texts(spec) => {
                let layout = match spec.texts {
                    EvalscopeTexts::LongAlpaca => FileLayout::Array,
                    EvalscopeTexts::Custom | EvalscopeTexts::LineByLine => return None,
                    _ => FileLayout::Lines(None),
                };
                (&spec.path, layout)
            }
            EvalscopeData::Trie(spec) => (&spec.path, FileLayout::Lines(None)),
            EvalscopeData::Turns(spec) if spec.turns != EvalscopeTurns::Custom => {
                (&spec.path, FileLayout::Lines(None))
            }
            // Prompts that are drawn, and files in one of several layouts.
            _ => return None,
        };
        Some((path.as_deref()?, layout))
    }

    /// Draws `count` sessions. If the data set has fewer, they are repeated.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        // evalscope reads conversations before it tests the connection, and single requests after
        // it.
        let is_multi_turn = self.is_multi_turn();
        let mut tested = 0;
        if !is_multi_turn {
            tested = self.max_tokens.begin(&mut context.random.python);
        }
        let mut found = self.read(count, context)?;
        if is_multi_turn {
            tested = self.max_tokens.begin(&mut context.random.python);
        }
        let hello = self.hello(tested, context);
        if self.tokenize {
            request_draft::tokenize(&mut found, context)?;
        }
        let count = if self.data.is_sent_once() { found.len() } else { count };
        let again = found.iter().cycle().take(if found.is_empty() { 0 } else { count });
        let mut tokens = self.tokens(&mut context.random.python);
        let sessions: Vec<_> = again.map(|one| one.session(&mut tokens)).collect();
        let summary = Summary::of_sessions(self.name(), &sessions).in_lines(String::new());
        let draw = Draw::of_sessions(sessions, summary).greeting_with(hello);
        Ok(draw.with_notices(self.notices()))
    }

    /// Returns the source of each request's `max_tokens`; all requests of one prompt share a draw.
    fn tokens<'a>(&self, python: &'a mut PythonRandom) -> impl FnMut() -> u32 + use<'a> {
        let max_tokens = self.max_tokens;
        let of_all = matches!(self.data, EvalscopeData::Prompt(_)).then(|| max_tokens.draw(python));
        move || of_all.unwrap_or_else(|| max_tokens.draw(python))
    }

    /// Returns the request that tests the connection; `None` if it cannot be tokenized.
    fn hello(&self, tokens: u32, context: &DrawContext<'_>) -> Option<Sample> {
        let prompt: Prompt =
            if self.chat { vec![measure::user(HELLO)].into() } else { HELLO.into() };
        let mut hello = [RequestDraft::new(prompt, 1).into()];
        if self.tokenize {
            request_draft::tokenize(&mut hello, context).ok()?;
        }
        Some(hello[0].session(|| tokens).first)
    }

    fn notices(&self) -> Vec<String> {
        let cuts = matches!(self.data, EvalscopeData::RandomVl(_)) && !self.chat;
        let notice = "the prompts of random_vl are cut to their first character, as evalscope cuts them \
                      where the route is no chat's; `workload.dataset.chat` sends them whole";
        if cuts { vec![notice.to_owned()] } else { Vec::new() }
    }

    /// Returns whether the requests depend on the seed.
    pub fn draws(&self) -> bool {
        self.data.is_drawn() || matches!(self.max_tokens, MaxTokens::Between { .. })
    }

    /// Advances the generators as a draw of `count` sessions does. Prompts of `random` and of files
    /// are left empty in the returned sessions.
    pub(crate) fn advance(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let random = match &self.data {
            EvalscopeData::Random(spec) => Some(spec),
            data if data.is_drawn() || self.is_multi_turn() || data.is_sent_once() => {
                return Ok(self.draw(count, context)?.sessions);
            }
            _ => None,
        };
        self.max_tokens.begin(&mut context.random.python);
        random.map(|spec| spec.advance(self, count, context)).transpose()?;
        let mut tokens = self.tokens(&mut context.random.python);
        Ok((0..count).map(|_| Session::from(Sample::new("", 0, tokens()))).collect())
    }

    /// Reads or draws up to `count` requests or conversations.
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
    /// Returns the named data set with evalscope's defaults. A file, where one is needed, is not
    /// set.
    pub fn from_name(name: EvalscopeName) -> Self {
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

    /// Returns the data set's name; a single prompt is named `custom`.
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

    /// Returns whether requests are drawn at random rather than read.
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

    /// Returns whether no row is sent twice: recorded requests are sent once each.
    pub(crate) fn is_sent_once(&self) -> bool {
        matches!(self, Self::Workload(_))
    }
}
