//! A page that shows how evenly requests were sent: rates between consecutive requests and their
//! distribution.

use std::io;

use servemark_core::{RequestRecord, Stamp};

use crate::chart::{Axis, Bars, ChartStyle, Curve, Figure, Mark, Panel, Scale};
use crate::{Report, ReportFormat, page};

/// AISBench's page of the rates between consecutive requests, as planned and as sent: over time
/// together with the target rate, and as histograms of rates and intervals. A run without scheduled
/// times shows only what was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct AisbenchRps {
    target: Option<RateTarget>,
}

/// Target request rate, in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateTarget {
    /// A constant rate.
    Constant(f64),
    /// A rate that grows by a constant factor from each request to the next.
    Exponential {
        /// Rate at the first request.
        from: f64,
        /// Rate at the last request.
        to: f64,
    },
    /// A rate that grows by a constant amount from each request to the next.
    Linear {
        /// Rate at the first request.
        from: f64,
        /// Rate at the last request.
        to: f64,
    },
}

impl AisbenchRps {
    /// Returns a page with the given target rate, if the run has one.
    pub fn new(target: Option<RateTarget>) -> Self {
        Self { target }
    }

    fn title(self) -> String {
        let title = "Request Per Second(RPS) Distribution Analysis";
        match self.target {
            None => title.to_owned(),
            Some(target) => {
                let growth = target.growth();
                let growth =
                    growth.map(|(name, from, to)| format!(" | {name} Ramp-up: {from:.1}→{to:.1}"));
                format!("{title} | Target Rate: {:.2}{}", target.last(), growth.unwrap_or_default())
            }
        }
    }

    fn over_time(self, planned: &[f64], sent: &[f64]) -> Figure {
        Figure::new(vec![vec![self.rates_over_time(planned, sent)]]).sized(1120, 400)
    }

    fn rates_over_time(self, planned: &[f64], sent: &[f64]) -> Panel {
        let target = self.target.map(|target| target.curve(planned.len().max(sent.len())));
        let is_off = |rate: &Mark| {
            let wanted = target.as_ref().and_then(|curve| rate_at(curve, rate.x));
            wanted.is_some_and(|wanted| (rate.y - wanted).abs() > 0.5 * wanted)
        };
        let (off, usual): (Vec<Mark>, Vec<Mark>) = rates(planned).partition(|rate| is_off(rate));
        let close = rates_of(planned, |gap| gap > 0.0 && gap < TOO_CLOSE);
        let average = average(&rates(planned).collect::<Vec<_>>());
        let dots = |label: &str, hue, style, points| {
            let look = ChartStyle { hue: Some(hue), style, ..ChartStyle::default() };
            Curve::dots(label, thinned(points, MANY)).looking(look)
        };
        let curves = vec![
            dots("as sent", 5, 0, rates(sent).collect()),
            dots("as planned", 0, 0, usual),
            dots("as planned, more than 50 % off", 4, 2, off),
            dots("as planned, less than 1 ms apart", 1, 3, close.collect()),
            Curve::line("moving average", 3, thinned(average, FEW)),
            Curve::line("target", 2, thinned(target.unwrap_or_default(), FEW))
                .looking(ChartStyle::joined(2, 1, 1)),
        ];
        let curves = curves.into_iter().filter(|curve| !curve.points.is_empty()).collect();
        let (x, y) = (Axis::even("Time (seconds)"), Axis::new("RPS", Scale::Log));
        Panel::new("", x, y, curves)
    }
}

impl ReportFormat for AisbenchRps {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let planned = times(report, |record| record.scheduled);
        let has_timetable = planned.last().is_some_and(|last| *last > 0.0);
        let planned = if has_timetable { planned } else { Vec::new() };
        let sent = times(report, RequestRecord::started);
        page::head(&self.title(), &self.title(), out)?;
        page::section("Time vs RPS", &self.over_time(&planned, &sent), out)?;
        page::section("How rates and intervals are spread", &spread(&planned, &sent), out)?;
        writeln!(out, "{LEGEND}")?;
        page::end(out)
    }
}

