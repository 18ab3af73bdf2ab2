//! Cases of the memory study.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Figures, idle, tokens};

/// A case of the memory study.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Case {
    /// Streams that have received three pieces and wait for the fourth; the number is that of
    /// streams.
    IdleStreams(usize),
    /// A run's records in memory, as they are kept once they are on disk; the number is that of
    /// tokens.
    KeptTokens(u64),
    /// A run's records in memory, and both tables computed from them; the number is that of tokens.
    ScoredTokens(u64),
    /// A run written to a file: its number of tokens and the path.
    WrittenTokens(u64, PathBuf),
    /// A run's file scored, as `servemark score` does: its number of tokens and the path.
    ReadTokens(u64, PathBuf),
}

/// Measures a case in this process, which must have done nothing else before.
pub fn measure_case(case: &Case) -> anyhow::Result<Figures> {
    match case {
        Case::IdleStreams(streams) => idle::measure(*streams),
        Case::KeptTokens(tokens) => tokens::keep(*tokens),
        Case::ScoredTokens(tokens) => tokens::score(*tokens),
        Case::WrittenTokens(tokens, path) => tokens::write(*tokens, path),
        Case::ReadTokens(tokens, path) => tokens::read(*tokens, path),
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdleStreams(streams) => write!(formatter, "{streams} idle streams"),
            Self::KeptTokens(tokens) => write!(formatter, "{tokens} tokens kept"),
            Self::ScoredTokens(tokens) => write!(formatter, "{tokens} tokens kept and scored"),
            Self::WrittenTokens(tokens, _) => write!(formatter, "{tokens} tokens written"),
            Self::ReadTokens(tokens, _) => write!(formatter, "{tokens} tokens read and scored"),
        }
    }
}
