//! Parts that the final reports of all versions share.

use super::EvalscopeSweep;
use super::number_format::{commas, grouped};
use crate::boxes::RichTable;

/// Title of the report of runs that generate tokens.
pub(super) const TITLE: &str = "Performance Test Summary Report";

/// Title of the report of embeddings and rankings.
pub(super) const TITLE_OF_EMBEDDINGS: &str = "Embedding/Rerank Performance Test Summary";

/// Width of the report, in columns.
pub(super) const WIDTH: usize = 80;

/// Headings of the table of embedding and rerank runs.
pub(super) const POOLED: [&str; 9] = [
    "Conc.",
    "Rate",
    "RPS",
    "Avg\nLat.(s)",
    "P99\nLat.(s)",
    "Avg\nInp.TPS",
    "P99\nInp.TPS",
    "Avg\nInp.Tok",
    "Success\nRate",
];

/// Returns the labels of the total token count and of the token rate.
pub(super) fn token_names(sweep: &EvalscopeSweep<'_>) -> [&'static str; 2] {
    if sweep.generates() {
        ["Total Generated", "Avg Output Rate"]
    } else {
        ["Total Input Tokens", "Avg Input Rate"]
    }
}

/// Formats the total token count.
pub(super) fn token_text(sweep: &EvalscopeSweep<'_>) -> String {
    if sweep.generates() {
        // Adding zero turns -0.0 into 0.0.
        format!("{} tokens", grouped(sweep.tokens() + 0.0))
    } else {
        format!("{} tokens", commas(&format!("{:.0}", sweep.tokens())))
    }
}

/// Adds rows of a name and a value.
pub(super) fn pairs(table: RichTable, rows: Vec<(&str, String)>) -> RichTable {
    table.with_rows(rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect())
}
