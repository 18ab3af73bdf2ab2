//! Pictures of a few shapes.

use servemark_core::{ImageSize, Media, RequestError};
use servemark_rng::PythonRandom;

use crate::image::png_uri;

/// A picture of one colour with a few shapes on it, described by the draws that make it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawing {
    size: ImageSize,
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
    pub(super) fn draw(size: ImageSize, python: &mut PythonRandom) -> Self {
        let ground = colour(python);
        let shapes = number(python, 1, 5);
        let shapes = (0..shapes).map(|_| Shape::draw(size, python)).collect();
        Self { size, ground, shapes }
    }

    /// Red, green and blue of each pixel, line by line.
    fn pixels(&self) -> Vec<u8> {
        let ImageSize { width, height } = self.size;
        let mut pixels = self.ground.repeat(width as usize * height as usize);
        let line = width as usize * self.ground.len();
        for shape in &self.shapes {
            for (y, line) in (0..).zip(pixels.chunks_exact_mut(line)) {
                for (x, pixel) in (0..).zip(line.chunks_exact_mut(self.ground.len())) {
                    if shape.covers(x, y) {
                        pixel.copy_from_slice(&shape.colour);
                    }
                }
            }
        }
        pixels
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
