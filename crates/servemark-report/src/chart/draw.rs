//! Draws a figure: its panels, then the legend beside them.

use std::io;

use plotters::prelude::*;

use super::canvas::{At, Canvas, LINE, Stand};
use super::scale::Span;
use super::{Bar, Bars, ChartStyle, Curve, Figure, Mark, Panel};

/// Returns the width and height of a figure, in hundredths of an inch.
pub(super) fn size(figure: &Figure) -> (u32, u32) {
    let columns = figure.rows.iter().map(Vec::len).max().unwrap_or_default() as u32;
    let legend = if legend(figure).is_empty() { 0 } else { legend_width(figure) };
    let (width, height) = figure.panel_size;
    (columns.max(1) * width + legend, (figure.rows.len() as u32).max(1) * height)
}

pub(super) fn draw<B: DrawingBackend>(figure: &Figure, canvas: &Canvas<'_, B>) -> io::Result<()> {
    let (width, height) = figure.panel_size;
    let (width, height) = (f64::from(width), f64::from(height));
    for (row, panels) in (0..).zip(&figure.rows) {
        for (column, panel) in (0..).zip(panels) {
            let corner = (f64::from(column) * width, f64::from(row) * height);
            Frame::of(panel, corner, (width, height)).draw(panel, canvas)?;
        }
    }
    draw_legend(figure, canvas)
}

/// The plot area of a panel on the canvas, with the value range of each axis.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Span,
    y: Span,
}

impl Frame {
    fn of(panel: &Panel, (left, top): At, (width, height): At) -> Self {
        let marks = || panel.curves.iter().flat_map(|curve| &curve.points);
        let ends = |mark: &Mark| {
            let spread = mark.spread.unwrap_or_default();
            [mark.y - spread, mark.y + spread]
        };
        let boxes = || panel.bars.iter().flat_map(|bars| &bars.bars);
        let titles = panel.title.lines().count() as f64;
        Self {
            left: left + 85.0,
            right: left + width - 15.0,
            top: top + 20.0 + titles * TEXT * LINE,
            bottom: top + height - 55.0,
            x: Span::of(
                panel.x.scale,
                marks().map(|mark| mark.x).chain(boxes().flat_map(|bar| [bar.x.0, bar.x.1])),
            ),
            y: Span::of(
                panel.y.scale,
                marks().flat_map(ends).chain(boxes().flat_map(|bar| [bar.y.0, bar.y.1])),
            ),
        }
    }

    fn draw<B: DrawingBackend>(&self, panel: &Panel, canvas: &Canvas<'_, B>) -> io::Result<()> {
        let middle = f64::midpoint(self.left, self.right);
        canvas.text(&panel.title, (middle, self.top - panel_title(panel)), TEXT, Stand::Below)?;
        self.draw_axes(panel, canvas)?;
        panel.bars.iter().try_for_each(|bars| self.draw_bars(bars, canvas))?;
        panel.curves.iter().try_for_each(|curve| self.draw_curve(curve, canvas))
    }

    fn draw_bars<B: DrawingBackend>(&self, bars: &Bars, canvas: &Canvas<'_, B>) -> io::Result<()> {
        let color = color(bars.look).mix(0.7);
        let outlines = bars.bars.iter().filter_map(|bar| self.outline(bar));
        outlines.into_iter().try_for_each(|outline| canvas.area(&outline, color))
    }

    /// Returns the corners of a bar on the canvas; `None` if its height is zero or an edge cannot
    /// be shown.
    fn outline(&self, bar: &Bar) -> Option<[At; 4]> {
        let (left, right) = (self.across(bar.x.0)?, self.across(bar.x.1)?);
        let (low, high) = (self.up(bar.y.0)?, self.up(bar.y.1)?);
        (low > high).then_some([(left, low), (left, high), (right, high), (right, low)])
    }

