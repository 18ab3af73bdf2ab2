//! Panels over the time of a run, and the form in which the page's script reads them.

use serde_json::{Value, json};

use crate::pack::{pack_scaled, pack_seconds, quantum};

/// A panel on the time axis of a run's page that comes from elsewhere, for example from the
/// server's own metrics. It shares the axis and the crosshair with the panels of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPanel {
    /// Title of the panel.
    pub title: String,
    /// Unit of its values, such as `requests` or `%`; empty for plain numbers.
    pub unit: String,
    /// What the panel shows, in a sentence.
    pub about: String,
    /// Lines of the panel, at least one.
    pub layers: Vec<SeriesLayer>,
}

/// A line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesLayer {
    /// Name in the key of the panel.
    pub name: String,
    /// Times in seconds since the run's clock started, in order, each with its value; without a
    /// value the line has a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

impl SeriesPanel {
    /// Returns the panel on an axis whose zero is at `zero_s` of the run's clock.
    pub(crate) fn panel(&self, id: String, zero_s: f64) -> Panel {
        let mut panel = Panel::new(id, self.title.clone(), self.unit.clone(), Scales::Linear);
        panel.about.clone_from(&self.about);
        for (hue, layer) in self.layers.iter().enumerate() {
            let points = layer.points.iter();
            let (times, values): (Vec<f64>, Vec<f64>) =
                points.map(|(at, value)| (at - zero_s, value.unwrap_or(f64::NAN))).unzip();
            panel.line(&layer.name, hue % HUES, timed(&times, &values));
        }
        panel
    }
}

/// A panel on the time axis.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) about: String,
    pub(crate) scales: Scales,
    pub(crate) height: u32,
    pub(crate) layers: Vec<Value>,
}

/// Vertical scales that a panel offers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scales {
    /// A linear scale from zero on.
    Linear,
    /// A linear scale that spans only the visible values, with some space around them.
    Near,
    /// A logarithmic scale only.
    Log,
    /// A linear scale first, and a logarithmic one.
    LinearOrLog,
    /// A logarithmic scale first, and a linear one.
    LogOrLinear,
    /// A linear scale of shares first, and one that widens the tail.
    LinearOrTail,
}

impl Panel {
    pub(crate) fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        unit: impl Into<String>,
        scales: Scales,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            unit: unit.into(),
            about: String::new(),
            scales,
            height: 170,
            layers: Vec::new(),
        }
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, key: &str, hue: usize, series: Value) {
        self.layers.push(layer("line", key, hue, [("series", series)]));
    }

    /// Adds the area between two lines.
    pub(crate) fn band(&mut self, key: &str, hue: usize, [low, high]: [Value; 2]) {
        self.layers.push(layer("band", key, hue, [("low", low), ("high", high)]));
    }

    /// Adds the area between two lines as one of several that lie one above the other.
    pub(crate) fn stacked(&mut self, key: &str, hue: usize, ends: [Value; 2]) {
        self.band(key, hue, ends);
        if let Some(band) = self.layers.last_mut() {
            band["stacked"] = true.into();
        }
    }

    /// Adds points.
    pub(crate) fn points(&mut self, key: &str, hue: usize, series: Value) {
        self.layers.push(layer("points", key, hue, [("series", series)]));
    }

    /// Returns the series of the line with this key.
    pub(crate) fn series(&self, key: &str) -> Option<&Value> {
        let layer = self.layers.iter().find(|layer| layer["key"] == key)?;
        layer.get("series")
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id, "title": self.title, "unit": self.unit, "about": self.about,
            "scales": self.scales.names(), "height": self.height, "layers": self.layers,
        })
    }
}

impl Scales {
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Linear => &["linear"],
            Self::Near => &["near"],
            Self::Log => &["log"],
            Self::LinearOrLog => &["linear", "log"],
            Self::LogOrLinear => &["log", "linear"],
            Self::LinearOrTail => &["linear", "tail"],
        }
    }
}

/// Returns a layer of a plot with its values.
pub(crate) fn layer<const N: usize>(
    look: &str,
    key: &str,
    hue: usize,
    values: [(&str, Value); N],
) -> Value {
    let mut layer = json!({"look": look, "key": key, "hue": hue});
    for (name, value) in values {
        layer[name] = value;
    }
    layer
}

/// Returns a series of values with their times in seconds.
pub(crate) fn timed(times: &[f64], values: &[f64]) -> Value {
    let quantum = quantum_of(values);
    json!({
        "times": pack_seconds(times.iter().copied()),
        "values": pack_scaled(values.iter().copied(), quantum), "factor": quantum,
    })
}

/// Returns the quantum for a list of values, of which some may be missing.
pub(crate) fn quantum_of(values: &[f64]) -> f64 {
    let sizes = values.iter().map(|value| value.abs()).filter(|size| size.is_finite());
    quantum(sizes.fold(0.0, f64::max))
}

/// Number of colours of a plot.
pub(crate) const HUES: usize = 5;
