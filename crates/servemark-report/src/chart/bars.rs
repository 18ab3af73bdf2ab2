//! Rectangles on an axis: a histogram, or a row of bars.

use super::ChartStyle;

/// A series of bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Name in the legend; an empty name has no entry.
    pub label: String,
    /// Colour; the other fields have no effect on the bars.
    pub look: ChartStyle,
    /// Bars from left to right.
    pub bars: Vec<Bar>,
}

/// A rectangle in the coordinates of both axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// Left and right edge.
    pub x: (f64, f64),
    /// Bottom and top edge.
    pub y: (f64, f64),
}

impl Bars {
    /// Returns bars of the given colour.
    pub fn new(label: impl Into<String>, hue: usize, bars: Vec<Bar>) -> Self {
        Self {
            label: label.into(),
            look: ChartStyle { hue: Some(hue), style: SQUARE, ..ChartStyle::default() },
            bars,
        }
    }

    /// Returns a histogram of `numbers` with `parts` bins of equal width over their range. Bins are
    /// counted as NumPy counts them: the last bin includes its upper edge.
    pub fn histogram(label: impl Into<String>, hue: usize, numbers: &[f64], parts: usize) -> Self {
        let edges = edges(numbers, parts);
        let mut counts = vec![0.0; parts];
        for number in numbers {
            let after = edges[1..parts].partition_point(|edge| edge <= number);
            counts[after] += 1.0;
        }
        let bars = edges.windows(2).zip(counts);
        Self::new(
            label,
            hue,
            bars.map(|(ends, count)| Bar { x: (ends[0], ends[1]), y: (0.0, count) }).collect(),
        )
    }
}

/// Returns the `parts + 1` edges of a histogram's bins. If all numbers are equal the range is 1
/// wide; if there are none it is 0 to 1.
fn edges(numbers: &[f64], parts: usize) -> Vec<f64> {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = match (low <= high, low < high) {
        (false, _) => (0.0, 1.0),
        (_, false) => (low - 0.5, high + 0.5),
        _ => (low, high),
    };
    let step = (high - low) / parts as f64;
    let mut edges: Vec<f64> = (0..=parts).map(|edge| edge as f64 * step + low).collect();
    edges[parts] = high;
    edges
}

/// The [`ChartStyle::style`] whose markers are squares.
const SQUARE: usize = 2;
