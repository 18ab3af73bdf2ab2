//! Schedules: when each request is due.

use std::time::Duration;

/// A schedule of requests: their due times as offsets from the start of the run, which never
/// decrease.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Schedule {
    due: Vec<Duration>,
}

impl Schedule {
    /// Creates a schedule of `count` requests that are all due at the start.
    pub fn burst(count: usize) -> Self {
        Self { due: vec![Duration::ZERO; count] }
    }

    /// Creates a schedule with one request per gap: the first at the start, each later one a gap
    /// after the previous. The last gap schedules nothing.
    pub(crate) fn from_gaps(gaps_secs: &[f64]) -> Self {
        let offsets = gaps_secs.iter().scan(0.0, |next_secs, gap_secs| {
            let due_secs = *next_secs;
            *next_secs += gap_secs;
            Some(offset(due_secs))
        });
        Self { due: offsets.collect() }
    }

    /// Creates a schedule with one request per offset in seconds; an offset that goes back is
    /// raised to the previous one.
    pub(crate) fn from_offsets(due_secs: &[f64]) -> Self {
        let latest = due_secs.iter().scan(Duration::ZERO, |latest, secs| {
            *latest = offset(*secs).max(*latest);
            Some(*latest)
        });
        Self { due: latest.collect() }
    }

    /// Returns when the request at `index` is due; `None` after the last one.
    pub fn due(&self, index: usize) -> Option<Duration> {
        self.due.get(index).copied()
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.due.len()
    }

    /// Returns whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Returns when the last request is due; zero without requests.
    pub fn span(&self) -> Duration {
        self.due.last().copied().unwrap_or_default()
    }

    /// Returns when each request is due, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Duration> + '_ {
        self.due.iter().copied()
    }
}

/// Collects offsets in any order; they are sorted, because a schedule never decreases.
impl FromIterator<Duration> for Schedule {
    fn from_iter<I: IntoIterator<Item = Duration>>(offsets: I) -> Self {
        let mut due: Vec<Duration> = offsets.into_iter().collect();
        due.sort_unstable();
        Self { due }
    }
}

/// Converts seconds into an offset. A value above the range of `Duration`, about 5.8e11 years, is
/// never due.
fn offset(secs: f64) -> Duration {
    Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_is_due_at_the_start() {
        let schedule = Schedule::from_gaps(&[0.25, 0.5, 100.0]);
        let millis: Vec<u128> = schedule.iter().map(|due| due.as_millis()).collect();
        assert_eq!(millis, [0, 250, 750]);
        assert_eq!(schedule.span(), Duration::from_millis(750));
        assert_eq!(schedule.due(1), Some(Duration::from_millis(250)));
        assert_eq!(schedule.due(3), None);
    }

    #[test]
    fn no_request_has_no_span() {
        let empty = Schedule::from_gaps(&[]);
        assert!(empty.is_empty());
        assert_eq!((empty.len(), empty.span()), (0, Duration::ZERO));
    }

    #[test]
    fn a_rate_near_zero_saturates() {
        let schedule = Schedule::from_gaps(&[f64::MAX, f64::INFINITY, 1.0]);
        assert!(schedule.iter().is_sorted());
        assert_eq!(schedule.span(), Duration::MAX);
    }
}
