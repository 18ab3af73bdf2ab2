//! Readings of single GPUs, whatever source they come from.

use std::collections::BTreeMap;

use servemark_core::{RunLog, SeriesHead};

use super::curve::Curve;
use crate::series::{Axis, Replayed, increase, replay};

/// Readings of one GPU.
#[derive(Debug)]
pub(super) struct Device {
    /// Name for messages.
    pub(super) name: String,
    /// Power in watts over the run's time axis.
    pub(super) power: Curve,
    /// Whether power was read; otherwise it is derived from the energy counter.
    pub(super) has_power: bool,
    /// Readings of the energy counter in joules, without resets.
    counter: Vec<(f64, f64)>,
}

impl Device {
    /// Returns the energy from second 0 to `span` by the device's own counter; absent if there is
    /// no reading before or after that time.
    pub(super) fn counter_joules(&self, span: f64) -> Option<f64> {
        let (first, last) = (self.counter.first()?, self.counter.last()?);
        if first.0 > 0.0 || last.0 < span {
            return None;
        }
        let at = |seconds: f64| {
            let after = self.counter.partition_point(|(at, _)| *at < seconds);
            let (later, joules) = self.counter[after];
            let Some((earlier, before)) = after.checked_sub(1).map(|index| self.counter[index])
            else {
                return joules;
            };
            before + (joules - before) * (seconds - earlier) / (later - earlier)
        };
        Some(at(span) - at(0.0))
    }

    /// Returns why the readings do not suffice for the energy from second 0 to `span`, if they do
    /// not.
    pub(super) fn doubt(&self, span: f64) -> Option<String> {
        let name = &self.name;
        if self.has_power && self.power.points().iter().any(|(_, watts)| *watts < 0.0) {
            return Some(format!("{name}: a reading of its power is negative"));
        }
        let mut times: Vec<f64> = self.power.points().iter().map(|(at, _)| *at).collect();
        times.dedup();
        let within = times.iter().filter(|at| (0.0..=span).contains(*at)).count();
        if within < FEWEST_READINGS {
            return Some(format!(
                "{name}: {within} readings in {span:.1} s, at least {FEWEST_READINGS} are needed; \
                 read more often"
            ));
        }
        let mut steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        servemark_statistics::sort(&mut steps);
        let longest = LONGEST_HOLE * steps[steps.len() / 2];
        let (first, last) = (times[0], times[times.len() - 1]);
        if first > longest {
            return Some(format!("{name}: the first reading is from second {first:.1}"));
        }
        if span - last > longest {
            return Some(format!("{name}: the last reading is from second {last:.1} of {span:.1}"));
        }
        let is_hole =
            |pair: &&[f64]| pair[1] - pair[0] > longest && pair[1] > 0.0 && pair[0] < span;
        let hole = times.windows(2).find(is_hole)?;
        Some(format!("{name}: no reading from second {:.1} to {:.1}", hole[0], hole[1]))
    }
}

/// Returns the GPUs of a run. A GPU that several sources report is taken once, from the first of them.
/// If one source has several series of a GPU, each time is taken from the first that has a reading:
/// labels of a GPU may change.
pub(super) fn devices(log: &RunLog) -> Vec<Device> {
    let telemetry = log.telemetry();
    let axis = Axis::of(log);
    // The keys begin with the position of the first series, which is that of the device.
    let mut found: BTreeMap<(usize, Key), DeviceSeries> = BTreeMap::new();
    let mut place = vec![None; telemetry.series.len()];
    for head in telemetry.series.iter().filter(|head| READ.contains(&head.name.as_str())) {
        let source = telemetry.sources.get(head.source).map_or("", |source| source.name.as_str());
        let key = Key::of(head);
        let known = found.keys().find(|(_, known)| *known == key).cloned();
        let key = known.unwrap_or((head.id, key));
        let device = found.entry(key.clone()).or_insert_with(|| DeviceSeries::new(source, head));
        let slot = if head.name == POWER { &mut device.power } else { &mut device.energy };
        let points = slot.get_or_insert_with(|| Points { source: head.source, points: Vec::new() });
        if points.source == head.source {
            place[head.id] = Some((key, head.name == POWER));
        }
    }
    // Most runs read no GPU, and logs of long runs have many samples.
    if found.is_empty() {
        return Vec::new();
    }
    replay(telemetry, |event| {
        let Replayed::Reading { id, at, value, before, .. } = event else { return };
        let Some((key, is_power)) = &place[id] else { return };
        let Some(device) = found.get_mut(key) else { return };
        let now = axis.seconds(at);
        let points = if *is_power { &mut device.power } else { &mut device.energy };
        let Some(Points { points, .. }) = points else { return };
        if points.last().is_some_and(|(last, _)| *last >= now) {
            return;
        }
        if *is_power {
            points.push((now, value));
        } else {
            let total = points.last().map_or(0.0, |(_, total)| *total);
            let more = before.map_or(0.0, |(_, earlier)| increase(earlier, value));
            points.push((now, total + more));
        }
    });
    found.into_values().map(DeviceSeries::device).collect()
}

/// Identity of a GPU: its unique number if that is known, else its source and labels.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Key {
    Unique(String),
    Labels(usize, BTreeMap<String, String>),
}

impl Key {
    fn of(head: &SeriesHead) -> Self {
        let unique = head.labels.iter().find(|(name, _)| {
            ["uuid", "gpu_uuid", "serial_number"].contains(&name.to_lowercase().as_str())
        });
        unique.map_or_else(
            || Self::Labels(head.source, head.labels.clone()),
            |(_, value)| Self::Unique(value.clone()),
        )
    }
}

#[derive(Debug)]
struct DeviceSeries {
    name: String,
    power: Option<Points>,
    energy: Option<Points>,
}

/// Readings of a GPU from one source.
#[derive(Debug)]
struct Points {
    /// Position of the source.
    source: usize,
    points: Vec<(f64, f64)>,
}

impl DeviceSeries {
    fn new(source: &str, head: &SeriesHead) -> Self {
        let number = ["gpu", "gpu_id", "index", "gpu_uuid"].map(|name| head.labels.get(name));
        let number = number.into_iter().flatten().next();
        let name = number.map_or_else(
            || format!("GPU of {source}"),
            |number| format!("GPU {number} of {source}"),
        );
        Self { name, power: None, energy: None }
    }

    fn device(self) -> Device {
        let counter = self.energy.map(|energy| energy.points).unwrap_or_default();
        let has_power = self.power.is_some();
        let power = self.power.map_or_else(|| slopes(&counter), |power| power.points);
        Device { name: self.name, power: Curve::new(power), has_power, counter }
    }
}

/// Returns the power between the readings of an energy counter.
fn slopes(counter: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let steps = counter.windows(2).filter(|pair| pair[1].0 > pair[0].0);
    let steps = steps.flat_map(|pair| {
        let watts = (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
        [(pair[0].0, watts), (pair[1].0, watts)]
    });
    steps.collect()
}

const POWER: &str = "gpu_power";
const READ: [&str; 2] = [POWER, "gpu_energy"];

/// Fewest readings within the measurement.
const FEWEST_READINGS: usize = 5;

/// Longest time without a reading, as a multiple of the usual interval.
const LONGEST_HOLE: f64 = 2.5;
