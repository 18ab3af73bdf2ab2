//! Tables drawn with box characters, as Python's libraries draw them: one writer, with the frame as
//! a value. The `rich` module has the tables that wrap their text. Every cell is made printable.

mod rich;
mod widths;

use std::io;

use servemark_core::printable;
use unicode_width::UnicodeWidthStr;

pub(crate) use self::rich::{Column, RichTable, panel};

/// A table whose cells are single lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boxed {
    heads: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

/// Alignment of the text in a column. Closed: `tabulate` has no fifth.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Align {
    /// Centered; an odd blank goes to the right.
    Center,
    #[default]
    Left,
    /// Decimal points aligned; the heading is right-aligned.
    Point,
    Right,
}

/// Characters that a box is drawn with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) top: Rule,
    /// Characters before, between and after the headings.
    pub(crate) head_bars: [char; 3],
    pub(crate) below_heads: Rule,
    /// Characters before, between and after the cells of a row.
    pub(crate) bars: [char; 3],
    /// Line between two rows, if there is one.
    pub(crate) between: Option<Rule>,
    pub(crate) bottom: Rule,
    /// Smallest number of columns by which a table column is wider than its heading.
    pub(crate) head_room: usize,
}

/// A horizontal line of a box: left end, stroke, crossing with a column edge, right end.
pub(crate) type Rule = [char; 4];

impl Frame {
    /// Lines of the format `fancy_grid` of Python's `tabulate`.
    pub(crate) const FANCY_GRID: Self = Self {
        top: ['╒', '═', '╤', '╕'],
        head_bars: ['│'; 3],
        below_heads: ['╞', '═', '╪', '╡'],
        bars: ['│'; 3],
        between: Some(['├', '─', '┼', '┤']),
        bottom: ['╘', '═', '╧', '╛'],
        head_room: 2,
    };
    /// Lines of the format `github` of Python's `tabulate`, which has neither top nor bottom.
    const GITHUB: Self = Self {
        top: ['|', '-', '|', '|'],
        below_heads: ['|', '-', '|', '|'],
        bottom: ['|', '-', '|', '|'],
        head_room: 2,
        ..Self::PLAIN
    };
    /// Lines of the format `grid` of Python's `tabulate`.
    pub(crate) const GRID: Self = Self {
        below_heads: ['+', '=', '+', '+'],
        between: Some(Self::PLAIN.top),
        head_room: 2,
        ..Self::PLAIN
    };
    /// Lines of the format `simple_outline` of Python's `tabulate`.
    pub(crate) const OUTLINE: Self = Self {
        top: ['┌', '─', '┬', '┐'],
        head_bars: ['│'; 3],
        below_heads: ['├', '─', '┼', '┤'],
        bars: ['│'; 3],
        between: None,
        bottom: ['└', '─', '┴', '┘'],
        head_room: 2,
    };
    /// Lines of the format `simple_grid` of Python's `tabulate`.
    pub(crate) const OUTLINE_GRID: Self =
        Self { between: Some(Self::OUTLINE.below_heads), ..Self::OUTLINE };
    /// Lines of the format `pretty` of Python's `tabulate`: plain ASCII.
    pub(crate) const PLAIN: Self = Self {
        top: ['+', '-', '+', '+'],
        head_bars: ['|'; 3],
        below_heads: ['+', '-', '+', '+'],
        bars: ['|'; 3],
        between: None,
        bottom: ['+', '-', '+', '+'],
        head_room: 0,
    };
}

