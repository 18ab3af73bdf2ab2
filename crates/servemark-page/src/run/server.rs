//! The server's metrics and its GPUs, in the course of a run.

use servemark_core::RunLog;
use servemark_metrics::{RunSeries, Series};

use super::flow::sample;
use super::times::Times;
use crate::series::{HUES, Panel, Scales, timed};

/// Returns the panels of the series of a run, in the order of [`PANELS`]; series of unknown names
/// have none.
pub(super) fn panels(times: &Times, log: &RunLog) -> Vec<Panel> {
    let series = RunSeries::of(log);
    let Some(due) = log.measured().map(|record| record.scheduled).min() else { return Vec::new() };
    // The axis of series begins at the first due time.
    let shift = times.at(due);
    PANELS.iter().filter_map(|kind| kind.panel(&series, times, shift)).collect()
}

/// A panel of one or more quantities that share a unit.
struct Kind {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    about: &'static str,
    /// Names of the quantities, each with its name in the key.
    names: &'static [(&'static str, &'static str)],
    /// Factor that converts a value into the unit of the panel.
    scale: f64,
}

impl Kind {
    fn panel(&self, all: &RunSeries, times: &Times, shift: f64) -> Option<Panel> {
        let mut panel = Panel::new(self.id, self.title, self.unit, Scales::Linear);
        panel.about = format!("{} Read from the server's metrics during the run.", self.about);
        let chosen = self.names.iter().flat_map(|(name, key)| {
            let of_name = all.series.iter().filter(move |series| {
                series.name == *name && !series.labels.contains_key("quantile")
            });
            of_name.map(move |series| (*key, series))
        });
        let chosen: Vec<(&str, &Series)> = chosen.collect();
        for (hue, (key, series)) in chosen.iter().take(MOST_LINES).enumerate() {
            let same = chosen.iter().filter(|(other, _)| other == key);
            let name =
                if same.count() > 1 { format!("{key}, {}", of(series)) } else { (*key).to_owned() };
            let (at, values) = self.points(series, all, times, shift);
            panel.line(&name, hue % HUES, timed(&at, &values));
        }
        if chosen.len() > MOST_LINES {
            let more = chosen.len() - MOST_LINES;
            panel.about = format!("{} {more} further series are only in the run log.", panel.about);
        }
        (!panel.layers.is_empty()).then_some(panel)
    }

    /// Returns times and values of a series on the page's axis. A gap of its source is a point
    /// without a value.
    fn points(
        &self,
        series: &Series,
        all: &RunSeries,
        times: &Times,
        shift: f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let points: Vec<(f64, f64)> =
            series.points.iter().map(|(at, value)| (at + shift, value * self.scale)).collect();
        let mut points = sample(&points, times, MOST_POINTS);
        let gaps = all.gaps.iter().filter(|gap| gap.source == series.source);
        points.extend(gaps.map(|gap| (gap.from_s + shift, f64::NAN)));
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points.into_iter().unzip()
    }
}

/// Returns what distinguishes a series from others of its name: its labels, or else its source.
fn of(series: &Series) -> String {
    let label = |name: &str| series.labels.get(name).map(|value| format!("{name} {value}"));
    let known = ["gpu", "gpu_id", "engine", "dp_rank", "tp_rank"].into_iter().find_map(label);
    known.unwrap_or_else(|| series.source.trim_start_matches("http://").to_owned())
}

const PANELS: [Kind; 10] = [
    Kind {
        id: "server-requests",
        title: "Server: requests",
        unit: "requests",
        about: "Requests that the server computes, and requests in its queue.",
        names: &[("running", "running"), ("waiting", "waiting")],
        scale: 1.0,
    },
    Kind {
        id: "server-cache",
        title: "Server: cache",
        unit: "%",
        about: "Use of the key-value cache, and the share of prompt tokens found in the prefix cache.",
        names: &[("kv_use", "KV cache use"), ("prefix_hit_rate", "prefix hits")],
        scale: 100.0,
    },
    Kind {
        id: "server-tokens",
        title: "Server: tokens",
        unit: "per second",
        about: "Prompt tokens and output tokens by the server's counters.",
        names: &[
            ("prompt_tokens", "prompt tokens/s"),
            ("generated_tokens", "output tokens/s"),
            ("generation_rate", "output tokens/s by itself"),
        ],
        scale: 1.0,
    },
    Kind {
        id: "server-preemptions",
        title: "Server: preemptions",
        unit: "per second",
        about: "Requests that lost their place in the key-value cache.",
        names: &[("preemptions", "preemptions/s")],
        scale: 1.0,
    },
    Kind {
        id: "server-batch",
        title: "Server: batch",
        unit: "",
        about: "Requests in a step, and tokens that speculation yields in a step.",
        names: &[("batch_size", "batch size"), ("accept_length", "accept length")],
        scale: 1.0,
    },
    Kind {
        id: "gpu-use",
        title: "GPU: use",
        unit: "%",
        about: "Share of the time in which the GPU computed.",
        names: &[("gpu_use", "use")],
        scale: 100.0,
    },
    Kind {
        id: "gpu-memory",
        title: "GPU: memory",
        unit: "GiB",
        about: "Memory in use.",
        names: &[("gpu_memory_used", "used")],
        scale: 1.0 / (1024.0 * 1024.0 * 1024.0),
    },
    Kind {
        id: "gpu-power",
        title: "GPU: power",
        unit: "W",
        about: "Power that the GPU takes.",
        names: &[("gpu_power", "power"), ("gpu_energy", "by its energy counter")],
        scale: 1.0,
    },
    Kind {
        id: "gpu-clock",
        title: "GPU: clocks",
        unit: "MHz",
        about: "Clock of the processors and of the memory.",
        names: &[("gpu_sm_clock", "processors"), ("gpu_memory_clock", "memory")],
        scale: 1.0,
    },
    Kind {
        id: "gpu-temperature",
        title: "GPU: temperature",
        unit: "°C",
        about: "Temperature of the GPU.",
        names: &[("gpu_temperature", "temperature")],
        scale: 1.0,
    },
];

/// Largest number of lines of a panel.
const MOST_LINES: usize = 8;

/// Largest number of points of a line, so that a page keeps its size however long the run was.
const MOST_POINTS: usize = 400;