    fn draw_axes<B: DrawingBackend>(
        &self,
        panel: &Panel,
        canvas: &Canvas<'_, B>,
    ) -> io::Result<()> {
        for tick in self.x.ticks() {
            let Some(x) = self.across(tick) else { continue };
            canvas.line(&[(x, self.top), (x, self.bottom)], grid(), 0.5)?;
            canvas.text(&number(tick), (x, self.bottom + 6.0), SMALL, Stand::Below)?;
        }
        for tick in self.y.ticks() {
            let Some(y) = self.up(tick) else { continue };
            canvas.line(&[(self.left, y), (self.right, y)], grid(), 0.5)?;
            canvas.text(&number(tick), (self.left - 6.0, y), SMALL, Stand::Left)?;
        }
        let corners = [(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)];
        canvas.line(&corners, BLACK.into(), 1.0)?;
        let (middle, half) =
            (f64::midpoint(self.left, self.right), f64::midpoint(self.top, self.bottom));
        canvas.text(&panel.x.label, (middle, self.bottom + 30.0), TEXT, Stand::Below)?;
        canvas.text(&panel.y.label, (self.left - 62.0, half), TEXT, Stand::Upwards)
    }

    fn draw_curve<B: DrawingBackend>(
        &self,
        curve: &Curve,
        canvas: &Canvas<'_, B>,
    ) -> io::Result<()> {
        let places: Vec<(At, &Mark)> =
            curve.points.iter().filter_map(|mark| Some((self.place(mark)?, mark))).collect();
        self.draw_band(&places, curve.look, canvas)?;
        if curve.look.is_joined {
            let points: Vec<At> = places.iter().map(|(at, _)| *at).collect();
            stroke(&points, curve.look, canvas)?;
        }
        for (at, mark) in &places {
            point(*at, curve.look, canvas)?;
            self.draw_label(&mark.label, *at, canvas)?;
        }
        Ok(())
    }

    /// Draws the label of a point to its right, or to its left if it would extend beyond the panel.
    fn draw_label<B: DrawingBackend>(
        &self,
        label: &str,
        at: At,
        canvas: &Canvas<'_, B>,
    ) -> io::Result<()> {
        let letters = label.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        let end = at.0 + BESIDE + letters as f64 * SMALL * LETTER;
        if end > self.right + BESIDE {
            return canvas.text(label, (at.0 - BESIDE, at.1), SMALL, Stand::Left);
        }
        canvas.text(label, (at.0 + BESIDE, at.1), SMALL, Stand::Right)
    }

    /// Draws the error band of the points as an area around the curve.
    fn draw_band<B: DrawingBackend>(
        &self,
        places: &[(At, &Mark)],
        look: ChartStyle,
        canvas: &Canvas<'_, B>,
    ) -> io::Result<()> {
        let edge = |sign: f64| {
            let end = move |(at, mark): &(At, &Mark)| {
                Some((at.0, self.up(mark.y + sign * mark.spread?)?))
            };
            places.iter().filter_map(end).collect::<Vec<At>>()
        };
        let (upper, mut lower) = (edge(1.0), edge(-1.0));
        if upper.len() < 2 || upper.len() != lower.len() {
            return Ok(());
        }
        lower.reverse();
        canvas.area(&[upper, lower].concat(), color(look).mix(0.2))
    }

    fn place(&self, mark: &Mark) -> Option<At> {
        Some((self.across(mark.x)?, self.up(mark.y)?))
    }

    fn across(&self, number: f64) -> Option<f64> {
        Some(self.left + self.x.share(number)? * (self.right - self.left))
    }

    fn up(&self, number: f64) -> Option<f64> {
        Some(self.bottom - self.y.share(number)? * (self.bottom - self.top))
    }
}

fn panel_title(panel: &Panel) -> f64 {
    8.0 + panel.title.lines().count() as f64 * TEXT * LINE
}

/// Draws a line through points with the dash pattern of the look.
fn stroke<B: DrawingBackend>(
    points: &[At],
    look: ChartStyle,
    canvas: &Canvas<'_, B>,
) -> io::Result<()> {
    let width = 1.5 + look.width as f64;
    let dashes = DASHES[look.style % DASHES.len()];
    if dashes.is_empty() {
        return canvas.line(points, color(look), width);
    }
    broken(points, dashes).iter().try_for_each(|piece| canvas.line(piece, color(look), width))
}

/// Returns the visible pieces of a dashed line; `dashes` alternates the lengths of strokes and
/// gaps.
fn broken(points: &[At], dashes: &[f64]) -> Vec<Vec<At>> {
    let mut pieces = vec![points.first().copied().into_iter().collect::<Vec<At>>()];
    let (mut dash, mut left) = (0, dashes[0]);
    for pair in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let length = (x1 - x0).hypot(y1 - y0);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = (x0 + (x1 - x0) * done / length, y0 + (y1 - y0) * done / length);
            if dash % 2 == 0 {
                pieces.last_mut().expect("there is always a piece").push(at);
            } else {
                pieces.push(vec![at]);
            }
            dash += 1;
            left = dashes[dash % dashes.len()];
        }
        left -= length - done;
        if dash % 2 == 0 {
            pieces.last_mut().expect("there is always a piece").push((x1, y1));
        }
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

