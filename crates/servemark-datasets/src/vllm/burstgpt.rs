//! Prompts with the lengths of a `BurstGPT` trace; the trace's times are ignored.

use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, TokenizerError, parallel};
use servemark_rng::NumpyRandom;

use super::rows::no_file;
use crate::csv_file::{Row, Table};

/// Lengths of the answered GPT-4 requests of a trace.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmBurstgptSpec {
    /// Path of the trace.
    pub path: Option<PathBuf>,
}

/// Token counts of a prompt and its answer.
#[derive(Clone, Copy)]
struct Lengths {
    input: u32,
    output: u32,
}

impl VllmBurstgptSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let rows = self.rows()?;
        let chosen = choose(rows.len(), count, NumpyRandom::seeded(seed));
        let numbered: Vec<(u64, Lengths)> = (0..).zip(chosen.map(|row| rows[row])).collect();
        let tokenizer = context.tokenizer;
        let vocabulary = u64::from(tokenizer.vocab_size().max(1));
        let sample = |(number, lengths): &(u64, Lengths)| -> Result<Sample, TokenizerError> {
            let ids = (*number..).take(lengths.input as usize).map(|id| (id % vocabulary) as u32);
            let prompt = tokenizer.decode(&ids.collect::<Vec<_>>())?;
            Ok(Sample::new(prompt, lengths.input, lengths.output))
        };
        let samples = parallel::map("making prompts", &numbered, context.progress, sample);
        Ok(samples.into_iter().collect::<Result<_, _>>()?)
    }

    fn rows(&self) -> Result<Vec<Lengths>, DatasetError> {
        let hint = "give BurstGPT's trace with `workload.dataset.path`";
        let path = self.path.as_deref().ok_or_else(|| no_file("burstgpt", hint))?;
        let mut rows = Vec::new();
        Table::open(path, COLUMNS)?.read(|row| {
            if row.text("Model") == Some("GPT-4") && row.tokens(ANSWER)? > 0 {
                rows.push(Lengths { input: at(row, 2)?, output: at(row, 3)? });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if rows.is_empty() {
            let reason = "no request to GPT-4 was answered".to_owned();
            return Err(DatasetError::Nothing { reason });
        }
        Ok(rows)
    }
}

/// Parses a length by column index, because vLLM ignores the names of the columns.
fn at(row: &Row<'_>, place: usize) -> Result<u32, String> {
    let cell = row.cell(place).unwrap_or_default();
    cell.parse().map_err(|_| format!("column {} is not a token count: {cell:?}", place + 1))
}

/// Returns the indices of the rows to send: without repetition if there are enough rows, else drawn
/// with replacement. This is pandas' sampling.
fn choose(rows: usize, count: usize, mut random: NumpyRandom) -> impl Iterator<Item = usize> {
    let chosen = if count <= rows {
        random.permutation(rows)
    } else {
        let drawn = random.randint_vec(0, i64::try_from(rows).unwrap_or(i64::MAX), count);
        drawn.unwrap_or_default().into_iter().map(|row| row.unsigned_abs() as usize).collect()
    };
    chosen.into_iter().take(count)
}

const ANSWER: &str = "Response tokens";

/// Columns that a trace must have.
pub(crate) const COLUMNS: &[&str] = &["Model", ANSWER];
