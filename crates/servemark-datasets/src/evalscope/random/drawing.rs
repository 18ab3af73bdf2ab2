//! Pictures of a few shapes.

use serde::{Deserialize, Serialize};
use servemark_core::{ImageSize, Media, RequestError};
use servemark_rng::PythonRandom;

use crate::image::{Pixels, png_uri};

/// How a drawn picture keeps its colours (`--image-format`), by Pillow's names. Of its other kinds
/// none can be given a colour and then be written as PNG.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub enum EvalscopePictureMode {
    /// Red, green and blue.
    #[default]
    #[serde(rename = "RGB")]
    Rgb,
    /// The same and how opaque it is, which is wholly.
    #[serde(rename = "RGBA")]
    Rgba,
    /// Places of a palette.
    #[serde(rename = "P")]
    Palette,
}

impl EvalscopePictureMode {
    /// The mode of Pillow's with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "RGB" => Some(Self::Rgb),
            "RGBA" => Some(Self::Rgba),
            "P" => Some(Self::Palette),
            _ => None,
        }
    }
}

/// A picture of one colour with a few shapes on it, described by the draws that make it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawing {
    size: ImageSize,
    mode: EvalscopePictureMode,
    ground: Colour,
    shapes: Vec<Shape>,
}

/// Red, green and blue.
type Colour = [u8; 3];

/// What lies between two points, the first of which is the upper left one.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    kind: Kind,
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
    colour: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Rectangle,
    Ellipse,
    /// From the first point to the second, so many pixels wide.
    Line(i64),
}

impl Drawing {
    /// The next picture.
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

    /// The picture as its mode has it.
    fn pixels(&self) -> Pixels {
        match self.mode {
            EvalscopePictureMode::Rgb => Pixels::Rgb(self.painted(|colour| colour)),
            EvalscopePictureMode::Rgba => {
                Pixels::Rgba(self.painted(|[red, green, blue]| [red, green, blue, u8::MAX]))
            }
            EvalscopePictureMode::Palette => self.in_places(),
        }
    }

    /// Colours stand in the palette in the order in which they are drawn, each once.
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
        Pixels::Places { places, palette }
    }

    /// What each pixel has, line by line.
    fn painted<const N: usize>(&self, paint: impl Fn(Colour) -> [u8; N]) -> Vec<u8> {
        let ImageSize { width, height } = self.size;
        let (width, height) = (width as usize, height as usize);
        let mut pixels = vec![paint(self.ground); width * height];
        for shape in &self.shapes {
            let painted = paint(shape.colour);
            for (y, line) in (0..).zip(pixels.chunks_exact_mut(width)) {
                for (x, pixel) in (0..).zip(line) {
                    if shape.covers(x, y) {
                        *pixel = painted;
                    }
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
        Self { kind, left, top, right, bottom, colour }
    }

    /// Whether a pixel lies on it. Edges of ellipses and of lines may be a pixel from where another
    /// program has them.
    fn covers(&self, x: i64, y: i64) -> bool {
        let slack = match self.kind {
            Kind::Line(width) => width / 2,
            _ => 0,
        };
        let is_beside = x < self.left - slack || x > self.right + slack;
        let is_above_or_below = y < self.top - slack || y > self.bottom + slack;
        if is_beside || is_above_or_below {
            return false;
        }
        match self.kind {
            Kind::Rectangle => true,
            Kind::Ellipse => self.encloses(x, y),
            Kind::Line(width) => self.runs_by(x, y, width),
        }
    }

    /// Whether the middle of a pixel lies within the ellipse.
    fn encloses(&self, x: i64, y: i64) -> bool {
        let across = |at: i64, from: i64, to: i64| {
            let middle = (2 * at - from - to) as f64;
            (middle / (to - from + 1) as f64).powi(2)
        };
        across(x, self.left, self.right) + across(y, self.top, self.bottom) <= 1.0
    }

    /// Whether the middle of a pixel is within half the width of the line.
    fn runs_by(&self, x: i64, y: i64, width: i64) -> bool {
        let (run, rise) = ((self.right - self.left) as f64, (self.bottom - self.top) as f64);
        let (x, y) = ((x - self.left) as f64, (y - self.top) as f64);
        let length = run.hypot(rise);
        if length == 0.0 {
            return x == 0.0 && y == 0.0;
        }
        let along = (x * run + y * rise) / length;
        let beside = (x * rise - y * run).abs() / length;
        (-0.5..=length + 0.5).contains(&along) && beside <= width as f64 / 2.0
    }
}

/// Two numbers in order, and the second beyond the first unless nothing is.
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
