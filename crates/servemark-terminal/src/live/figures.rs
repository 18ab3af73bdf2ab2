//! Figures of a run while it goes on, from the requests that ended.

use std::collections::VecDeque;

use servemark::core::{Phase, RequestRecord};
use servemark::metrics::FailureTally;

/// Figures of the requests that ended so far. They are rough: TTFT ends with the first piece of
/// text, and the tokens of a request are counted when it ends. The report has the exact ones.
#[derive(Debug, Default)]
pub(super) struct LiveFigures {
    /// The seconds of the run in which requests ended, the last [`SECONDS`] of them.
    seconds: VecDeque<Second>,
    /// Index of the second of the run to which the first entry of `seconds` belongs.
    first: u64,
    all: Second,
    failures: FailureTally,
}

/// Figures of the requests that ended in one second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    requests: u64,
    tokens: u64,
    ttft: Mean,
    itl: Mean,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum_ms: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, values: Self) {
        self.sum_ms += values.sum_ms;
        self.count += values.count;
    }

    fn ms(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ms / self.count as f64)
    }
}

impl LiveFigures {
    /// Adds a request that ended. Only requests of the measurement count.
    pub(super) fn add(&mut self, record: &RequestRecord) {
        if record.phase != Phase::Measure {
            return;
        }
        self.failures.add_record(record);
        let of_request = Second::of(record);
        self.all.add(of_request);
        if let Some(second) = self.second(record.ended.as_nanos() / NANOS_PER_SECOND) {
            second.add(of_request);
        }
    }

    /// Returns the entry of a second of the run; absent if it is longer ago than figures are kept.
    fn second(&mut self, second: u64) -> Option<&mut Second> {
        if self.seconds.is_empty() {
            self.first = second;
        }
        let mut index = second.checked_sub(self.first)?;
        if index >= SECONDS + self.seconds.len() as u64 {
            (self.first, index) = (second, 0);
            self.seconds.clear();
        }
        while self.seconds.len() as u64 <= index {
            self.seconds.push_back(Second::default());
        }
        while self.seconds.len() as u64 > SECONDS {
            self.seconds.pop_front();
            (self.first, index) = (self.first + 1, index - 1);
        }
        self.seconds.get_mut(usize::try_from(index).ok()?)
    }

    /// Returns the requests per second of the last whole seconds.
    pub(super) fn requests_per_s(&self) -> Option<f64> {
        self.rate(|second| second.requests)
    }

    /// Returns the output tokens per second of the last whole seconds.
    pub(super) fn tokens_per_s(&self) -> Option<f64> {
        self.rate(|second| second.tokens)
    }

    /// Returns the mean TTFT in milliseconds so far.
    pub(super) fn ttft_ms(&self) -> Option<f64> {
        self.all.ttft.ms()
    }

    /// Returns the mean ITL in milliseconds so far.
    pub(super) fn itl_ms(&self) -> Option<f64> {
        self.all.itl.ms()
    }

    /// Returns the course of the output tokens per second.
    pub(super) fn tokens_line(&self) -> String {
        self.line(|second| Some(second.tokens as f64))
    }

    /// Returns the course of the mean TTFT.
    pub(super) fn ttft_line(&self) -> String {
        self.line(|second| second.ttft.ms())
    }

    /// Returns the course of the mean ITL.
    pub(super) fn itl_line(&self) -> String {
        self.line(|second| second.itl.ms())
    }

    /// Returns a line about the failed requests, if there are any.
    pub(super) fn failures(&self) -> Option<String> {
        (self.failures.failed() > 0).then(|| self.failures.to_string())
    }

    /// Returns a mean over up to ten whole seconds; the present second is not whole.
    fn rate(&self, count: impl Fn(&Second) -> u64) -> Option<f64> {
        let whole = self.seconds.len().checked_sub(1).filter(|whole| *whole > 0)?;
        let last = whole.min(RATE_SECONDS);
        let sum: u64 = self.seconds.range(whole - last..whole).map(count).sum();
        Some(sum as f64 / last as f64)
    }

    /// Draws a figure of each second as a bar between zero and the largest one. A second without a
    /// value is a space.
    fn line(&self, figure: impl Fn(&Second) -> Option<f64>) -> String {
        let values: Vec<Option<f64>> = self.seconds.iter().map(figure).collect();
        let largest = values.iter().flatten().copied().fold(0.0, f64::max);
        // A value is rounded to the nearest height of a bar.
        let step = largest / (BARS.len() - 1) as f64;
        let bar = |value: f64| {
            let reached = (1..BARS.len()).filter(|height| value >= (*height as f64 - 0.5) * step);
            BARS[if step > 0.0 { reached.count() } else { 0 }]
        };
        values.iter().map(|value| value.map_or(' ', bar)).collect()
    }
}

