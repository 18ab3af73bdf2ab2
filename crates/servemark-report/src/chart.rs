//! Figures: panels of curves, as a drawing that scales (SVG) or as pixels (PNG).
//!
//! A [`Figure`] is plain data and knows no metric. What cannot be drawn on an axis, such as an
//! infinite rate or a zero on a logarithmic one, is left out.

mod bars;
mod canvas;
mod draw;
#[cfg(feature = "png")]
mod png;
mod scale;
mod svg;

pub use self::bars::{Bar, Bars};
pub use self::scale::Scale;

/// Panels in rows, with one legend for all of them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figure {
    /// The panels, row by row.
    pub rows: Vec<Vec<Panel>>,
    /// How wide and how high a panel is, in hundredths of an inch.
    pub panel_size: (u32, u32),
}

/// One coordinate system with its curves.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Panel {
    /// What it shows; lines are parted by `\n`.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// What stands behind the curves, the first at the back.
    pub bars: Vec<Bars>,
    /// What is drawn, the first at the back.
    pub curves: Vec<Curve>,
}

/// What an axis counts, and how its numbers are spread.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Axis {
    /// What it counts.
    pub label: String,
    /// How its numbers are spread.
    pub scale: Scale,
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Curve {
    /// Its name in the legend, where curves of one name are one; none has no place there.
    pub label: String,
    /// How it looks.
    pub look: Look,
    /// From left to right.
    pub points: Vec<Mark>,
}

/// How a curve looks. Numbers choose one of a series of looks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Look {
    /// Its colour; grey without one.
    pub hue: Option<usize>,
    /// How its line is broken and what its points are.
    pub style: usize,
    /// How thick it is.
    pub width: usize,
    /// Whether its points are joined.
    pub is_joined: bool,
}

/// A point of a curve.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Mark {
    /// From left to right.
    pub x: f64,
    /// From bottom to top.
    pub y: f64,
    /// How far it may be off, up and down.
    pub spread: Option<f64>,
    /// What is written beside it; lines are parted by `\n`.
    pub label: String,
}

impl Figure {
    /// Panels of the usual size.
    pub fn new(rows: Vec<Vec<Panel>>) -> Self {
        Self { rows, panel_size: (640, 480) }
    }

    /// The same with panels so wide and high, in hundredths of an inch.
    #[must_use]
    pub fn sized(self, width: u32, height: u32) -> Self {
        Self { panel_size: (width, height), ..self }
    }
}

impl Panel {
    /// A panel between two axes.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, curves: Vec<Curve>) -> Self {
        Self { title: title.into(), x, y, bars: Vec::new(), curves }
    }

    /// The same with boxes behind its curves.
    #[must_use]
    pub fn with_bars(self, bars: Vec<Bars>) -> Self {
        Self { bars, ..self }
    }
}

impl Axis {
    /// An axis that counts something.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale }
    }

    /// An axis whose numbers are spread evenly.
    pub fn even(label: impl Into<String>) -> Self {
        Self::new(label, Scale::Linear)
    }
}

impl Curve {
    /// Points that are joined.
    pub fn line(label: impl Into<String>, hue: usize, points: Vec<Mark>) -> Self {
        let look = Look { hue: Some(hue), is_joined: true, ..Look::default() };
        Self { label: label.into(), look, points }
    }

    /// Grey points that are not.
    pub fn dots(label: impl Into<String>, points: Vec<Mark>) -> Self {
        Self { label: label.into(), look: Look::default(), points }
    }

    /// The same with another look.
    #[must_use]
    pub fn looking(self, look: Look) -> Self {
        Self { look, ..self }
    }
}

impl Look {
    /// A line of a colour, broken and as thick as the numbers say.
    pub fn joined(hue: usize, style: usize, width: usize) -> Self {
        Self { hue: Some(hue), style, width, is_joined: true }
    }
}

impl Mark {
    /// A point.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// The same with something written beside it.
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// The same, which may be off so far.
    #[must_use]
    pub fn within(self, spread: Option<f64>) -> Self {
        Self { spread, ..self }
    }
}
