//! Style of Servemark's table.

use std::fmt::Write as _;
use std::io;

use crate::table::{Line, labelled, wrapped};

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

/// The table's style: labels 18 columns wide, cells at least 9. In a narrower table the columns of a
/// grid are as wide as their cells, and those that still do not fit stand in a second grid below.
pub(super) struct NativeStyle {
    /// Number of columns of a line.
    pub(super) columns: usize,
}

impl NativeStyle {
    /// Writes a table.
    pub(super) fn write(&self, lines: &[Line], out: &mut dyn io::Write) -> io::Result<()> {
        let mut rest = lines;
        while let [line, below @ ..] = rest {
            let (text, is_grid) = match line {
                Line::Section(title, heads) if !heads.is_empty() => {
                    (self.grid(title, heads, &rows(below)), true)
                }
                line => (self.line(line), false),
            };
            writeln!(out, "{text}")?;
            rest = &below[if is_grid { rows(below).len() } else { 0 }..];
        }
        Ok(())
    }

    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => title.clone(),
            Line::Section(title, _) => format!("\n{title}"),
            Line::Row(label, value) if self.has_room_for(value) => {
                format!("  {label:<17} {value}").trim_end().to_owned()
            }
            Line::Cells(label, cells) => format!("  {label:<16}{}", padded(cells, |_| CELL)),
            Line::Row(label, text) | Line::Paragraph(label, text) => self.paragraph(label, text),
            Line::Note(note) => self.note(note),
            Line::LongNote(note) => self.note(&format!("  {note}")),
            Line::End => String::new(),
        }
    }

    /// Formats a grid, with the columns that do not fit in further grids below it.
    fn grid(&self, title: &str, heads: &[String], rows: &[GridRow<'_>]) -> String {
        let room = self.columns.saturating_sub(LABEL);
        let needed = |place: usize| {
            let cells = rows.iter().filter_map(|(_, cells)| cells.get(place));
            let widths = cells.chain(&heads[place..=place]).map(|cell| cell.chars().count());
            widths.max().unwrap_or_default()
        };
        let needed: Vec<usize> = (0..heads.len()).map(needed).collect();
        let is_wide = needed.iter().map(|width| width.max(&CELL) + 1).sum::<usize>() <= room;
        let width = |place: usize| if is_wide { needed[place].max(CELL) } else { needed[place] };
        let mut text = format!("\n{title}");
        let mut first = 0;
        while first < heads.len() {
            let mut used = 0;
            let fitting = (first..heads.len()).take_while(|&place| {
                used += width(place) + 1;
                used <= room
            });
            let last = heads.len().min(first + fitting.count().max(1));
            let line = |cells: &[String]| {
                let shown = &cells[first.min(cells.len())..last.min(cells.len())];
                padded(shown, |place| width(first + place))
            };
            let _ = write!(text, "\n{:LABEL$}{}", "", line(heads));
            for (label, cells) in rows {
                let _ = write!(text, "\n  {label:<16}{}", line(cells));
            }
            first = last;
        }
        text
    }

    /// Formats a name and a text of several lines; the name stands on the first.
    fn paragraph(&self, label: &str, text: &str) -> String {
        labelled(label, LABEL, text, self.columns)
    }

    /// Formats a note, with its indentation on each line if it takes several.
    fn note(&self, note: &str) -> String {
        if note.chars().count() <= self.columns {
            return note.to_owned();
        }
        let indent = note.len() - note.trim_start().len();
        let lines = wrapped(note, self.columns.saturating_sub(indent + 2)).into_iter();
        lines.map(|line| format!("{:indent$}{line}", "")).collect::<Vec<_>>().join("\n")
    }

    fn has_room_for(&self, value: &str) -> bool {
        value.chars().count() <= self.columns.saturating_sub(TEXT)
    }
}

/// A row of a grid: its label and its cells.
type GridRow<'a> = (&'a str, &'a [String]);

/// Returns the rows of a grid: the cells at the beginning of these lines.
fn rows(lines: &[Line]) -> Vec<GridRow<'_>> {
    let cells = lines.iter().map_while(|line| match line {
        Line::Cells(label, cells) => Some((label.as_str(), cells.as_slice())),
        _ => None,
    });
    cells.collect()
}

fn padded(cells: &[String], width: impl Fn(usize) -> usize) -> String {
    cells.iter().enumerate().fold(String::new(), |mut line, (place, cell)| {
        let _ = write!(line, " {cell:>width$}", width = width(place));
        line
    })
}

/// Width of the labels of a grid.
const LABEL: usize = 18;
/// Width of a cell where there is room.
const CELL: usize = 8;
/// Column in which the text beside a name begins.
const TEXT: usize = 20;
