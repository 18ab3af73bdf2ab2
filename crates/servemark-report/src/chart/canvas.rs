//! Lines, areas and text on any backend of the plotting library.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A drawing area whose unit is a hundredth of an inch.
pub(super) struct Canvas<'a, B: DrawingBackend> {
    pub(super) area: &'a DrawingArea<B, Shift>,
    /// Pixels per unit.
    pub(super) scale: f64,
}

/// Position of a text relative to its anchor point. Closed: figures need no other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stand {
    /// Left of the point, vertically centered.
    Left,
    /// Right of the point, vertically centered.
    Right,
    /// The text is below the point, horizontally centered.
    Below,
    /// Rotated to read upwards, left of the point.
    Upwards,
}

pub(super) type At = (f64, f64);

impl<B: DrawingBackend> Canvas<'_, B> {
    fn pixel(&self, (x, y): At) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }

    #[expect(clippy::cast_sign_loss, reason = "a width is one or more")]
    fn stroke(&self, color: RGBAColor, width: f64) -> ShapeStyle {
        let width = (width * self.scale).round().max(1.0);
        ShapeStyle { color, filled: false, stroke_width: width as u32 }
    }

    pub(super) fn line(&self, points: &[At], color: RGBAColor, width: f64) -> io::Result<()> {
        let pixels: Vec<_> = points.iter().map(|at| self.pixel(*at)).collect();
        io_result::<B>(self.area.draw(&PathElement::new(pixels, self.stroke(color, width))))
    }

    pub(super) fn area(&self, outline: &[At], color: RGBAColor) -> io::Result<()> {
        let pixels: Vec<_> = outline.iter().map(|at| self.pixel(*at)).collect();
        io_result::<B>(self.area.draw(&Polygon::new(pixels, color.filled())))
    }

    pub(super) fn disc(&self, at: At, radius: f64, color: RGBAColor) -> io::Result<()> {
        let radius = (radius * self.scale).round().max(1.0) as i32;
        io_result::<B>(self.area.draw(&Circle::new(self.pixel(at), radius, color.filled())))
    }

    pub(super) fn text(&self, text: &str, at: At, size: f64, stand: Stand) -> io::Result<()> {
        let (anchor, transform) = match stand {
            Stand::Left => (Pos::new(HPos::Right, VPos::Center), FontTransform::None),
            Stand::Right => (Pos::new(HPos::Left, VPos::Center), FontTransform::None),
            Stand::Below => (Pos::new(HPos::Center, VPos::Top), FontTransform::None),
            Stand::Upwards => (Pos::new(HPos::Center, VPos::Bottom), FontTransform::Rotate270),
        };
        for (row, line) in (0..).zip(text.lines()) {
            let at = (at.0, at.1 + f64::from(row) * size * LINE);
            let font = (FAMILY, size * self.scale).into_font().transform(transform.clone());
            let style = font.color(&BLACK).pos(anchor);
            io_result::<B>(self.area.draw(&Text::new(line, self.pixel(at), style)))?;
        }
        Ok(())
    }
}

fn io_result<B: DrawingBackend>(
    result: Result<(), DrawingAreaErrorKind<B::ErrorType>>,
) -> io::Result<()> {
    result.map_err(|error| io::Error::other(error.to_string()))
}

/// Font family of all text; every SVG viewer has one of this family.
pub(super) const FAMILY: &str = "sans-serif";
/// Line spacing, in multiples of the font size.
pub(super) const LINE: f64 = 1.25;
