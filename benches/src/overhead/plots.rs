//! The study as pictures: how an error or a cost grows with the number of streams.

use std::path::Path;

use anyhow::Context;
use plotters::prelude::*;
use servemark::metrics::statistics;

use super::figures::sorted;
use super::{Case, Reader, Start, StreamFigures, StreamLoad, Study};

type StreamCase = Case<StreamLoad, StreamFigures>;

/// A figure that is drawn over the number of streams.
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

/// Draws the streams that start all at once, a line for each reader, into a folder. Says which
/// files it wrote: none if no such stream was measured.
pub fn draw(study: &Study, folder: &Path) -> anyhow::Result<Vec<&'static str>> {
    let lines = Line::of_each(&study.streams);
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for plot in &PLOTS {
        let path = folder.join(plot.file);
        let drawn = plot.draw(&lines, &path);
        drawn.with_context(|| format!("cannot draw {}", path.display()))?;
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

    fn points(&self, of: fn(&StreamFigures) -> f64) -> Vec<Point> {
        self.cases.iter().filter_map(|case| point(case, of)).collect()
    }
}

fn is_drawn(case: &StreamCase) -> bool {
    let load = &case.load;
    load.start == Start::Burst && !load.is_flood() && !load.hog && !case.runs.is_empty()
}

/// A logarithmic scale has no zero.
fn point(case: &StreamCase, of: fn(&StreamFigures) -> f64) -> Option<Point> {
    let figures = case.runs.iter().map(|run| of(&run.figures).max(LEAST));
    let figures = sorted(figures.collect());
    let spread = [*figures.first()?, statistics::median(&figures)?, *figures.last()?];
    Some((case.load.streams as f64, spread))
}

impl Plot {
    fn draw(&self, lines: &[Line<'_>], path: &Path) -> anyhow::Result<()> {
        let points: Vec<Vec<Point>> = lines.iter().map(|line| line.points(self.of)).collect();
        let all = || points.iter().flatten();
        let streams = range(all().map(|(streams, _)| *streams));
        // The key has its place to the right of the lines.
        let streams = streams.start..streams.end * 12.0;
        let figures = range(all().flat_map(|(_, spread)| *spread));
        let area = SVGBackend::new(path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut builder = ChartBuilder::on(&area);
        builder.caption(self.title, ("sans-serif", 20)).margin(12);
        builder.x_label_area_size(42).y_label_area_size(64);
        let mut chart = builder.build_cartesian_2d(streams.log_scale(), figures.log_scale())?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc("streams").x_labels(5).disable_x_mesh().light_line_style(TRANSPARENT).draw()?;
        for (number, (line, points)) in lines.iter().zip(&points).enumerate() {
            let style = Palette99::pick(number).stroke_width(2);
            let medians = points.iter().map(|(streams, spread)| (*streams, spread[1]));
            let series =
                chart.draw_series(LineSeries::new(medians.clone(), style).point_size(3))?;
            let name = line.reader.name().trim_matches('`');
            let key = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style);
            series.label(name).legend(key);
            let spreads = points.iter().map(|(streams, spread)| {
                PathElement::new([(*streams, spread[0]), (*streams, spread[2])], style)
            });
            chart.draw_series(spreads)?;
        }
        let mut key = chart.configure_series_labels();
        key.position(SeriesLabelPosition::MiddleRight).border_style(BLACK);
        key.background_style(WHITE.mix(0.8)).draw()?;
        Ok(area.present()?)
    }
}

/// From a little below the smallest value to a little above the largest.
fn range(values: impl Iterator<Item = f64> + Clone) -> std::ops::Range<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    least * 0.8..most * 1.25
}

const SIZE: (u32, u32) = (760, 460);

/// Nobody is right to less than a microsecond.
const LEAST: f64 = 1e-3;
