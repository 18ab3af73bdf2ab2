//! The names under which evalscope's data sets are asked for.

use std::fmt;
use std::str::FromStr;

use super::EvalscopeHub;
use crate::SpecError;

/// A data set by the name that evalscope's `--dataset` gives it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum EvalscopeName {
    /// Texts, one a line.
    Custom,
    /// Conversations, one JSON array a line.
    CustomMultiTurn,
    /// Texts to be embedded, from a file.
    Embedding,
    /// The same, several at once.
    EmbeddingBatch,
    /// Pictures with their captions.
    Flickr8k,
    /// Pictures with what is to be done to them.
    KontextBench,
    /// Texts, conversations or whole requests, one a line.
    LineByLine,
    /// Questions about long texts.
    LongAlpaca,
    /// Questions of MMMU with several pictures.
    MmmuMultiImage,
    /// Questions that have one answer of several.
    OpenDecisions,
    /// Questions in Chinese.
    Openqa,
    /// Prompts of drawn lengths, counted up from a drawn token.
    Random,
    /// Texts of drawn tokens to be embedded.
    RandomEmbedding,
    /// The same, several at once.
    RandomEmbeddingBatch,
    /// Conversations of such prompts.
    RandomMultiTurn,
    /// Queries and documents of drawn tokens.
    RandomRerank,
    /// Prompts of drawn lengths with drawn pictures.
    RandomVl,
    /// Queries and documents, from a file.
    Rerank,
    /// ShareGPT's conversations in English, of which the last turn is asked.
    ShareGptEn,
    /// The same, turn by turn.
    ShareGptEnMultiTurn,
    /// ShareGPT's conversations in Chinese, of which the last turn is asked.
    ShareGptZh,
    /// The same, turn by turn.
    ShareGptZhMultiTurn,
    /// One character again and again, at four lengths.
    SpeedBenchmark,
    /// The same at two greater lengths.
    SpeedBenchmarkLong,
    /// What agents were told while they mended programs.
    SweSmith,
    /// Lengths of what agents said while they wrote programs.
    TrieAgenticCoding,
    /// The same of questions about programs.
    TrieCodeQa,
    /// The same of work in an office.
    TrieOfficeWork,
    /// Recorded requests, sent when they were.
    WorkloadTrace,
}

impl EvalscopeName {
    /// All of them, by the alphabet.
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

    /// The name as it is written.
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

    /// Whether it is one of conversations, each turn of which is sent when the one before it is
    /// answered (`--multi-turn`).
    pub const fn is_multi_turn(self) -> bool {
        matches!(
            self,
            Self::CustomMultiTurn
                | Self::RandomMultiTurn
                | Self::ShareGptEnMultiTurn
                | Self::ShareGptZhMultiTurn
                | Self::SweSmith
                | Self::TrieAgenticCoding
                | Self::TrieCodeQa
                | Self::TrieOfficeWork
        )
    }

    /// The name under which its rows are published on a hub, where they are.
    pub(super) const fn published(self, hub: EvalscopeHub) -> Option<&'static str> {
        match hub {
            EvalscopeHub::HuggingFace => self.on_hugging_face(),
            EvalscopeHub::ModelScope => self.on_modelscope(),
        }
    }

    /// What is a table on ModelScope is none of files that are read here.
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

    /// Whether its texts cannot be made without a tokenizer.
    pub const fn needs_tokenizer(self) -> bool {
        matches!(
            self,
            Self::Random
                | Self::RandomEmbedding
                | Self::RandomEmbeddingBatch
                | Self::RandomMultiTurn
                | Self::RandomRerank
                | Self::RandomVl
                | Self::TrieAgenticCoding
                | Self::TrieCodeQa
                | Self::TrieOfficeWork
        )
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