fn point<B: DrawingBackend>(
    (x, y): At,
    look: ChartStyle,
    canvas: &Canvas<'_, B>,
) -> io::Result<()> {
    const R: f64 = 4.0;
    let color = color(look);
    match look.style % 4 {
        1 => {
            canvas.line(&[(x - R, y - R), (x + R, y + R)], color, 2.0)?;
            canvas.line(&[(x - R, y + R), (x + R, y - R)], color, 2.0)
        }
        2 => canvas.area(&[(x - R, y - R), (x + R, y - R), (x + R, y + R), (x - R, y + R)], color),
        3 => canvas.area(&[(x, y - R), (x + R, y + R), (x - R, y + R)], color),
        _ => canvas.disc((x, y), R, color),
    }
}

/// Returns one legend entry per distinct name, in the order of the panels.
fn legend(figure: &Figure) -> Vec<(&str, ChartStyle)> {
    let named = figure.rows.iter().flatten().flat_map(|panel| {
        let bars = panel.bars.iter().map(|bars| (bars.label.as_str(), bars.look));
        bars.chain(panel.curves.iter().map(|curve| (curve.label.as_str(), curve.look)))
    });
    let mut entries: Vec<(&str, ChartStyle)> = Vec::new();
    for entry in named.filter(|(label, _)| !label.is_empty()) {
        if entries.iter().all(|(label, _)| *label != entry.0) {
            entries.push(entry);
        }
    }
    entries
}

fn legend_width(figure: &Figure) -> u32 {
    let lines = legend(figure).into_iter().flat_map(|(label, _)| label.lines());
    let longest = lines.map(|line| line.chars().count()).max().unwrap_or_default();
    60 + longest as u32 * 8
}

fn draw_legend<B: DrawingBackend>(figure: &Figure, canvas: &Canvas<'_, B>) -> io::Result<()> {
    let left = f64::from(size(figure).0 - legend_width(figure)) + 5.0;
    let mut y = 40.0;
    for (label, look) in legend(figure) {
        if look.is_joined {
            stroke(&[(left, y), (left + 30.0, y)], look, canvas)?;
        }
        point((left + 15.0, y), look, canvas)?;
        canvas.text(label, (left + 40.0, y), TEXT, Stand::Right)?;
        y += (label.lines().count() as f64 * LINE + 0.4) * TEXT;
    }
    Ok(())
}

fn color(look: ChartStyle) -> RGBAColor {
    let (r, g, b) = look.hue.map_or(GREY, |hue| HUES[hue % HUES.len()]);
    RGBColor(r, g, b).mix(if look.hue.is_some() { 1.0 } else { 0.6 })
}

fn grid() -> RGBAColor {
    BLACK.mix(0.15)
}

fn number(tick: f64) -> String {
    servemark_pyjson::general(if tick.abs() < 1e-12 { 0.0 } else { tick })
}

/// Eight colours that remain distinct for viewers with red-green colour blindness (after Okabe and
/// Ito).
const HUES: [(u8, u8, u8); 8] = [
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (140, 130, 20),
    (0, 0, 0),
];
const GREY: (u8, u8, u8) = (128, 128, 128);
const DASHES: [&[f64]; 4] = [&[], &[8.0, 5.0], &[2.0, 4.0], &[8.0, 4.0, 2.0, 4.0]];
const TEXT: f64 = 15.0;
const SMALL: f64 = 12.0;
/// Distance of a label from its point, in hundredths of an inch.
const BESIDE: f64 = 7.0;
/// Average width of a letter, relative to the font size.
const LETTER: f64 = 0.55;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_is_as_long_as_its_strokes() {
        let pieces = broken(&[(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)], &[8.0, 4.0]);
        assert_eq!(pieces, [vec![(0.0, 0.0), (8.0, 0.0)], vec![(10.0, 2.0), (10.0, 10.0)]]);
        assert!(broken(&[], &[8.0, 4.0]).is_empty());
    }
}
