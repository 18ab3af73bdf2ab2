//! Names of evalscope's data sets.

use std::fmt;
use std::str::FromStr;

use super::EvalscopeHub;
use crate::SpecError;

/// Name of a data set, as in evalscope's `--dataset`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum EvalscopeName {
    /// Texts, one per line.
    Custom,
    /// Conversations, one JSON array per line.
    CustomMultiTurn,
    /// Embedding inputs from a file.
    Embedding,
    /// Embedding inputs from a file, several per request.
    EmbeddingBatch,
    /// Images with their captions.
    Flickr8k,
    /// Images with editing instructions.
    KontextBench,
    /// Texts, conversations or complete requests, one per line.
    LineByLine,
    /// Questions about long texts.
    LongAlpaca,
    /// MMMU questions with several images.
    MmmuMultiImage,
    /// Multiple-choice questions.
    OpenDecisions,
    /// Questions in Chinese.
    Openqa,
    /// Prompts of drawn lengths, with consecutive token ids from a drawn one on.
    Random,
    /// Embedding inputs made of randomly drawn tokens.
    RandomEmbedding,
    /// Embedding inputs made of randomly drawn tokens, several per request.
    RandomEmbeddingBatch,
    /// Conversations of prompts of drawn lengths.
    RandomMultiTurn,
    /// Queries and documents made of randomly drawn tokens, for reranking.
    RandomRerank,
    /// Prompts of drawn lengths with randomly drawn images.
    RandomVl,
    /// Queries and documents from a file, for reranking.
    Rerank,
    /// ShareGPT's conversations in English, with only the last turn sent.
    ShareGptEn,
    /// ShareGPT's conversations in English, sent turn by turn.
    ShareGptEnMultiTurn,
    /// ShareGPT's conversations in Chinese, with only the last turn sent.
    ShareGptZh,
    /// ShareGPT's conversations in Chinese, sent turn by turn.
    ShareGptZhMultiTurn,
    /// One repeated character at four lengths.
    SpeedBenchmark,
    /// One repeated character at two greater lengths.
    SpeedBenchmarkLong,
    /// Trajectories of software engineering agents (SWE-smith).
    SweSmith,
    /// Recorded lengths of agentic coding conversations.
    TrieAgenticCoding,
    /// Recorded lengths of conversations about code.
    TrieCodeQa,
    /// Recorded lengths of office work conversations.
    TrieOfficeWork,
    /// Recorded requests, sent at their recorded times.
    WorkloadTrace,
}

impl EvalscopeName {
    /// All names, sorted alphabetically.
    pub const ALL: [Self; 29] = [
        Self::Custom,
        Self::CustomMultiTurn,
        Self::Embedding,
        Self::EmbeddingBatch,
        Self::Flickr8k,
        Self::KontextBench,
        Self::LineByLine,
        Self::LongAlpaca,
        Self::MmmuMultiImage,
        Self::OpenDecisions,
        Self::Openqa,
        Self::Random,
        Self::RandomEmbedding,
        Self::RandomEmbeddingBatch,
        Self::RandomMultiTurn,
        Self::RandomRerank,
        Self::RandomVl,
        Self::Rerank,
        Self::ShareGptEn,
        Self::ShareGptEnMultiTurn,
        Self::ShareGptZh,
        Self::ShareGptZhMultiTurn,
        Self::SpeedBenchmark,
        Self::SpeedBenchmarkLong,
        Self::SweSmith,
        Self::TrieAgenticCoding,
        Self::TrieCodeQa,
        Self::TrieOfficeWork,
        Self::WorkloadTrace,
    ];

