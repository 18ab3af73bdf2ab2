//! Plots whose horizontal axis is not the time of a run.

use serde_json::{Value, json};

use crate::pack::{pack_scaled, quantum, rounded};
use crate::series::{Scales, layer, quantum_of};

/// A plot with a horizontal axis that is not the time of a run.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Unit of the values.
    pub(crate) unit: &'static str,
    /// Text beside the title; if empty, the unit.
    pub(crate) note: String,
    pub(crate) axis: Axis,
    pub(crate) scales: Scales,
    /// Lowest and highest share, and the highest share on a tail scale; absent if the values are
    /// not shares.
    pub(crate) span: Option<[f64; 3]>,
    pub(crate) layers: Vec<Value>,
}

/// A horizontal axis. Plots whose axes have one key share a view.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A point with its name and its intervals.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marker {
    pub(crate) name: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) x_range: Option<(f64, f64)>,
    pub(crate) y_range: Option<(f64, f64)>,
}

impl Plot {
    /// Adds a line through points.
    pub(crate) fn line(&mut self, key: &str, hue: usize, points: &[(f64, f64)]) {
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        self.layers.push(layer("line", key, hue, [("series", curve(&x, &y))]));
    }

    /// Adds a line that is broken into dashes.
    pub(crate) fn dashed(&mut self, key: &str, hue: usize, points: &[(f64, f64)]) {
        self.line(key, hue, points);
        if let Some(line) = self.layers.last_mut() {
            line["dash"] = "5 4".into();
        }
    }

    /// Adds the area between two lines, given as position, lower end and upper end.
    pub(crate) fn band(&mut self, key: &str, hue: usize, ends: &[(f64, f64, f64)]) {
        let x: Vec<f64> = ends.iter().map(|end| end.0).collect();
        let low: Vec<f64> = ends.iter().map(|end| end.1).collect();
        let high: Vec<f64> = ends.iter().map(|end| end.2).collect();
        let ends = [("low", curve(&x, &low)), ("high", curve(&x, &high))];
        self.layers.push(layer("band", key, hue, ends));
    }

    /// Adds points with their names and intervals.
    pub(crate) fn markers(&mut self, key: &str, hue: usize, markers: &[Marker]) {
        let points = markers.iter().map(Marker::json).collect();
        self.layers.push(layer("markers", key, hue, [("points", points)]));
    }

    /// Adds points with their names and intervals, and a line through them in their order.
    pub(crate) fn joined_markers(&mut self, key: &str, hue: usize, markers: &[Marker]) {
        self.markers(key, hue, markers);
        if let Some(layer) = self.layers.last_mut() {
            layer["joined"] = true.into();
        }
    }

    pub(crate) fn json(&self) -> Value {
        let Axis { key, name, unit, kind, low, high } = &self.axis;
        json!({
            "id": self.id, "title": self.title, "unit": self.unit, "note": self.note,
            "scales": self.scales.names(), "span": self.span, "height": 270, "layers": self.layers,
            "axis": {
                "key": key, "name": name, "unit": unit, "kind": kind,
                "low": rounded(*low), "high": rounded(*high),
            },
        })
    }
}

impl Axis {
    /// Returns an axis from zero on that holds all values, with some space beyond the largest.
    pub(crate) fn from_zero(
        key: &str,
        name: &str,
        unit: &'static str,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let high = if largest > 0.0 { largest * 1.06 } else { 1.0 };
        let (key, name) = (key.to_owned(), name.to_owned());
        Self { key, name, unit, kind: "linear", low: 0.0, high }
    }
}

impl Marker {
    fn json(&self) -> Value {
        let low = |range: Option<(f64, f64)>| range.map(|(low, _)| rounded(low));
        let high = |range: Option<(f64, f64)>| range.map(|(_, high)| rounded(high));
        json!({
            "name": self.name, "x": rounded(self.x), "y": rounded(self.y),
            "x_low": low(self.x_range), "x_high": high(self.x_range),
            "y_low": low(self.y_range), "y_high": high(self.y_range),
        })
    }
}

/// Returns a series of the values `y` at the positions `x`.
fn curve(x: &[f64], y: &[f64]) -> Value {
    let (of_x, of_y) = (quantum(x.iter().fold(0.0, |most, x| most.max(x.abs()))), quantum_of(y));
    json!({
        "times": pack_scaled(x.iter().copied(), of_x), "times_factor": of_x,
        "values": pack_scaled(y.iter().copied(), of_y), "factor": of_y,
    })
}
