//! Which times of its own the server reports with an answer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which times of its own the server reports with an answer.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum ReportedTimes {
    /// Those of the route's usual server: SGLang's on `/generate`, vLLM's beside the counts of
    /// OpenAI's routes, Ollama's on its own routes. On OpenAI's routes an imitated engine has those
    /// of its own: llama.cpp its `timings`, vLLM its `metrics`, the others none.
    #[default]
    #[serde(rename = "usual")]
    Usual,
    /// Those of llama.cpp's server on OpenAI's routes, and the usual ones elsewhere.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// None at all.
    #[serde(rename = "none")]
    None,
}

impl ReportedTimes {
    const ALL: [Self; 3] = [Self::Usual, Self::LlamaCpp, Self::None];

    /// Returns the name on a command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::LlamaCpp => "llama.cpp",
            Self::None => "none",
        }
    }
}

impl fmt::Display for ReportedTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ReportedTimes {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|times| times.name() == name);
        named.ok_or_else(|| format!("expected usual, llama.cpp or none, got {name:?}"))
    }
}