    /// Returns the name as written on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Custom => "custom",
            Self::CustomMultiTurn => "custom_multi_turn",
            Self::Embedding => "embedding",
            Self::EmbeddingBatch => "embedding_batch",
            Self::Flickr8k => "flickr8k",
            Self::KontextBench => "kontext_bench",
            Self::LineByLine => "line_by_line",
            Self::LongAlpaca => "longalpaca",
            Self::MmmuMultiImage => "mmmu_multi_image",
            Self::OpenDecisions => "open_decisions",
            Self::Openqa => "openqa",
            Self::Random => "random",
            Self::RandomEmbedding => "random_embedding",
            Self::RandomEmbeddingBatch => "random_embedding_batch",
            Self::RandomMultiTurn => "random_multi_turn",
            Self::RandomRerank => "random_rerank",
            Self::RandomVl => "random_vl",
            Self::Rerank => "rerank",
            Self::ShareGptEn => "share_gpt_en",
            Self::ShareGptEnMultiTurn => "share_gpt_en_multi_turn",
            Self::ShareGptZh => "share_gpt_zh",
            Self::ShareGptZhMultiTurn => "share_gpt_zh_multi_turn",
            Self::SpeedBenchmark => "speed_benchmark",
            Self::SpeedBenchmarkLong => "speed_benchmark_long",
            Self::SweSmith => "swe_smith",
            Self::TrieAgenticCoding => "trie_agentic_coding",
            Self::TrieCodeQa => "trie_code_qa",
            Self::TrieOfficeWork => "trie_office_work",
            Self::WorkloadTrace => "workload_trace",
        }
    }

    /// Returns whether the data set consists of conversations, in which a turn is sent after the
    /// previous turn's answer (`--multi-turn`).
    pub const fn is_multi_turn(self) -> bool {
        let is_listed = matches!(
            self,
            Self::CustomMultiTurn
                | Self::RandomMultiTurn
                | Self::ShareGptEnMultiTurn
                | Self::ShareGptZhMultiTurn
                | Self::SweSmith
        );
        is_listed || self.is_trie()
    }

    /// Returns whether the data set is one of the three recorded workloads named `trie_*`.
    pub const fn is_trie(self) -> bool {
        matches!(self, Self::TrieAgenticCoding | Self::TrieCodeQa | Self::TrieOfficeWork)
    }

    /// Returns the name of the data set on a hub, if it is published there.
    pub(super) const fn published(self, hub: EvalscopeHub) -> Option<&'static str> {
        match hub {
            EvalscopeHub::HuggingFace => self.on_hugging_face(),
            EvalscopeHub::ModelScope => self.on_modelscope(),
        }
    }

    /// Returns the name on ModelScope. Data sets that ModelScope stores as tables are excluded,
    /// because they have no files that this crate reads.
    const fn on_modelscope(self) -> Option<&'static str> {
        Some(match self {
            Self::LongAlpaca => "modelscope/longalpaca",
            Self::Openqa => "modelscope/openqa",
            Self::ShareGptEn | Self::ShareGptEnMultiTurn => "modelscope/share_gpt_en",
            Self::ShareGptZh | Self::ShareGptZhMultiTurn => "modelscope/share_gpt_zh",
            Self::TrieAgenticCoding => "modelscope/trie_agentic_coding",
            Self::TrieCodeQa => "modelscope/trie_code_qa",
            Self::TrieOfficeWork => "modelscope/trie_office_work",
            _ => return None,
        })
    }

    const fn on_hugging_face(self) -> Option<&'static str> {
        Some(match self {
            Self::Flickr8k => "evalscope/flickr8k",
            Self::KontextBench => "evalscope/kontext_bench",
            Self::LongAlpaca => "evalscope/longalpaca",
            Self::Openqa => "evalscope/openqa",
            Self::ShareGptEn | Self::ShareGptEnMultiTurn => "evalscope/share_gpt_en",
            Self::ShareGptZh | Self::ShareGptZhMultiTurn => "evalscope/share_gpt_zh",
            Self::SweSmith => "evalscope/swe_smith",
            Self::TrieAgenticCoding => "evalscope/trie_agentic_coding",
            Self::TrieCodeQa => "evalscope/trie_code_qa",
            Self::TrieOfficeWork => "evalscope/trie_office_work",
            _ => return None,
        })
    }

    /// Returns whether the data set's texts require a tokenizer.
    pub const fn needs_tokenizer(self) -> bool {
        let is_random = matches!(
            self,
            Self::Random
                | Self::RandomEmbedding
                | Self::RandomEmbeddingBatch
                | Self::RandomMultiTurn
                | Self::RandomRerank
                | Self::RandomVl
        );
        is_random || self.is_trie()
    }
}

impl fmt::Display for EvalscopeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for EvalscopeName {
    type Err = SpecError;

    fn from_str(name: &str) -> Result<Self, SpecError> {
        let name = if name == "embed" { "embedding" } else { name };
        let found = Self::ALL.into_iter().find(|known| known.as_str() == name);
        let known = || Self::ALL.map(Self::as_str).join(", ");
        found.ok_or_else(|| SpecError::UnknownName { name: name.to_owned(), known: known() })
    }
}
