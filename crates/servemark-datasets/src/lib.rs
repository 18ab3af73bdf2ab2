//! Every data set a benchmark draws its samples from.
//!
//! A [`DatasetSpec`] is one data set with its knobs, as a plan stores it; [`DatasetSpec::draw`]
//! turns it into samples. For the same seed and tokenizer the samples are those of SGLang 0.5.23,
//! of vLLM 0.33.0 or of evalscope 1.14.1 for their own flavours ([`VllmSpec`],
//! [`EvalscopeSpec`]), text for text and in the same order: random draws are made one after the
//! other from the run's own state, and only what draws nothing, reading, encoding and decoding, uses all cores.
//!
//! This crate knows tokenizers only through core's trait, opens no connection, and prints
//! nothing: what a person should be told comes back in the [`Draw`].
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

mod agentic_trace;
mod aisbench;
mod alphabet;
mod batch;
mod book;
mod conversations;
mod csv_file;
mod custom;
mod draw;
mod error;
mod evalscope;
mod fitting;
mod grouping;
mod image;
mod instant;
mod json_array;
mod jsonl;
mod lengths;
mod long_bench;
mod mmmu;
mod mooncake;
mod name;
mod openai;
mod popularity;
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
mod trace;
mod vllm;
mod words;

pub use agentic_trace::AgenticTraceSpec;
pub use aisbench::{
    AisbenchConversations, AisbenchCustomSpec, AisbenchData, AisbenchIdsSpec, AisbenchLengths,
    AisbenchShownSpec, AisbenchSpec, AisbenchTemplate, AisbenchTextSpec, AisbenchTraceSpec,
    AisbenchTurns, MediaForm, Saying, ShownLayout, Speaker,
};
pub use batch::{BatchLengths, BatchSource, BatchSpec};
pub use custom::CustomSpec;
pub use draw::{Draw, Summary};
pub use error::SpecError;
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
pub use random::{PromptForm, RandomSpec, Source};
pub use shaping::{FixedOutput, PromptFormat, Shaping};
pub use shared_prefix::{Counting, GroupOrder, SharedPrefixSpec};
pub use sharegpt::ShareGptSpec;
pub use spec::DatasetSpec;
pub use speed_bench::{SpeedBenchCategory, SpeedBenchSpec};
pub use trace::{TraceFormat, TraceSpec};
pub use vllm::{
    Bounds, ConversationSource, ConversationSpec, CustomLayout, CustomOutput, HubDataset,
    HubReading, MediaBucket, MediaDraws, MediaLimits, PictureReader, PrefixRepetitionSpec,
    PromptShape, RandomTurnsSpec, RerankMode, RowOrder, ShareGptTurnsSpec, SpeechPrompt, Spread,
    TextSlice, TextSlicesSpec, TimedTraceLabels, TimedTraceSpec, TooFewRows, VllmBatchSpec,
    VllmBurstgptSpec, VllmCustomAudioSpec, VllmCustomImageSpec, VllmCustomSpec, VllmData,
    VllmHubSpec, VllmLengths, VllmRandomMmSpec, VllmRandomSpec, VllmRerankSpec, VllmShareGptSpec,
    VllmSpec, WarmPrompts,
};
