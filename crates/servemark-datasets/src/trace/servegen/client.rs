//! A client's two files and its arrivals.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use servemark_core::DatasetError;
use servemark_rng::NumpyRandom;

use super::Lengths;
use crate::csv_file::{Row, Table};

/// Suffix of the file with a client's windows.
pub(super) const TRACE: &str = "-trace.csv";

/// One of the clients of a trace.
pub(super) struct Client {
    windows: Vec<Window>,
    pub(super) lengths: Lengths,
}

impl Client {
    /// Reads a client from the file of its windows and the lengths file beside it.
    pub(super) fn read(trace: &Path) -> Result<Self, DatasetError> {
        let name = trace.to_string_lossy();
        let dataset = name.strip_suffix(TRACE).unwrap_or(&name).to_owned() + "-dataset.json";
        let mut windows: Vec<Window> = Vec::new();
        Table::without_header(trace, &COLUMNS)?.read(|row| {
            let window = Window::of(row)?;
            if let Some(last) = windows.last_mut() {
                last.seconds = window.start - last.start;
                if last.seconds <= 0.0 {
                    return Err("this window does not begin after the one above it".to_owned());
                }
            }
            windows.push(window);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Self { windows, lengths: Lengths::read(&PathBuf::from(dataset))? })
    }

    pub(super) fn windows(&self) -> impl Iterator<Item = &Window> {
        self.windows.iter()
    }
}

/// A time window in which a client sends requests at one rate.
pub(super) struct Window {
    /// Start of the window, in seconds.
    pub(super) start: f64,
    seconds: f64,
    per_second: f64,
    gaps: Gaps,
}

/// Distribution of the gaps between requests; the rate determines their mean.
enum Gaps {
    Gamma { shape: f64 },
    Weibull { shape: f64 },
}

impl Window {
    fn of(row: &Row<'_>) -> Result<Self, String> {
        let per_second = row.number("rate")?;
        let gaps = match row.text("pattern").unwrap_or_default() {
            "Gamma" => Gaps::Gamma { shape: row.number(SHAPE)? },
            "Weibull" => Gaps::Weibull { shape: row.number(SHAPE)? },
            "" if per_second == 0.0 => Gaps::Gamma { shape: 1.0 },
            other => return Err(format!("the pattern must be Gamma or Weibull, not {other:?}")),
        };
        Ok(Self { start: row.number("start")?, seconds: USUAL_SECONDS, per_second, gaps })
    }

    /// Draws the arrival times in this window, in seconds. Their number follows from the rate; the
    /// gaps are drawn from the pattern and scaled to fill the window.
    ///
    /// The pattern's second parameter is ignored: in the published files it does not match the rate
    /// where requests come in bursts.
    pub(super) fn draw(&self, numpy: &mut NumpyRandom) -> Vec<f64> {
        let expected = self.per_second * self.seconds;
        if expected == 0.0 {
            return Vec::new();
        }
        let count = ((expected + numpy.random_sample()) as i64).unsigned_abs() as usize;
        let gaps: Vec<f64> = (0..=count).map(|_| self.gaps.draw(numpy)).collect();
        let total: f64 = gaps.iter().sum();
        let stretch = if total > 0.0 { self.seconds / total } else { 0.0 };
        let arrival = |at: &mut f64, gap: &f64| {
            *at += gap * stretch;
            Some(*at)
        };
        gaps[..count].iter().scan(self.start, arrival).collect()
    }
}

impl Gaps {
    fn draw(&self, numpy: &mut NumpyRandom) -> f64 {
        match self {
            Self::Gamma { shape } => numpy.gamma(*shape, 1.0),
            Self::Weibull { shape } => numpy.exponential(1.0).powf(1.0 / shape),
        }
    }
}

const COLUMNS: [&str; 6] = ["start", "rate", "cv", "pattern", SHAPE, "scale"];
const SHAPE: &str = "shape";

/// Length in seconds of a client's last window, which no following window ends.
const USUAL_SECONDS: f64 = 600.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fills_its_window(gaps: Gaps) {
        let window = Window { start: 1200.0, seconds: 600.0, per_second: 0.5, gaps };
        let arrivals = window.draw(&mut NumpyRandom::seeded(3));
        assert_eq!(arrivals.len(), 300);
        assert!(arrivals.is_sorted() && arrivals[0] >= 1200.0 && arrivals[299] < 1800.001);
    }

    #[test]
    fn a_window_has_its_rate_however_bursty_it_is() {
        fills_its_window(Gaps::Gamma { shape: 0.0223 });
        fills_its_window(Gaps::Gamma { shape: 3.08 });
        fills_its_window(Gaps::Weibull { shape: 1.33 });
        fills_its_window(Gaps::Gamma { shape: 0.0 });
    }
}
