//! The names under which data sets are asked for.

use std::fmt;
use std::str::FromStr;

use crate::{EvalscopeName, SpecError};

/// A data set, by the name that SGLang's `--dataset-name` gives it, by vLLM's, or by one of
/// ours.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum DatasetName {
    /// Recorded conversations of agents.
    AgenticTrace,
    /// Data sets of AISBench's.
    Aisbench,
    /// Azure's traces of requests to language models. Ours.
    AzureTrace,
    /// `BurstGPT`'s traces. Ours.
    Burstgpt,
    /// Conversations, one JSON object a line.
    Custom,
    /// Prompts with recordings, one JSON object a line. vLLM's.
    CustomAudio,
    /// Prompts with pictures, one JSON object a line. vLLM's.
    CustomImage,
    /// One of evalscope's.
    Evalscope(EvalscopeName),
    /// Groups of prompts that begin alike.
    GeneratedSharedPrefix,
    /// Data sets of the hub. vLLM's.
    Hub,
    /// Random text and drawn pictures.
    Image,
    /// Questions about long texts.
    LongBenchV2,
    /// Questions of MMMU, each with its picture.
    Mmmu,
    /// Mooncake's traces.
    Mooncake,
    /// Whole chat requests, one JSON object a line.
    Openai,
    /// Spans of agents. Ours.
    OtelTrace,
    /// Prompts of which several begin alike. vLLM's.
    PrefixRepetition,
    /// Prompts of drawn lengths, cut from ShareGPT's.
    Random,
    /// Prompts of drawn lengths, counted up from a drawn token id.
    RandomIds,
    /// Prompts of drawn lengths with pictures and videos of noise. vLLM's.
    RandomMm,
    /// A query and documents of drawn lengths. vLLM's.
    RandomRerank,
    /// `ServeGen`'s clients. Ours.
    Servegen,
    /// ShareGPT's conversations, one JSON array.
    Sharegpt,
    /// Prompts of Spec-Bench. vLLM's.
    SpecBench,
    /// Prompts by how predictable their answers are.
    SpeedBench,
    /// A trace that says when prompts are sent and which begin alike. vLLM's.
    TimedTrace,
}

impl DatasetName {
    /// SGLang's and ours, by the alphabet.
    pub const ALL: [Self; 16] = [
        Self::AgenticTrace,
        Self::AzureTrace,
        Self::Burstgpt,
        Self::Custom,
        Self::GeneratedSharedPrefix,
        Self::Image,
        Self::LongBenchV2,
        Self::Mmmu,
        Self::Mooncake,
        Self::Openai,
        Self::OtelTrace,
        Self::Random,
        Self::RandomIds,
        Self::Servegen,
        Self::Sharegpt,
        Self::SpeedBench,
    ];

    /// Those of them that are ours.
    pub const OURS: [Self; 4] = [Self::AzureTrace, Self::Burstgpt, Self::OtelTrace, Self::Servegen];

    /// Whether to ask for no request is to ask for all there are, as with SGLang.
    pub const fn zero_means_all(self) -> bool {
        matches!(self, Self::AgenticTrace | Self::Openai)
    }

    /// The name as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgenticTrace => "agentic-trace",
            Self::Aisbench => "aisbench",
            Self::AzureTrace => "azure-trace",
            Self::Burstgpt => "burstgpt",
            Self::Custom => "custom",
            Self::CustomAudio => "custom_audio",
            Self::CustomImage => "custom_image",
            Self::Evalscope(name) => name.as_str(),
            Self::Hub => "hf",
            Self::GeneratedSharedPrefix => "generated-shared-prefix",
            Self::Image => "image",
            Self::LongBenchV2 => "longbench_v2",
            Self::Mmmu => "mmmu",
            Self::Mooncake => "mooncake",
            Self::Openai => "openai",
            Self::OtelTrace => "otel-trace",
            Self::PrefixRepetition => "prefix_repetition",
            Self::Random => "random",
            Self::RandomIds => "random-ids",
            Self::RandomMm => "random-mm",
            Self::RandomRerank => "random-rerank",
            Self::Servegen => "servegen",
            Self::Sharegpt => "sharegpt",
            Self::SpecBench => "spec_bench",
            Self::SpeedBench => "speed-bench",
            Self::TimedTrace => "timed_trace",
        }
    }
}

impl fmt::Display for DatasetName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for DatasetName {
    type Err = SpecError;

    fn from_str(name: &str) -> Result<Self, SpecError> {
        let found = Self::ALL.into_iter().find(|known| known.as_str() == name);
        let unknown = || SpecError::UnknownName { name: name.to_owned(), known: every_name() };
        found.ok_or_else(unknown)
    }
}

fn every_name() -> String {
    DatasetName::ALL.map(DatasetName::as_str).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(name: &str, message: &str) {
        assert_eq!(name.parse::<DatasetName>().unwrap_err().to_string(), message);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in DatasetName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
    }

    #[test]
    fn another_name_is_told_which_there_are() {
        refuses(
            "Random",
            "there is no data set \"Random\"; known are agentic-trace, azure-trace, burstgpt, \
             custom, generated-shared-prefix, image, longbench_v2, mmmu, mooncake, openai, \
             otel-trace, random, random-ids, servegen, sharegpt, speed-bench",
        );
    }
}