/// Draws the histograms of rates and of intervals between requests.
fn spread(planned: &[f64], sent: &[f64]) -> Figure {
    let rendered = if planned.is_empty() { sent } else { planned };
    let rates: Vec<f64> = gaps(rendered).filter(|gap| *gap >= TOO_CLOSE).map(f64::recip).collect();
    let counts = histogram("rates between requests", 0, &below(&rates, 990));
    let counts = panel("RPS vs Request Count", "RPS", vec![counts]);
    let planned = histogram("intervals as planned", 2, &below(&all(planned), 999));
    let sent = histogram("intervals as sent", 5, &below(&all(sent), 999));
    let intervals = panel("Intervals", "Interval (seconds)", vec![sent, planned]);
    Figure::new(vec![vec![counts, intervals]]).sized(560, 400)
}

/// Returns the times of the first request of each session, sorted, in seconds since the earliest.
/// `of` selects the scheduled or the sent time. Later turns are left out because they wait for an
/// answer.
fn times(report: &Report<'_>, of: fn(&RequestRecord) -> Stamp) -> Vec<f64> {
    let leading = report.log.measured().filter(|record| record.turn == 0);
    let mut stamps: Vec<Stamp> = leading.map(of).collect();
    stamps.sort_unstable();
    let first = stamps.first().copied().unwrap_or_default();
    stamps.iter().map(|stamp| stamp.since(first).as_secs_f64()).collect()
}

fn gaps(times: &[f64]) -> impl Iterator<Item = f64> {
    times.windows(2).map(|pair| pair[1] - pair[0])
}

fn all(times: &[f64]) -> Vec<f64> {
    gaps(times).collect()
}

/// Yields the rate between two consecutive requests at the time of the later one. Pairs closer than
/// [`TOO_CLOSE`] have no rate.
fn rates(times: &[f64]) -> impl Iterator<Item = Mark> {
    rates_of(times, |gap| gap >= TOO_CLOSE)
}

fn rates_of(times: &[f64], wanted: fn(f64) -> bool) -> impl Iterator<Item = Mark> {
    let pairs = times.windows(2).filter(move |pair| wanted(pair[1] - pair[0]));
    pairs.map(|pair| Mark::at(pair[1], 1.0 / (pair[1] - pair[0])))
}

/// Returns the moving average of the rates. Newer rates weigh slightly more; the window grows with
/// the number of rates.
fn average(rates: &[Mark]) -> Vec<Mark> {
    let window = match rates.len() {
        0..=1_000 => 20,
        1_001..=10_000 => 50,
        10_001..=100_000 => 100,
        _ => 200,
    };
    let alpha = 2.0 / (window + 1) as f64;
    let weights = (0..window).map(|place| (alpha * place as f64 / (window - 1) as f64).exp());
    let weights: Vec<f64> = weights.collect();
    let total: f64 = weights.iter().sum();
    let mean = |part: &[Mark]| {
        let weighed = part.iter().zip(&weights).map(|(rate, weight)| rate.y * weight);
        Mark::at(part[window - 1].x, weighed.sum::<f64>() / total)
    };
    rates.windows(window).map(mean).collect()
}

impl RateTarget {
    fn last(self) -> f64 {
        match self {
            Self::Constant(rate) | Self::Exponential { to: rate, .. } => rate,
            Self::Linear { to, .. } => to,
        }
    }

    fn growth(self) -> Option<(&'static str, f64, f64)> {
        match self {
            Self::Constant(_) => None,
            Self::Exponential { from, to } => Some(("Exponential", from, to)),
            Self::Linear { from, to } => Some(("Linear", from, to)),
        }
    }

    /// Returns the target rate of each request, at the time at which the request is due if all keep
    /// to the target.
    fn curve(self, requests: usize) -> Vec<Mark> {
        let rate = |place: usize| {
            let progress = place as f64 / requests.saturating_sub(1).max(1) as f64;
            match self {
                Self::Constant(rate) => rate,
                Self::Exponential { from, to } => from * (to / from).powf(progress),
                Self::Linear { from, to } => from + (to - from) * progress,
            }
        };
        let rates = (0..requests).map(rate).filter(|rate| *rate > 0.0);
        rates
            .scan(0.0, |time, rate| {
                let mark = Mark::at(*time, rate);
                *time += 1.0 / rate;
                Some(mark)
            })
            .collect()
    }
}

/// Returns the value of a curve at a time; after its end, the last value.
fn rate_at(curve: &[Mark], time: f64) -> Option<f64> {
    let after = curve.partition_point(|mark| mark.x <= time);
    curve.get(after.saturating_sub(1)).map(|mark| mark.y)
}

fn panel(title: &str, x: &str, bars: Vec<Bars>) -> Panel {
    let bars = bars.into_iter().filter(|bars| !bars.bars.is_empty()).collect();
    Panel::new(title, Axis::even(x), Axis::even("Request Count"), Vec::new()).with_bars(bars)
}

