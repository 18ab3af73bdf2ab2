//! Figures: panels of curves, drawn as SVG or PNG.
//!
//! A [`Figure`] is plain data and knows no metric. Values that an axis cannot show, such as an
//! infinite rate or a zero on a logarithmic axis, are left out.

mod bars;
mod canvas;
mod draw;
#[cfg_attr(not(feature = "png"), path = "chart/no_png.rs")]
mod png;
mod scale;
mod svg;

pub use self::bars::{Bar, Bars};
pub use self::scale::Scale;

/// A figure: rows of panels that share one legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The panels, row by row.
    pub rows: Vec<Vec<Panel>>,
    /// Width and height of a panel, in hundredths of an inch.
    pub panel_size: (u32, u32),
}

/// A panel: one coordinate system with its bars and curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Title; lines are separated by `\n`.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Bars behind the curves; the first is drawn first.
    pub bars: Vec<Bars>,
    /// Curves; the first is drawn first.
    pub curves: Vec<Curve>,
}

/// An axis: its label and its scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Label beside the axis.
    pub label: String,
    /// Scale of the axis.
    pub scale: Scale,
}

/// A series of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend. Curves with equal names share an entry; an empty name has none.
    pub label: String,
    /// Colour and style.
    pub look: ChartStyle,
    /// Points from left to right.
    pub points: Vec<Mark>,
}

/// Colour and style of a curve. Each number selects an entry of a cyclic palette.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ChartStyle {
    /// Index of the colour; `None` is grey.
    pub hue: Option<usize>,
    /// Index of the dash pattern and of the marker shape.
    pub style: usize,
    /// Additional line width, in hundredths of an inch.
    pub width: usize,
    /// Whether the points are joined by a line.
    pub is_joined: bool,
}

/// A point of a curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Half-width of the error band around `y`.
    pub spread: Option<f64>,
    /// Text beside the point; lines are separated by `\n`.
    pub label: String,
}

impl Figure {
    /// Returns a figure with panels of the default size (6.4 by 4.8 inches).
    pub fn new(rows: Vec<Vec<Panel>>) -> Self {
        Self { rows, panel_size: (640, 480) }
    }

    /// Sets the size of a panel, in hundredths of an inch.
    #[must_use]
    pub fn sized(self, width: u32, height: u32) -> Self {
        Self { panel_size: (width, height), ..self }
    }
}

impl Panel {
    /// Returns a panel with the given axes and curves and without bars.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, curves: Vec<Curve>) -> Self {
        Self { title: title.into(), x, y, bars: Vec::new(), curves }
    }

    /// Sets the bars behind the curves.
    #[must_use]
    pub fn with_bars(self, bars: Vec<Bars>) -> Self {
        Self { bars, ..self }
    }
}

impl Axis {
    /// Returns an axis with a label and a scale.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale }
    }

    /// Returns an axis with a linear scale.
    pub fn even(label: impl Into<String>) -> Self {
        Self::new(label, Scale::Linear)
    }
}

impl Curve {
    /// Returns a curve of the given colour whose points are joined.
    pub fn line(label: impl Into<String>, hue: usize, points: Vec<Mark>) -> Self {
        let look = ChartStyle { hue: Some(hue), is_joined: true, ..ChartStyle::default() };
        Self { label: label.into(), look, points }
    }

    /// Returns a curve of grey points that are not joined.
    pub fn dots(label: impl Into<String>, points: Vec<Mark>) -> Self {
        Self { label: label.into(), look: ChartStyle::default(), points }
    }

    /// Sets the colour and style.
    #[must_use]
    pub fn looking(self, look: ChartStyle) -> Self {
        Self { look, ..self }
    }
}

impl ChartStyle {
    /// Returns the look of a joined curve: colour, dash pattern and line width.
    pub fn joined(hue: usize, style: usize, width: usize) -> Self {
        Self { hue: Some(hue), style, width, is_joined: true }
    }
}

impl Mark {
    /// Returns a point without error band and label.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Sets the text beside the point.
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Sets the half-width of the error band.
    #[must_use]
    pub fn within(self, spread: Option<f64>) -> Self {
        Self { spread, ..self }
    }
}
