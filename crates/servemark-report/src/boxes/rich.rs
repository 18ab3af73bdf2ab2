//! Tables and panels as `rich` draws them.

use std::iter;

use servemark_core::printable;

use super::widths::{narrowed, widened};
use super::{Align, padded, width};

/// Largest width of a table without a width of its own, in terminal columns.
const CONSOLE: usize = 120;

/// A column: its heading, its alignment, and its width if it is fixed.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    head: String,
    align: Align,
    width: Option<usize>,
}

impl Column {
    /// Returns a right-aligned column.
    pub(crate) fn right(head: &str) -> Self {
        Self { head: head.to_owned(), align: Align::Right, width: None }
    }

    /// Returns a left-aligned column.
    pub(crate) fn left_aligned(head: &str) -> Self {
        Self { align: Align::Left, ..Self::right(head) }
    }

    /// Returns a left-aligned column of fixed width without a heading.
    pub(crate) fn wide(width: usize) -> Self {
        Self { width: Some(width), ..Self::left_aligned("") }
    }
}

/// A table whose rows form groups, separated by lines.
#[derive(Debug, Default)]
pub(crate) struct RichTable {
    title: Option<String>,
    columns: Vec<Column>,
    groups: Vec<Vec<Vec<String>>>,
    width: Option<usize>,
    frame: FrameKind,
}

/// Style of the lines around the cells.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum FrameKind {
    /// Heavy lines around the headings and light lines around the rest; no padding at the outer
    /// edges.
    #[default]
    Headed,
    /// Light lines without headings.
    Plain,
    /// Neither lines nor headings.
    Bare,
}

impl RichTable {
    /// Returns a table with a title and headings.
    pub(crate) fn headed(title: &str, columns: Vec<Column>) -> Self {
        Self { title: Some(title.to_owned()), columns, ..Self::default() }
    }

    /// Returns a table of names and values in light lines; `columns` are the column widths, `width`
    /// the total.
    pub(crate) fn pairs(columns: [usize; 2], width: usize) -> Self {
        let columns = columns.map(Column::wide).to_vec();
        Self { columns, width: Some(width), frame: FrameKind::Plain, ..Self::default() }
    }

    /// Returns a table of names and values without lines, below a title.
    pub(crate) fn bare_pairs(title: &str, columns: [usize; 2], width: usize) -> Self {
        let title = Some(title.to_owned());
        Self { title, frame: FrameKind::Bare, ..Self::pairs(columns, width) }
    }

    /// Sets the total width.
    pub(crate) fn sized(self, width: usize) -> Self {
        Self { width: Some(width), ..self }
    }

    /// Sets the rows, as one group.
    pub(crate) fn with_rows(self, rows: Vec<Vec<String>>) -> Self {
        self.with_groups(vec![rows])
    }

    /// Sets the groups of rows and makes their cells printable.
    pub(crate) fn with_groups(self, mut groups: Vec<Vec<Vec<String>>>) -> Self {
        for cell in groups.iter_mut().flatten().flatten() {
            *cell = printable(cell).into_owned();
        }
        Self { groups, ..self }
    }

