//! Measures the lateness of the pacer that sends requests.

use std::io;
use std::time::Duration;

use serde::Serialize;
use servemark_core::{Clock, MonotonicClock};
use servemark_metrics::statistics::percentile;
use servemark_pacer::{Pacer, SystemPacer};

use crate::runtime::{block_on, of_a_thread};

/// Distribution of a lateness in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// Median in microseconds.
    pub p50_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// Maximum in microseconds.
    pub max_us: f64,
}

impl Lateness {
    fn of(mut sample: Vec<f64>) -> Self {
        sample.sort_unstable_by(f64::total_cmp);
        let at = |percent| percentile(&sample, percent).unwrap_or_default();
        Self { p50_us: at(50.0), p99_us: at(99.0), max_us: at(100.0) }
    }
}

/// Waits for a number of instants and measures the lateness of each wait.
pub(super) fn lateness() -> io::Result<Lateness> {
    block_on(&of_a_thread()?, async {
        let pacer = SystemPacer::new(MonotonicClock::start())?;
        let mut late = Vec::with_capacity(WAITS);
        let mut due = pacer.now();
        for _ in 0..WAITS {
            due = due.max(pacer.now()) + APART;
            pacer.until(due).await;
            late.push(pacer.now().since(due).as_secs_f64() * 1e6);
        }
        Ok(Lateness::of(late))
    })
}

const WAITS: usize = 400;
const APART: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_sample() {
        let late = Lateness::of((0..=100).rev().map(f64::from).collect());
        assert_eq!((late.p50_us, late.p99_us, late.max_us), (50.0, 99.0, 100.0));
        assert_eq!(Lateness::of(Vec::new()), Lateness::default());
    }
}