/// Returns a histogram with bins of the width that Scott's rule gives, between 10 and 100 bins.
fn histogram(label: &str, hue: usize, values: &[f64]) -> Bars {
    if values.is_empty() {
        return Bars::default();
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let range = values.iter().copied().fold(0.0, f64::max);
    let wanted = range / (3.5 * spread / count.cbrt()).max(1e-9);
    let parts = (10_u32..100).find(|parts| f64::from(*parts) >= wanted).unwrap_or(100);
    Bars::histogram(label, hue, values, parts as usize)
}

/// Returns the smallest values, `of_a_thousand` per mille of them. A few outliers would otherwise
/// compress the axis.
fn below(values: &[f64], of_a_thousand: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.truncate((sorted.len() * of_a_thousand).div_ceil(1000));
    sorted
}

/// Keeps at most `most` evenly spaced points, including the last.
fn thinned(points: Vec<Mark>, most: usize) -> Vec<Mark> {
    let step = points.len().div_ceil(most).max(1);
    let offset = points.len().saturating_sub(1) % step;
    points.into_iter().skip(offset).step_by(step).collect()
}

/// Shortest interval, in seconds, that counts as a rate.
const TOO_CLOSE: f64 = 0.001;
/// Most points of a curve that is drawn as dots.
const MANY: usize = 1500;
/// Most points of a curve that is drawn as a line.
const FEW: usize = 40;
const LEGEND: &str = "\
<style>td, th { text-align: left !important; }</style>
<h2>What is shown</h2>
<table>
<tr><th>Name</th><th>Meaning</th></tr>
<tr><td>as planned, as sent</td><td>One over the time between a request and the one before it, at the \
time at which it was due, or at which its first byte went out. Of a long run a part of the points.</td></tr>
<tr><td>more than 50 % off</td><td>Off the target. Independent arrivals are, \
more often than not: gaps of a Poisson process vary as much as they are long.</td></tr>
<tr><td>less than 1 ms apart</td><td>Two requests that were to be sent all but together. They are in no \
average and no count of rates.</td></tr>
<tr><td>moving average</td><td>Of the last 20 rates as planned (50 above 1,000 requests, 100 above \
10,000, 200 above 100,000), the newer ones weighing a little more. The mean of rates lies above the \
rate: short gaps make large ones.</td></tr>
<tr><td>target</td><td>The rate that was asked for, request by request.</td></tr>
<tr><td>RPS vs Request Count</td><td>How many rates are how large, without the largest 1 %.</td></tr>
<tr><td>Intervals</td><td>How many times between two requests are how long, without the longest \
0.1 %.</td></tr>
</table>";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rate: RateTarget, requests: usize) -> Vec<(f64, f64)> {
        rate.curve(requests).iter().map(|mark| (mark.x, mark.y)).collect()
    }

    #[test]
    fn a_target_is_the_rate_of_each_request() {
        assert_eq!(of(RateTarget::Constant(4.0), 3), [(0.0, 4.0), (0.25, 4.0), (0.5, 4.0)]);
        let linear = of(RateTarget::Linear { from: 1.0, to: 4.0 }, 4);
        assert_eq!(linear[..3], [(0.0, 1.0), (1.0, 2.0), (1.5, 3.0)]);
        let exponential = of(RateTarget::Exponential { from: 1.0, to: 4.0 }, 3);
        assert_eq!(exponential, [(0.0, 1.0), (1.0, 2.0), (1.5, 4.0)]);
        assert!(of(RateTarget::Constant(4.0), 0).is_empty());
    }

    #[test]
    fn titles_are_aisbenchs() {
        let title = |target| AisbenchRps::new(target).title();
        assert_eq!(title(None), "Request Per Second(RPS) Distribution Analysis");
        assert_eq!(
            title(Some(RateTarget::Linear { from: 2.0, to: 10.0 })),
            "Request Per Second(RPS) Distribution Analysis | Target Rate: 10.00 | Linear Ramp-up: \
             2.0→10.0"
        );
    }

    #[test]
    fn a_steady_rate_is_its_own_average() {
        let steady: Vec<Mark> = (0..30).map(|place| Mark::at(f64::from(place), 5.0)).collect();
        let average = average(&steady);
        assert_eq!((average.len(), average[0].x), (11, 19.0));
        assert!(average.iter().all(|mark| (mark.y - 5.0).abs() < 1e-12));
    }
}
