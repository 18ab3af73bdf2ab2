//! The times at which a growing request rate passed each whole number.

use serde_json::{Value, json};
use servemark_core::{JsonObject, RequestRecord, RunLog};

use super::local_time::WallClock;

/// Returns the steps of a growing rate, each with the time at which its first request was due;
/// `None` if the rate does not grow.
pub(super) fn changes(log: &RunLog, clock: &WallClock) -> Option<Vec<Value>> {
    let ramp = Ramp::of(&log.header().facts.echo)?;
    let first_due = log.measured().map(|record| record.scheduled).min();
    let began = log.footer().and_then(|footer| footer.began).or(first_due)?;
    let requests = log.header().facts.requests;
    let mut last = ramp.from;
    let mut events = vec![json!({"rps": last, "timestamp": clock.iso(began)})];
    for record in log.measured().filter(|record| record.turn == 0) {
        let rate = ramp.rate(record, requests) as i64;
        let at = clock.iso(record.scheduled);
        events.extend((last + 1..=rate).map(|rps| json!({"rps": rps, "timestamp": at})));
        last = last.max(rate);
    }
    Some(events)
}

struct Ramp {
    is_linear: bool,
    from: i64,
    to: i64,
}

impl Ramp {
    fn of(echo: &JsonObject) -> Option<Self> {
        let whole = |key: &str| echo.get(key)?.as_i64();
        Some(Self {
            is_linear: echo.get("ramp_up_strategy")?.as_str()? == "linear",
            from: whole("ramp_up_start_rps")?,
            to: whole("ramp_up_end_rps")?,
        })
    }

    fn rate(&self, record: &RequestRecord, requests: usize) -> f64 {
        let progress = record.index as f64 / requests.saturating_sub(1).max(1) as f64;
        let (from, to) = (self.from as f64, self.to as f64);
        if self.is_linear {
            from + (to - from) * progress
        } else {
            from * (to / from).powf(progress)
        }
    }
}
