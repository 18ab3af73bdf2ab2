//! Images with a few random shapes.

use serde::{Deserialize, Serialize};
use servemark_core::{ImageSize, Media, RequestError};
use servemark_pictures::Pixels;
use servemark_rng::PythonRandom;

use super::raster::{Bounds, Run, ellipse, line, rectangle};
use crate::image::png_uri;

/// Colour mode of a generated image (`--image-format`), by Pillow's names. Pillow's other modes
/// cannot be both filled with a colour and written as PNG.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum EvalscopePictureMode {
    /// Red, green and blue (`RGB`).
    #[default]
    #[serde(rename = "RGB")]
    Rgb,
    /// Red, green, blue and alpha; all pixels are fully opaque.
    #[serde(rename = "RGBA")]
    Rgba,
    /// Palette indices.
    #[serde(rename = "P")]
    Palette,
}

impl EvalscopePictureMode {
    /// Returns the mode with this Pillow name, if it is supported.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "RGB" => Some(Self::Rgb),
            "RGBA" => Some(Self::Rgba),
            "P" => Some(Self::Palette),
            _ => None,
        }
    }
}

/// An image of one background colour with a few shapes, stored as the draws that define it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawing {
    size: ImageSize,
    mode: EvalscopePictureMode,
    ground: Colour,
    shapes: Vec<Shape>,
}

/// A colour as red, green and blue.
type Colour = [u8; 3];

/// A shape within the box from its upper left to its lower right corner.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    kind: Kind,
    bounds: Bounds,
    colour: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Rectangle,
    Ellipse,
    /// From the upper left to the lower right corner; the value is the width in pixels.
    Line(i64),
}

impl Drawing {
    /// Draws the next image.
    pub(super) fn draw(
        size: ImageSize,
        mode: EvalscopePictureMode,
        python: &mut PythonRandom,
    ) -> Self {
        let ground = colour(python);
        let shapes = number(python, 1, 5);
        let shapes = (0..shapes).map(|_| Shape::draw(size, python)).collect();
        Self { size, mode, ground, shapes }
    }

    /// Renders the image in its mode.
    fn pixels(&self) -> Pixels {
        match self.mode {
            EvalscopePictureMode::Rgb => Pixels::Rgb(self.painted(|colour| colour)),
            EvalscopePictureMode::Rgba => {
                Pixels::Rgba(self.painted(|[red, green, blue]| [red, green, blue, u8::MAX]))
            }
            EvalscopePictureMode::Palette => self.in_places(),
        }
    }

    /// Renders palette indices. The palette holds each colour once, in drawing order.
    fn in_places(&self) -> Pixels {
        let mut palette: Vec<Colour> = Vec::new();
        for colour in [self.ground].into_iter().chain(self.shapes.iter().map(|shape| shape.colour))
        {
            if !palette.contains(&colour) {
                palette.push(colour);
            }
        }
        let place = |colour| palette.iter().position(|known| *known == colour).unwrap_or_default();
        let places = self.painted(|colour| [place(colour) as u8]);
        Pixels::Indexed { places, palette }
    }

    /// Returns the painted value of each pixel, row by row.
    fn painted<const N: usize>(&self, paint: impl Fn(Colour) -> [u8; N]) -> Vec<u8> {
        let ImageSize { width, height } = self.size;
        let (width, height) = (width as usize, height as usize);
        let mut pixels = vec![paint(self.ground); width * height];
        for shape in &self.shapes {
            let painted = paint(shape.colour);
            for Run { y, from, to } in shape.runs() {
                let row = usize::try_from(y).ok().filter(|row| *row < height);
                let Some(row) = row.and_then(|row| pixels.chunks_exact_mut(width).nth(row)) else {
                    continue;
                };
                for (_, pixel) in (0..).zip(row).filter(|(x, _)| (from..=to).contains(x)) {
                    *pixel = painted;
                }
            }
        }
        pixels.into_flattened()
    }
}

impl Media for Drawing {
    fn uri(&self) -> Result<String, RequestError> {
        png_uri(&self.pixels(), self.size)
    }
}

impl Shape {
    fn draw(size: ImageSize, python: &mut PythonRandom) -> Self {
        let kinds = [Kind::Rectangle, Kind::Ellipse, Kind::Line(0)];
        let kind = python.choice(&kinds).copied().unwrap_or(Kind::Rectangle);
        let (width, height) = (i64::from(size.width) - 1, i64::from(size.height) - 1);
        let [x1, y1] = [width, height].map(|most| number(python, 0, most));
        let [x2, y2] = [width, height].map(|most| number(python, 0, most));
        let (left, right) = apart(x1, x2, width);
        let (top, bottom) = apart(y1, y2, height);
        let colour = colour(python);
        let kind = match kind {
            Kind::Line(_) => Kind::Line(number(python, 1, 5)),
            kind => kind,
        };
        Self { kind, bounds: Bounds { left, top, right, bottom }, colour }
    }

    fn runs(&self) -> Vec<Run> {
        match self.kind {
            Kind::Rectangle => rectangle(self.bounds),
            Kind::Ellipse => ellipse(self.bounds),
            Kind::Line(width) => line(self.bounds, width),
        }
    }
}

/// Returns the two numbers in ascending order. If they are equal, the second is increased by one,
/// up to `most`.
fn apart(one: i64, other: i64, most: i64) -> (i64, i64) {
    let (first, second) = (one.min(other), one.max(other));
    if first == second { (first, (first + 1).min(most)) } else { (first, second) }
}

fn colour(python: &mut PythonRandom) -> Colour {
    [0; 3].map(|_: u8| number(python, 0, 255).unsigned_abs() as u8)
}

fn number(python: &mut PythonRandom, least: i64, most: i64) -> i64 {
    python.randint(least, most).unwrap_or(least)
}
