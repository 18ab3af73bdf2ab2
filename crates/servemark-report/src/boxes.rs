//! Tables in boxes, as Python's libraries draw them: one writer, and a frame as a value.

use std::io;

/// A table in a box. Its cells are single lines of narrow letters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boxed {
    heads: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

/// On which side of its column a text stands. Closed: there is no fourth.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Align {
    /// An odd blank goes to the right.
    Center,
    #[default]
    Left,
    Right,
}

/// What a box is drawn with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) top: Rule,
    /// The signs before, between and after the heads.
    pub(crate) head_bars: [char; 3],
    pub(crate) below_heads: Rule,
    /// The signs before, between and after the cells of a row.
    pub(crate) bars: [char; 3],
    /// What stands between two rows, if anything does.
    pub(crate) between: Option<Rule>,
    pub(crate) bottom: Rule,
    /// By how much a column is wider than its head at least.
    pub(crate) head_room: usize,
}

/// A line across a box: its left end, its stroke, where it crosses a column's edge, its right end.
pub(crate) type Rule = [char; 4];

impl Frame {
    /// `tabulate`'s `fancy_grid`.
    pub(crate) const FANCY_GRID: Self = Self {
        top: ['╒', '═', '╤', '╕'],
        head_bars: ['│'; 3],
        below_heads: ['╞', '═', '╪', '╡'],
        bars: ['│'; 3],
        between: Some(['├', '─', '┼', '┤']),
        bottom: ['╘', '═', '╧', '╛'],
        head_room: 2,
    };
    /// Signs that every terminal has.
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
    /// A table with these heads, each with the side on which its column stands.
    pub(crate) fn new<'a>(heads: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let (heads, aligns) =
            heads.into_iter().map(|(head, align)| (head.to_owned(), align)).unzip();
        Self { heads, aligns, rows: Vec::new() }
    }

    /// Appends a row, of as many cells as there are heads.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn write(&self, frame: &Frame, out: &mut dyn io::Write) -> io::Result<()> {
        let widths = self.widths(frame.head_room);
        writeln!(out, "{}", across(frame.top, &widths))?;
        writeln!(out, "{}", self.line(frame.head_bars, &self.heads, &widths))?;
        writeln!(out, "{}", across(frame.below_heads, &widths))?;
        for (place, row) in self.rows.iter().enumerate() {
            if let Some(rule) = frame.between.filter(|_| place > 0) {
                writeln!(out, "{}", across(rule, &widths))?;
            }
            writeln!(out, "{}", self.line(frame.bars, row, &widths))?;
        }
        writeln!(out, "{}", across(frame.bottom, &widths))
    }

    fn widths(&self, head_room: usize) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().map(|row| width(&row[column]));
            cells.fold(width(&self.heads[column]) + head_room, usize::max)
        };
        (0..self.heads.len()).map(widest).collect()
    }

    fn line(&self, [left, inner, right]: [char; 3], cells: &[String], widths: &[usize]) -> String {
        let cells = cells.iter().zip(&self.aligns).zip(widths);
        let cells: Vec<String> =
            cells.map(|((cell, align), width)| format!(" {} ", align.pad(cell, *width))).collect();
        format!("{left}{}{right}", cells.join(&inner.to_string()))
    }
}

impl Align {
    fn pad(self, text: &str, width: usize) -> String {
        match self {
            Self::Center => format!("{text:^width$}"),
            Self::Left => format!("{text:<width$}"),
            Self::Right => format!("{text:>width$}"),
        }
    }
}

fn across([left, stroke, crossing, right]: Rule, widths: &[usize]) -> String {
    let strokes = widths.iter().map(|width| stroke.to_string().repeat(width + 2));
    format!("{left}{}{right}", strokes.collect::<Vec<_>>().join(&crossing.to_string()))
}

fn width(text: &str) -> usize {
    text.chars().count()
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
}
