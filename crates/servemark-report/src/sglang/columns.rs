//! The layout of SGLang's tables and its format of numbers.

use crate::table::{Line, Style};

/// Formats a number with two decimals, or its absence.
pub(super) fn fixed(value: Option<f64>) -> String {
    value.map_or_else(absent, |value| format!("{value:.2}"))
}

/// Text in the place of an absent number.
pub(super) fn absent() -> String {
    "n/a".to_owned()
}

/// Style with 50 columns: labels 40 wide, values padded to 10.
pub(super) struct FiftyColumns;

impl Style for FiftyColumns {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => format!("\n{:=^50}", format!(" {title} ")),
            Line::Section(title, _) => format!("{title:-^50}"),
            Line::Row(label, value) | Line::Paragraph(label, value) => {
                format!("{label:<40} {value:<10}")
            }
            // SGLang does not pad a percentage.
            Line::Cells(label, values) => format!("{label:<40} {}", values.join(" ")),
            Line::Note(note) | Line::LongNote(note) => note.clone(),
            Line::End => "=".repeat(50),
        }
    }
}
