//! When each request is due.

use std::time::Duration;

/// When each request is due, as offsets from the start of the run; they never decrease.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Schedule {
    due: Vec<Duration>,
}

impl Schedule {
    /// `count` requests, all due at the start.
    pub fn burst(count: usize) -> Self {
        Self { due: vec![Duration::ZERO; count] }
    }

    /// One request per gap: the first at the start, each other one gap after the one before it.
    /// The last gap schedules nothing.
    pub(crate) fn from_gaps(gaps_secs: &[f64]) -> Self {
        let offsets = gaps_secs.iter().scan(0.0, |next_secs, gap_secs| {
            let due_secs = *next_secs;
            *next_secs += gap_secs;
            Some(offset(due_secs))
        });
        Self { due: offsets.collect() }
    }

    /// One request per offset, in seconds. One that would go back is due with the one before it.
    pub(crate) fn from_offsets(due_secs: &[f64]) -> Self {
        let latest = due_secs.iter().scan(Duration::ZERO, |latest, secs| {
            *latest = offset(*secs).max(*latest);
            Some(*latest)
        });
        Self { due: latest.collect() }
    }

    /// When the request at `index` is due; `None` behind the last one.
    pub fn due(&self, index: usize) -> Option<Duration> {
        self.due.get(index).copied()
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.due.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// When the last request is due; zero if there is none.
    pub fn span(&self) -> Duration {
        self.due.last().copied().unwrap_or_default()
    }

    /// When each request is due, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Duration> + '_ {
        self.due.iter().copied()
    }
}

/// Offsets of one's own, in whatever order: they are sorted, for a schedule never goes back.
impl FromIterator<Duration> for Schedule {
    fn from_iter<I: IntoIterator<Item = Duration>>(offsets: I) -> Self {
        let mut due: Vec<Duration> = offsets.into_iter().collect();
        due.sort_unstable();
        Self { due }
    }
}

/// Seconds as an offset. What no `Duration` can hold, half a trillion years on, is due never.
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