    /// Returns the table as text; every line ends in a newline.
    pub(crate) fn text(&self) -> String {
        let widths = self.widths();
        let mut lines = Vec::new();
        let whole = widths.iter().sum::<usize>() + self.edges();
        lines.extend(self.title.iter().map(|title| padded(title, whole, Align::Center)));
        if self.frame == FrameKind::Headed {
            let heads: Vec<String> =
                self.columns.iter().map(|column| column.head.clone()).collect();
            lines.push(rule(['┏', '━', '┳', '┓'], &widths));
            lines.extend(self.row(&heads, &widths, '┃'));
            lines.push(rule(['┡', '━', '╇', '┩'], &widths));
        } else if self.frame == FrameKind::Plain {
            lines.push(rule(['┌', '─', '┬', '┐'], &widths));
        }
        for (number, group) in self.groups.iter().enumerate() {
            if number > 0 {
                lines.push(rule(['├', '─', '┼', '┤'], &widths));
            }
            lines.extend(group.iter().flat_map(|row| self.row(row, &widths, '│')));
        }
        if self.frame != FrameKind::Bare {
            lines.push(rule(['└', '─', '┴', '┘'], &widths));
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }

    /// Returns the number of terminal columns taken by the lines between and beside the cells.
    fn edges(&self) -> usize {
        if self.frame == FrameKind::Bare { 0 } else { self.columns.len() + 1 }
    }

    /// Returns the padding left and right of a cell's text.
    fn room(&self, column: usize) -> (usize, usize) {
        let is_outer = |edge: usize| self.frame == FrameKind::Headed && column == edge;
        (usize::from(!is_outer(0)), usize::from(!is_outer(self.columns.len() - 1)))
    }

    fn widths(&self) -> Vec<usize> {
        let room = self.width.unwrap_or(CONSOLE) - self.edges();
        let natural = (0..self.columns.len()).map(|column| self.natural(column)).collect();
        let may_shrink: Vec<bool> =
            self.columns.iter().map(|column| column.width.is_none()).collect();
        let fitting = narrowed(natural, &may_shrink, room);
        if self.width.is_some() { widened(fitting, room) } else { fitting }
    }

    /// Returns the width of a column with its padding: the fixed width, or else the width of its
    /// longest line.
    fn natural(&self, column: usize) -> usize {
        let (left, right) = self.room(column);
        let head = self.columns[column].head.lines();
        let cells = self.groups.iter().flatten().map(|row| row[column].as_str());
        let text = head.chain(cells).map(width).max().unwrap_or_default();
        left + self.columns[column].width.unwrap_or(text) + right
    }

    /// Draws a row in as many lines as its longest cell needs. Headings are aligned to the bottom.
    fn row(&self, cells: &[String], widths: &[usize], side: char) -> Vec<String> {
        let text_width = |column: usize| {
            let (left, right) = self.room(column);
            widths[column].saturating_sub(left + right)
        };
        let cells = cells.iter().enumerate();
        let cells: Vec<Vec<String>> =
            cells.map(|(column, cell)| wrapped(cell, text_width(column))).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        let is_head = side == '┃';
        let line = |number: usize| {
            let shown = cells.iter().enumerate().map(|(column, lines)| {
                let above = if is_head { height - lines.len() } else { 0 };
                let text = number.checked_sub(above).and_then(|own| lines.get(own));
                let (left, right) = self.room(column);
                let text = text.map_or("", String::as_str);
                let text = padded(text, text_width(column), self.columns[column].align);
                format!("{}{text}{}", " ".repeat(left), " ".repeat(right))
            });
            let shown: Vec<String> = shown.collect();
            match self.frame {
                FrameKind::Bare => shown.concat(),
                _ => format!("{side}{}{side}", shown.join(&side.to_string())),
            }
        };
        (0..height).map(line).collect()
    }
}

fn rule([left, fill, cross, right]: [char; 4], widths: &[usize]) -> String {
    let fills = widths.iter().map(|width| fill.to_string().repeat(*width));
    format!("{left}{}{right}", fills.collect::<Vec<_>>().join(&cross.to_string()))
}

/// Wraps a text between words to `columns` terminal columns. A word that is longer is cut.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| broken(line, columns)).collect()
}

fn broken(line: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if width(last) + width(word.trim_end()) <= columns || last.is_empty() {
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| cut(line.trim_end(), columns)).collect()
}

/// Cuts a text that is too long and ends it with an ellipsis (`…`).
fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for sign in text.chars() {
        if width(&kept) + width(sign.encode_utf8(&mut [0; 4])) >= columns {
            break;
        }
        kept.push(sign);
    }
    kept.extend(iter::once('…'));
    kept
}

/// Draws a title in a frame with round corners of the given total width.
pub(crate) fn panel(title: &str, width: usize) -> String {
    let line = "─".repeat(width - 2);
    let title = padded(&printable(title), width - 4, Align::Left);
    format!("╭{line}╮\n│ {title} │\n╰{line}╯\n")
}
