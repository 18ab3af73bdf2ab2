//! The data sets from which a benchmark draws its requests.
//!
//! A [`DatasetSpec`] is one data set with its settings, as a plan stores it; [`DatasetSpec::draw`]
//! turns it into samples. For the same seed and tokenizer, samples have the same texts and order as
//! in SGLang 0.5.23, vLLM 0.33.0 ([`VllmSpec`]) or evalscope 1.14.1 ([`EvalscopeSpec`]). Random
//! draws are made sequentially from the run's random state; reading, encoding and decoding draw
//! nothing and use all cores.
//!
//! This crate accesses tokenizers through core's trait only, opens no connection and prints
//! nothing: messages for the user are returned in the [`Draw`].
//!
//! ```no_run
//! use servemark_core::{DrawContext, NoProgress};
//! use servemark_datasets::{DatasetSpec, RandomSpec, Source};
//! use servemark_rng::RandomState;
//! use servemark_tokenizer::TokenizerSpec;
//!
//! let mut random = RandomSpec::default();
//! random.source = Source::Vocabulary;
//! let tokenizer = TokenizerSpec::new("models/Qwen2.5-7B-Instruct").load()?;
//! let mut state = RandomState::seeded(42);
//! let mut context = DrawContext::new(&tokenizer, &mut state, &NoProgress);
//! let draw = DatasetSpec::Random(random).draw(1000, &mut context)?;
//! print!("{}", draw.summary);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(feature = "peers"),
    allow(dead_code, unused_imports, reason = "only the data sets of the peers use some parts")
)]

#[cfg(not(feature = "peers"))]
mod absent;
mod agentic_trace;
#[cfg(feature = "peers")]
mod aisbench;
mod alphabet;
mod batch;
mod conversations;
mod csv_file;
mod custom;
mod draw;
mod error;
#[cfg(feature = "peers")]
mod evalscope;
mod fitting;
mod grouping;
mod image;
mod instant;
mod json_array;
mod jsonl;
mod layout;
mod lengths;
mod long_bench;
mod mmmu;
mod mooncake;
mod name;
mod openai;
mod popularity;
mod provided;
mod python_json;
mod random;
mod shaping;
mod shared_prefix;
mod sharegpt;
mod sound;
mod spec;
mod speed_bench;
mod split_files;
mod table;
mod text_file;
mod text_generator;
mod trace;
#[cfg(feature = "peers")]
mod vllm;
mod words;

#[cfg(not(feature = "peers"))]
pub use absent::{AisbenchSpec, EvalscopeSpec, VllmSpec};
pub use agentic_trace::AgenticTraceSpec;
#[cfg(feature = "peers")]
pub use aisbench::{
    AisbenchConversations, AisbenchCustomSpec, AisbenchData, AisbenchIdsSpec, AisbenchLengths,
    AisbenchMediaSpec, AisbenchMessage, AisbenchSpec, AisbenchTemplate, AisbenchTextSpec,
    AisbenchTraceSpec, AisbenchTurns, ChatRole, MediaForm, ShownLayout,
};
pub use batch::{BatchLengths, BatchSource, BatchSpec};
pub use custom::CustomSpec;
pub use draw::{Draw, Summary};
pub use error::SpecError;
#[cfg(feature = "peers")]
pub use evalscope::{
    EvalscopeData, EvalscopeDecisionsSpec, EvalscopeEmbeddingSpec, EvalscopeHub, EvalscopeName,
    EvalscopePictureMode, EvalscopePictured, EvalscopePicturedSpec, EvalscopePromptSpec,
    EvalscopeRandomEmbeddingSpec, EvalscopeRandomRerankSpec, EvalscopeRandomSpec,
    EvalscopeRandomTurnsSpec, EvalscopeRandomVlSpec, EvalscopeRerankSpec, EvalscopeSpec,
    EvalscopeSpeedSpec, EvalscopeSweSmithSpec, EvalscopeTextSpec, EvalscopeTexts,
    EvalscopeTrieSpec, EvalscopeTurns, EvalscopeTurnsSpec, EvalscopeWorkloadSpec, LengthRange,
    MaxTokens, PrefixRole, ShortTexts, TargetLength, TrieWorkload,
};
pub use grouping::Grouping;
pub use image::{ImageContent, ImageCount, ImageFormat, ImageSpec, Resolution};
pub use jsonl::{BadLine, SkippedLines};
pub use lengths::RangeRatio;
pub use long_bench::LongBenchSpec;
pub use mmmu::MmmuSpec;
pub use mooncake::{MooncakePrompts, MooncakeSpec, MooncakeWorkload};
pub use name::DatasetName;
pub use openai::OpenaiSpec;
pub use popularity::{Popularity, ZipfAlpha};
pub use provided::ProvidedDatasetSpec;
pub use random::{PromptForm, RandomSpec, Source};
pub use shaping::{FixedOutput, PromptFormat, Shaping};
pub use shared_prefix::{Counting, GroupOrder, SharedPrefixSpec};
pub use sharegpt::ShareGptSpec;
pub use spec::DatasetSpec;
pub use speed_bench::{SpeedBenchCategory, SpeedBenchSpec};
pub use trace::{TraceFormat, TraceSpec};
#[cfg(feature = "peers")]
pub use vllm::{
    Bounds, ConversationSource, ConversationSpec, CustomLayout, CustomOutput, HubDataset,
    HubReading, MediaBucket, MediaDraws, MediaLimits, PictureReader, PrefixRepetitionSpec,
    PromptShape, RandomTurnsSpec, RerankMode, RowOrder, ShareGptTurnsSpec, SpeechPrompt, Spread,
    TextSlice, TextSlicesSpec, TimedTraceLabels, TimedTraceSpec, TooFewRows, VllmBatchSpec,
    VllmBurstgptSpec, VllmCustomAudioSpec, VllmCustomImageSpec, VllmCustomSpec, VllmData,
    VllmHubSpec, VllmLengths, VllmRandomMmSpec, VllmRandomSpec, VllmRerankSpec, VllmShareGptSpec,
    VllmSpec, WarmPrompts,
};
