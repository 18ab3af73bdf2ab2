//! Formats of the results of several runs.

use servemark_report::TableFormat;

/// File format of the results of several runs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum GridFormat {
    /// Comma-separated values with a heading line.
    Csv,
    /// A self-contained page with the table and plots.
    Html,
    /// JSON with every number.
    Json,
    /// A Markdown table.
    #[default]
    Markdown,
}

impl GridFormat {
    /// Returns the format for a file extension, without its dot.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "csv" => Self::Csv,
            "html" => Self::Html,
            "json" => Self::Json,
            "md" => Self::Markdown,
            _ => return None,
        })
    }

    /// Returns the text format; absent for a page.
    pub fn text(self) -> Option<TableFormat> {
        match self {
            Self::Csv => Some(TableFormat::Csv),
            Self::Html => None,
            Self::Json => Some(TableFormat::Json),
            Self::Markdown => Some(TableFormat::Markdown),
        }
    }
}
