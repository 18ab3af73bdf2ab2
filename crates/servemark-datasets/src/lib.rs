//! Every data set a benchmark draws its samples from.
//!
//! A [`DatasetSpec`] is one data set with its knobs, as a plan stores it; [`DatasetSpec::draw`]
//! turns it into samples. For the same seed and tokenizer the samples are those of SGLang 0.5.23,
//! text for text and in the same order: random draws are made one after the other from the run's
//! own state, and only what draws nothing, reading, encoding and decoding, uses all cores.
//!
//! This crate knows tokenizers only through core's trait, opens no connection, and prints
//! nothing: what a person should be told comes back in the [`Draw`].

mod conversations;
mod custom;
mod draw;
mod error;
mod jsonl;
mod lengths;
mod name;
mod openai;
mod parallel;
mod python_json;
mod random;
mod shaping;
mod sharegpt;
mod spec;
mod text_file;

pub use custom::CustomSpec;
pub use draw::{Draw, Summary};
pub use error::SpecError;
pub use jsonl::{BadLine, SkippedLines};
pub use lengths::RangeRatio;
pub use name::DatasetName;
pub use openai::OpenaiSpec;
pub use random::{PromptForm, RandomSpec, Source};
pub use shaping::{FixedOutput, PromptFormat, Shaping};
pub use sharegpt::ShareGptSpec;
pub use spec::DatasetSpec;
