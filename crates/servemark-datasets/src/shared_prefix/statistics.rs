//! The lines that SGLang prints about shared-prefix prompts.

use std::fmt::{self, Write as _};

use servemark_core::Session;

use super::pool::{Piece, Pool};
use super::{Counting, SharedPrefixSpec};
use crate::{DatasetName, Popularity, PromptForm, Summary};

impl SharedPrefixSpec {
    pub(super) fn summary(&self, pool: &Pool, sessions: &[Session]) -> Summary {
        let summary = Summary::of_sessions(DatasetName::GeneratedSharedPrefix, sessions);
        let mut lines = String::new();
        self.write(pool, sessions, &mut lines).expect("a string takes what is written");
        summary.in_lines(lines)
    }

    fn write(&self, pool: &Pool, sessions: &[Session], to: &mut String) -> fmt::Result {
        writeln!(to, "\nGenerated shared prefix dataset statistics:")?;
        writeln!(to, "Number of groups: {}", self.groups)?;
        writeln!(to, "Prompts per group: {}", self.prompts_per_group)?;
        writeln!(to, "Number of turns: {}", self.turns)?;
        self.popularity.write(to)?;
        writeln!(to, "Total prompts: {}", sessions.len())?;
        if self.counting == Counting::Exact || self.form == PromptForm::TokenIds {
            write_tokens(pool, sessions, to)?;
        }
        Ok(())
    }
}

impl Popularity {
    fn write(self, to: &mut String) -> fmt::Result {
        match self {
            Self::Uniform => writeln!(to, "Group distribution: uniform"),
            Self::Zipf { alpha, .. } => {
                writeln!(to, "Group distribution: zipf")?;
                writeln!(to, "Zipf alpha: {}", servemark_pyjson::repr(alpha.value()))
            }
        }
    }
}

/// Writes the token counts. The totals are of first turns only, as in SGLang.
fn write_tokens(pool: &Pool, sessions: &[Session], to: &mut String) -> fmt::Result {
    let firsts = || sessions.iter().map(|session| &session.first);
    let input: u64 = firsts().map(|sample| u64::from(sample.prompt_tokens)).sum();
    let output: u64 = firsts().map(|sample| u64::from(sample.output_tokens)).sum();
    writeln!(to, "Total input tokens: {input}")?;
    writeln!(to, "Total output tokens: {output}")?;
    writeln!(to, "Average system prompt length: {:.1} tokens", average(&pool.systems))?;
    writeln!(to, "Average question length: {:.1} tokens\n", average(&pool.questions))
}

fn average(pieces: &[Piece]) -> f64 {
    let tokens: u64 = pieces.iter().map(|piece| u64::from(piece.tokens)).sum();
    tokens as f64 / pieces.len() as f64
}
