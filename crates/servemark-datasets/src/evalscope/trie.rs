//! Traces of agents that say how long everything was and not what it was.

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{EvalscopeData, EvalscopeName};

/// Traces of agents that say how long everything was; the words are drawn.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalscopeTrieSpec {
    /// What they worked on.
    pub workload: TrieWorkload,
    /// The file; without one, it is downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Tokens with which every turn begins, besides its own (`--prefix-length`).
    #[serde(default)]
    pub prefix_tokens: u32,
    /// After how many turns a conversation is cut (`--max-turns`).
    #[serde(default)]
    pub most_turns: Option<NonZero<u32>>,
}

impl EvalscopeTrieSpec {
    pub(super) fn of(workload: TrieWorkload) -> EvalscopeData {
        EvalscopeData::Trie(Self { workload, path: None, prefix_tokens: 0, most_turns: None })
    }
}

/// What the agents of a trace worked on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrieWorkload {
    /// Programs.
    AgenticCoding,
    /// Questions about programs.
    CodeQa,
    /// Work in an office.
    OfficeWork,
}

impl TrieWorkload {
    pub(super) fn name(self) -> EvalscopeName {
        match self {
            Self::AgenticCoding => EvalscopeName::TrieAgenticCoding,
            Self::CodeQa => EvalscopeName::TrieCodeQa,
            Self::OfficeWork => EvalscopeName::TrieOfficeWork,
        }
    }
}