impl Boxed {
    /// Returns an empty table with these headings, each with the alignment of its column.
    pub(crate) fn new<'a>(heads: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let (heads, aligns) =
            heads.into_iter().map(|(head, align)| (printable(head).into_owned(), align)).unzip();
        Self { heads, aligns, rows: Vec::new() }
    }

    /// Appends a row; it must have one cell per heading.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass what they have just made")]
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| printable(cell).into_owned()).collect());
    }

    /// Appends several rows.
    pub(crate) fn with_rows(mut self, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        rows.into_iter().for_each(|cells| self.row(cells));
        self
    }

    pub(crate) fn write(&self, frame: &Frame, out: &mut dyn io::Write) -> io::Result<()> {
        self.lines(frame).iter().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// Returns the table as text without a final newline.
    pub(crate) fn text(&self, frame: &Frame) -> String {
        self.lines(frame).join("\n")
    }

    /// Returns the table as Markdown, as `tabulate`'s `github` format, without a final newline.
    pub(crate) fn github(&self) -> String {
        let lines = self.lines(&Frame::GITHUB);
        lines[1..lines.len() - 1].join("\n")
    }

    fn lines(&self, frame: &Frame) -> Vec<String> {
        let rows = self.pointed();
        let widths = self.widths(&rows, frame.head_room);
        let mut lines = vec![
            across(frame.top, &widths),
            self.line(frame.head_bars, &self.heads, &widths),
            across(frame.below_heads, &widths),
        ];
        for (place, row) in rows.iter().enumerate() {
            let rule = frame.between.filter(|_| place > 0);
            lines.extend(rule.map(|rule| across(rule, &widths)));
            lines.push(self.line(frame.bars, row, &widths));
        }
        lines.push(across(frame.bottom, &widths));
        lines
    }

    fn widths(&self, rows: &[Vec<String>], head_room: usize) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| width(&row[column]));
            cells.fold(width(&self.heads[column]) + head_room, usize::max)
        };
        (0..self.heads.len()).map(widest).collect()
    }

    /// Returns the rows with blanks appended in decimal-aligned columns, so that all cells have the
    /// same number of characters after the decimal point.
    fn pointed(&self) -> Vec<Vec<String>> {
        let mut rows = self.rows.clone();
        let aligns = self.aligns.iter().enumerate();
        for (column, _) in aligns.filter(|(_, align)| **align == Align::Point) {
            let most = rows.iter().map(|row| decimals(&row[column])).max().unwrap_or_default();
            for row in &mut rows {
                let missing = most - decimals(&row[column]);
                row[column].push_str(&" ".repeat(missing));
            }
        }
        rows
    }

    fn line(&self, [left, inner, right]: [char; 3], cells: &[String], widths: &[usize]) -> String {
        let cells = cells.iter().zip(&self.aligns).zip(widths);
        let cells: Vec<String> = cells
            .map(|((cell, align), width)| format!(" {} ", padded(cell, *width, *align)))
            .collect();
        format!("{left}{}{right}", cells.join(&inner.to_string()))
    }
}

/// Pads a text to a number of terminal columns; a longer text is returned unchanged.
pub(crate) fn padded(text: &str, columns: usize, align: Align) -> String {
    let room = columns.saturating_sub(width(text));
    let left = match align {
        Align::Center => room / 2,
        Align::Left => 0,
        Align::Point | Align::Right => room,
    };
    format!("{}{text}{}", " ".repeat(left), " ".repeat(room - left))
}

/// Returns the number of characters from the decimal point on; without one, from the exponent on.
fn decimals(number: &str) -> usize {
    number.len() - number.find(['.', 'e']).unwrap_or(number.len())
}

fn across([left, stroke, crossing, right]: Rule, widths: &[usize]) -> String {
    let strokes = widths.iter().map(|width| stroke.to_string().repeat(width + 2));
    format!("{left}{}{right}", strokes.collect::<Vec<_>>().join(&crossing.to_string()))
}

/// Returns the number of terminal columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(frame: &Frame, expected: &str) {
        let mut table =
            Boxed::new([("What", Align::Left), ("N", Align::Center), ("Count", Align::Right)]);
        table.row(vec!["a long one".to_owned(), "10".to_owned(), "5".to_owned()]);
        table.row(vec!["b".to_owned(), "7".to_owned(), "1234567".to_owned()]);
        let mut out = Vec::new();
        table.write(frame, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_frame_is_drawn_around_the_widest_cells() {
        check(
            &Frame::FANCY_GRID,
            "\
╒════════════╤═════╤═════════╕
│ What       │  N  │   Count │
╞════════════╪═════╪═════════╡
│ a long one │ 10  │       5 │
├────────────┼─────┼─────────┤
│ b          │  7  │ 1234567 │
╘════════════╧═════╧═════════╛
",
        );
        check(
            &Frame::PLAIN,
            "\
+------------+----+---------+
| What       | N  |   Count |
+------------+----+---------+
| a long one | 10 |       5 |
| b          | 7  | 1234567 |
+------------+----+---------+
",
        );
    }

    #[test]
    fn decimal_points_stand_below_each_other() {
        let rows = [["a", "1"], ["b", "2.25"], ["c", "1.5e+07"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let table = Boxed::new([("n", Align::Left), ("value", Align::Point)]).with_rows(rows);
        let text = table.text(&Frame::OUTLINE);
        let cells: Vec<&str> = text.lines().filter(|line| line.starts_with('│')).collect();
        let expected =
            ["│ n   │   value │", "│ a   │ 1       │", "│ b   │ 2.25    │", "│ c   │ 1.5e+07 │"];
        assert_eq!(cells, expected);
    }
}
