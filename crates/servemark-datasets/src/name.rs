//! Names of data sets on the command line.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "peers")]
use crate::EvalscopeName;
use crate::SpecError;

/// Name of a data set. Names are those of SGLang's or vLLM's `--dataset-name`, or Servemark's own.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DatasetName {
    /// Recorded agent conversations.
    AgenticTrace,
    /// AISBench's data sets.
    Aisbench,
    /// Azure's LLM inference traces (Servemark's own).
    AzureTrace,
    /// `BurstGPT`'s traces (Servemark's own).
    Burstgpt,
    /// Conversations from a file with one JSON object per line.
    Custom,
    /// Prompts with audio, one JSON object per line (vLLM).
    CustomAudio,
    /// Prompts with images, one JSON object per line (vLLM).
    CustomImage,
    /// A data set of evalscope.
    #[cfg(feature = "peers")]
    Evalscope(EvalscopeName),
    /// Groups of prompts with a common prefix.
    GeneratedSharedPrefix,
    /// Data sets of the Hugging Face hub (vLLM).
    Hub,
    /// Random text with generated images.
    Image,
    /// Multiple-choice questions about long texts.
    LongBenchV2,
    /// MMMU questions, each with its image.
    Mmmu,
    /// Mooncake's traces.
    Mooncake,
    /// Complete chat requests, one JSON object per line.
    Openai,
    /// OpenTelemetry spans of agents (Servemark's own).
    OtelTrace,
    /// Groups of prompts with a common prefix (vLLM).
    PrefixRepetition,
    /// A data set that the program supplies.
    Provided,
    /// Prompts of drawn lengths, cut from ShareGPT's prompts.
    Random,
    /// Prompts of drawn lengths, with consecutive token ids from a drawn one on.
    RandomIds,
    /// Prompts of drawn lengths with random-noise images and videos (vLLM).
    RandomMm,
    /// Queries and documents of drawn lengths (vLLM).
    RandomRerank,
    /// `ServeGen`'s client workloads (Servemark's own).
    Servegen,
    /// ShareGPT's conversations, one JSON array.
    Sharegpt,
    /// Prompts of Spec-Bench (vLLM).
    SpecBench,
    /// SPEED-Bench's prompts, grouped by how predictable their answers are.
    SpeedBench,
    /// A trace with request times and shared prompt beginnings (vLLM).
    TimedTrace,
}

impl DatasetName {
    /// SGLang's data sets and Servemark's own, sorted alphabetically.
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

    /// The data sets that Servemark adds to SGLang's.
    pub const OURS: [Self; 4] = [Self::AzureTrace, Self::Burstgpt, Self::OtelTrace, Self::Servegen];

    /// Returns whether a request count of zero means all requests of the data set, as in SGLang.
    pub const fn zero_means_all(self) -> bool {
        matches!(self, Self::AgenticTrace | Self::Openai)
    }

    /// Returns whether the data set's rows have request times.
    pub const fn has_times(self) -> bool {
        matches!(
            self,
            Self::AzureTrace | Self::Burstgpt | Self::Mooncake | Self::OtelTrace | Self::Servegen
        )
    }

    /// Returns the name as written on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgenticTrace => "agentic-trace",
            Self::Aisbench => "aisbench",
            Self::AzureTrace => "azure-trace",
            Self::Burstgpt => "burstgpt",
            Self::Custom => "custom",
            Self::CustomAudio => "custom_audio",
            Self::CustomImage => "custom_image",
            #[cfg(feature = "peers")]
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
            Self::Provided => "provided",
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
            "there is no data set \"Random\"; known data sets: agentic-trace, azure-trace, \
             burstgpt, custom, generated-shared-prefix, image, longbench_v2, mmmu, mooncake, openai, \
             otel-trace, random, random-ids, servegen, sharegpt, speed-bench",
        );
    }
}
