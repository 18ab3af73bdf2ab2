//! The layout that the tables of SGLang and vLLM share.

use crate::table::{Line, Style};

/// Style with 50 columns: labels 40 wide, values padded to 10.
pub(crate) struct FiftyColumns {
    /// Text before the line of the title.
    pub(crate) before_title: &'static str,
}

impl Style for FiftyColumns {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => format!("{}{:=^50}", self.before_title, format!(" {title} ")),
            Line::Section(title, _) => format!("{title:-^50}"),
            Line::Row(label, value) | Line::Paragraph(label, value) => {
                format!("{label:<40} {value:<10}")
            }
            // Cells are not padded, neither SGLang's percentages nor vLLM's cells.
            Line::Cells(label, values) => format!("{label:<40} {}", values.join(" ")),
            Line::Note(note) | Line::LongNote(note) => note.clone(),
            Line::End => "=".repeat(50),
        }
    }
}
