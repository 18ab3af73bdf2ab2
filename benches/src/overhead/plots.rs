//! Plots of the study: how an error or a cost grows with the number of streams.

use std::fs;
use std::path::Path;

use anyhow::Context;
use servemark::metrics::statistics;
use servemark::report::chart::{Axis, Curve, Figure, Mark, Panel, Scale};

use super::figures::sorted;
use super::{Case, Reader, Start, StreamFigures, StreamLoad, Study};

type StreamCase = Case<StreamLoad, StreamFigures>;

/// A figure that is plotted over the number of streams.
struct Plot {
    file: &'static str,
    title: &'static str,
    of: fn(&StreamFigures) -> f64,
}

const PLOTS: [Plot; 3] = [
    Plot {
        file: "overhead-ttft-error.svg",
        title: "Error of the p99 TTFT, ms",
        of: |figures| figures.p99_ttft.error().abs(),
    },
    Plot {
        file: "overhead-itl-error.svg",
        title: "Error of the p99 ITL, ms",
        of: |figures| figures.p99_itl.error().abs(),
    },
    Plot {
        file: "overhead-cpu.svg",
        title: "CPU of the client per chunk, us",
        of: |figures| figures.cpu_us_per_chunk,
    },
];

/// Plots the streams that start all at once, a line for each reader, into a folder. Returns the
/// written files; empty if no such stream was measured.
pub fn draw(study: &Study, folder: &Path) -> anyhow::Result<Vec<&'static str>> {
    let lines = Line::of_each(&study.streams);
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for plot in &PLOTS {
        let path = folder.join(plot.file);
        let written = plot.figure(&lines).svg().and_then(|svg| fs::write(&path, svg));
        written.with_context(|| format!("cannot draw {}", path.display()))?;
    }
    Ok(PLOTS.iter().map(|plot| plot.file).collect())
}

/// One reader's cases, by the number of streams.
struct Line<'a> {
    reader: Reader,
    cases: Vec<&'a StreamCase>,
}

/// A number of streams, and the smallest, the median and the largest figure.
type Point = (f64, [f64; 3]);

impl<'a> Line<'a> {
    fn of_each(cases: &'a [StreamCase]) -> Vec<Self> {
        let mut lines: Vec<Self> = Vec::new();
        for case in cases.iter().filter(|case| is_drawn(case)) {
            match lines.iter_mut().find(|line| line.reader == case.reader) {
                Some(line) => line.cases.push(case),
                None => lines.push(Line { reader: case.reader, cases: vec![case] }),
            }
        }
        lines
    }

    /// Returns the curve of the medians, and for each point a line over the range of the runs.
    fn curves(&self, hue: usize, of: fn(&StreamFigures) -> f64) -> Vec<Curve> {
        let points: Vec<Point> = self.cases.iter().filter_map(|case| point(case, of)).collect();
        let spread = |&(streams, [least, _, most]): &Point| {
            Curve::line("", hue, vec![Mark::at(streams, least), Mark::at(streams, most)])
        };
        let medians = points.iter().map(|&(streams, [_, median, _])| Mark::at(streams, median));
        let name = self.reader.name().trim_matches('`');
        let line = Curve::line(name, hue, medians.collect());
        points.iter().map(spread).chain([line]).collect()
    }
}

fn is_drawn(case: &StreamCase) -> bool {
    let load = &case.load;
    load.start == Start::Burst && !load.is_flood() && !load.hog && !case.runs.is_empty()
}

/// Returns the point of a case. Figures are at least [`LEAST`], because a logarithmic scale has no
/// zero.
fn point(case: &StreamCase, of: fn(&StreamFigures) -> f64) -> Option<Point> {
    let figures = case.runs.iter().map(|run| of(&run.figures).max(LEAST));
    let figures = sorted(figures.collect());
    let spread = [*figures.first()?, statistics::median(&figures)?, *figures.last()?];
    Some((case.load.streams as f64, spread))
}

impl Plot {
    fn figure(&self, lines: &[Line<'_>]) -> Figure {
        let curves = (0..).zip(lines).flat_map(|(hue, line)| line.curves(hue, self.of)).collect();
        let [streams, figures] = ["streams", ""].map(|label| Axis::new(label, Scale::Log));
        Figure::new(vec![vec![Panel::new(self.title, streams, figures, curves)]])
    }
}

/// Smallest figure that is plotted. No measurement is accurate to less than a microsecond.
const LEAST: f64 = 1e-3;
