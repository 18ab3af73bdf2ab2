//! Boxes that stand on an axis: a histogram, or a row of columns.

use super::Look;

/// Boxes that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Bars {
    /// Their name in the legend; none has no place there.
    pub label: String,
    /// How they look, which is a colour.
    pub look: Look,
    /// From left to right.
    pub bars: Vec<Bar>,
}

/// A box between two places of each axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its left and right.
    pub x: (f64, f64),
    /// Its bottom and top.
    pub y: (f64, f64),
}

impl Bars {
    /// Boxes of a colour.
    pub fn new(label: impl Into<String>, hue: usize, bars: Vec<Bar>) -> Self {
        Self {
            label: label.into(),
            look: Look { hue: Some(hue), style: SQUARE, ..Look::default() },
            bars,
        }
    }

    /// How often numbers lie in each of so many equally wide parts of their range, as NumPy counts
    /// them: the last part has its upper end too.
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

/// Of numbers that are all alike, the range is one wide; of none it is that from zero to one.
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

/// The look whose points are boxes.
const SQUARE: usize = 2;