impl Second {
    fn of(record: &RequestRecord) -> Self {
        if !record.is_success() {
            return Self { requests: 1, ..Self::default() };
        }
        let started = record.started().as_secs_f64();
        let gaps = (record.deltas.len() as u64).saturating_sub(1);
        let ms = |begin: f64, end: f64, count| Mean { sum_ms: (end - begin) * 1e3, count };
        let (first, last) = (record.deltas.first_at(), record.deltas.last_at());
        let counted = record.usage.as_ref().and_then(|usage| usage.completion_tokens);
        Self {
            requests: 1,
            tokens: counted.map_or(record.deltas.len() as u64, u64::from),
            ttft: first.map(|at| ms(started, at.as_secs_f64(), 1)).unwrap_or_default(),
            itl: first
                .zip(last)
                .filter(|_| gaps > 0)
                .map(|(first, last)| ms(first.as_secs_f64(), last.as_secs_f64(), gaps))
                .unwrap_or_default(),
        }
    }

    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.tokens += other.tokens;
        self.ttft.add(other.ttft);
        self.itl.add(other.itl);
    }
}

/// Number of seconds whose figures are kept, which a terminal of 80 columns can show.
const SECONDS: u64 = 54;

/// Largest number of seconds that a rate is averaged over.
const RATE_SECONDS: usize = 10;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
pub(super) mod tests {
    use servemark::core::{Delta, ErrorKind, Finish, Recorder, RequestError, Sample, Stamp};

    use super::*;

    /// Returns a request that ended at a time, with three pieces after a TTFT.
    fn request(ended_ms: u64, ttft_ms: u64, itl_ms: u64) -> RequestRecord {
        let at = |ms: u64| Stamp::from_nanos(ms * 1_000_000);
        let first = ended_ms - 2 * itl_ms;
        let sent = at(first - ttft_ms);
        let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("", 1, 3), sent);
        recorder.record_sent(sent);
        for piece in 0..3 {
            recorder.output(at(first + piece * itl_ms), Delta::content("x"));
        }
        recorder.finish(Ok(Finish::default()), at(ended_ms))
    }

    fn failed(ended_ms: u64) -> RequestRecord {
        let mut record = request(ended_ms, 10, 1);
        record.status = Some(500);
        record.outcome = Err(RequestError::new(ErrorKind::Status, "overloaded"));
        record
    }

    /// Returns the figures of three seconds with two requests each; the last ones took longer.
    pub(in crate::live) fn of_three_seconds() -> LiveFigures {
        let mut figures = LiveFigures::default();
        for (second, ttft, itl) in [(1, 120, 12), (2, 120, 12), (3, 300, 30)] {
            for ms in [400, 900] {
                figures.add(&request(second * 1000 + ms, ttft, itl));
            }
        }
        figures.add(&failed(3950));
        figures
    }

    #[test]
    fn figures_are_those_of_the_requests_that_ended() {
        let figures = of_three_seconds();
        // The last second is not whole yet.
        assert_eq!(figures.requests_per_s(), Some(2.0));
        assert_eq!(figures.tokens_per_s(), Some(6.0));
        assert!((figures.ttft_ms().unwrap() - 180.0).abs() < 1e-6);
        assert!((figures.itl_ms().unwrap() - 18.0).abs() < 1e-6);
        assert_eq!(figures.ttft_line(), "▄▄█");
        let failures = figures.failures().unwrap();
        assert_eq!(failures, "1 of 7 requests failed: 1 http status 500");
    }

    #[test]
    fn only_the_last_seconds_are_kept() {
        let mut figures = LiveFigures::default();
        for second in 1..=200 {
            figures.add(&request(second * 1000, 100, 10));
        }
        assert_eq!(figures.seconds.len() as u64, SECONDS);
        assert_eq!(figures.first + SECONDS, 201);
        figures.add(&request(900_000, 100, 10));
        assert_eq!(figures.seconds.len(), 1);
        figures.add(&request(800_000, 100, 10));
        assert_eq!(figures.all.requests, 202);
    }

    #[test]
    fn seconds_without_a_request_are_gaps() {
        let mut figures = LiveFigures::default();
        assert_eq!((figures.requests_per_s(), figures.ttft_ms()), (None, None));
        figures.add(&request(1000, 100, 10));
        assert_eq!(figures.requests_per_s(), None);
        figures.add(&request(3000, 100, 10));
        assert_eq!(figures.requests_per_s(), Some(0.5));
        assert_eq!(figures.ttft_line(), "█ █");
        assert_eq!(figures.tokens_line(), "█▁█");
    }

    #[test]
    fn requests_outside_the_measurement_do_not_count() {
        let mut figures = LiveFigures::default();
        let mut warm_up = request(1000, 100, 10);
        warm_up.phase = Phase::Warmup;
        figures.add(&warm_up);
        assert_eq!(figures.all.requests, 0);
    }
}
