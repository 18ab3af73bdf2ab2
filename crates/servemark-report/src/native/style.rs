//! Style of Servemark's table: at most 100 columns wide.

use std::iter;

use crate::table::{Line, Style, wrapped};

/// Formats a number with about three significant digits, to fit a column.
pub(super) fn number(value: Option<f64>) -> String {
    match value {
        None => absent(),
        Some(value) if value.abs() >= 10_000.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 100.0 => format!("{value:.1}"),
        Some(value) if value.abs() >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

pub(super) fn unit(value: Option<f64>, unit: &str) -> String {
    match value {
        None => absent(),
        Some(_) => format!("{} {unit}", number(value)),
    }
}

/// Formats a share (0 to 1) in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub(super) fn absent() -> String {
    "-".to_owned()
}

/// Returns a server's message on one line, cut to fit the table.
pub(super) fn one_line(message: &str) -> String {
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let words: String = message.chars().map(clean).take(MESSAGE_WIDTH + 1).collect();
    match words.char_indices().nth(MESSAGE_WIDTH - 3) {
        Some((cut, _)) if words.chars().count() > MESSAGE_WIDTH => format!("{}...", &words[..cut]),
        _ => words,
    }
}

const MESSAGE_WIDTH: usize = 84;

/// The table's style: labels 18 columns wide, cells 9.
pub(super) struct NativeStyle;

impl Style for NativeStyle {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => title.clone(),
            Line::Section(title, heads) if heads.is_empty() => format!("\n{title}"),
            Line::Section(title, heads) => format!("\n{title}\n{:18}{}", "", columns(heads)),
            Line::Row(label, value) => format!("  {label:<17} {value}").trim_end().to_owned(),
            Line::Cells(label, cells) => format!("  {label:<16}{}", columns(cells)),
            Line::Paragraph(label, text) => paragraph(label, text),
            Line::Note(note) => note.clone(),
            Line::LongNote(note) => {
                let lines = wrapped(note, NOTE_WIDTH).into_iter();
                lines.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
            }
            Line::End => String::new(),
        }
    }
}

fn columns(cells: &[String]) -> String {
    let padded: Vec<_> = cells.iter().map(|cell| format!(" {cell:>8}")).collect();
    padded.concat()
}

/// Formats a name and a text of several lines; the name stands on the first.
fn paragraph(label: &str, text: &str) -> String {
    let labels = [label].into_iter().chain(iter::repeat(""));
    let lines = labels.zip(wrapped(text, TEXT_WIDTH));
    let lines = lines.map(|(label, line)| format!("  {label:<17} {line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Width of a paragraph beside its name, in a table of 100 columns.
const TEXT_WIDTH: usize = 80;
/// Width of a note in a table of 100 columns.
const NOTE_WIDTH: usize = 96;
