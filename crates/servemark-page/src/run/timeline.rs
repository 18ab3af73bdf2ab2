//! The timeline of single requests; of many requests a sample in which the extremes stay.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use servemark_core::{RequestRecord, RunLog};
use servemark_metrics::RequestScore;

use super::bins::Bins;
use super::times::{Times, warm_up};
use crate::number::count;
use crate::pack::{pack, pack_seconds};

/// A request on the timeline. Times are on the axis, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar<'a> {
    record: &'a RequestRecord,
    first: Option<f64>,
    input: u32,
    output: u64,
    /// Start and length of the longest gap between tokens.
    longest: (f64, f64),
    is_warm_up: bool,
}

impl Bar<'_> {
    fn ttft(&self, times: &Times) -> f64 {
        self.first.map_or(0.0, |first| first - times.at(self.record.started()))
    }

    fn e2el(&self) -> f64 {
        self.record.ended.since(self.record.started()).as_secs_f64()
    }
}

/// Returns the requests of a run as columns.
pub(super) fn timeline(
    times: &Times,
    log: &RunLog,
    scores: &[RequestScore<'_>],
    longest: &[(f64, f64)],
) -> Value {
    let measured = log.measured().zip(scores).zip(longest).map(|((record, score), longest)| Bar {
        record,
        first: score.ttft_s.map(|ttft| score.start_s + ttft - times.zero),
        input: score.prompt_tokens,
        output: score.output_token_count(),
        longest: *longest,
        is_warm_up: false,
    });
    let mut bars: Vec<Bar<'_>> = measured.collect();
    bars.sort_by_key(|bar| bar.record.scheduled);
    let all = bars.len();
    let visible = if all > MOST_BARS { extremes(&bars, times) } else { bars };
    let note = if visible.len() < all {
        format!(
            "{} of {} requests: of each part of the run the slowest by TTFT, by E2E and by their longest gap, those that failed, and others between them.",
            count(visible.len()),
            count(all)
        )
    } else {
        format!("All {} requests, by the time at which they were due.", count(all))
    };
    let before = warm_up(log).map(|record| Bar {
        record,
        first: record.deltas.first_at().map(|at| times.at(at)),
        input: record.planned.prompt_tokens,
        output: record.usage.and_then(|usage| usage.completion_tokens).map_or(0, u64::from),
        longest: (0.0, 0.0),
        is_warm_up: true,
    });
    let before = before.filter(|bar| times.at(bar.record.ended) > times.from).take(MOST_BARS);
    let mut visible: Vec<Bar<'_>> = before.chain(visible).collect();
    visible.sort_by_key(|bar| bar.record.scheduled);
    columns(times, &visible, &note)
}

fn columns(times: &Times, bars: &[Bar<'_>], note: &str) -> Value {
    let mut kinds = Kinds::default();
    let failures: Vec<Option<i64>> = bars.iter().map(|bar| Some(kinds.of(bar.record))).collect();
    let whole = |value: fn(&Bar<'_>) -> i64| pack(bars.iter().map(|bar| Some(value(bar))));
    let time = |value: &dyn Fn(&Bar<'_>) -> f64| pack_seconds(bars.iter().map(value));
    let columns = json!({
        "index": whole(|bar| number(bar.record.index)),
        "turn": whole(|bar| bar.record.turn.into()),
        "phase": whole(|bar| bar.is_warm_up.into()),
        "due_us": time(&|bar| times.at(bar.record.scheduled)),
        "sent_us": time(&|bar| times.at(bar.record.started())),
        "first_us": time(&|bar| bar.first.unwrap_or(f64::NAN)),
        "end_us": time(&|bar| times.at(bar.record.ended)),
        "stall_us": time(&|bar| bar.longest.0),
        "stalled_us": time(&|bar| bar.longest.1),
        "input": whole(|bar| bar.input.into()),
        "output": whole(|bar| bar.output.cast_signed()),
        "failure": pack(failures),
    });
    json!({"note": note, "failures": kinds.names, "columns": columns})
}

/// Kinds of failures, with the HTTP status where there is one.
#[derive(Debug, Default)]
struct Kinds {
    names: Vec<String>,
    places: BTreeMap<String, i64>,
}

impl Kinds {
    /// Returns the one-based place of a request's failure, and zero for a success.
    fn of(&mut self, record: &RequestRecord) -> i64 {
        let Err(error) = &record.outcome else { return 0 };
        let status = record.status.filter(|status| *status != 200);
        let name = status
            .map_or_else(|| error.kind.to_string(), |status| format!("{} {status}", error.kind));
        let next = number(self.names.len() + 1);
        *self.places.entry(name.clone()).or_insert_with(|| {
            self.names.push(name);
            next
        })
    }
}

/// Selects bars from all parts of a run: the slowest by each measure, failures, and even steps.
fn extremes<'a>(bars: &[Bar<'a>], times: &Times) -> Vec<Bar<'a>> {
    let bins = Bins::of(times.span(), MOST_BARS / 8);
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); bins.count];
    for (place, bar) in bars.iter().enumerate() {
        if let Some(bin) = bins.place(times.at(bar.record.started())) {
            parts[bin].push(place);
        }
    }
    let mut chosen: Vec<usize> = Vec::new();
    for part in &parts {
        let slowest = |by: &dyn Fn(&Bar<'a>) -> f64| {
            part.iter().copied().max_by(|one, other| by(&bars[*one]).total_cmp(&by(&bars[*other])))
        };
        chosen.extend(slowest(&|bar| bar.ttft(times)));
        chosen.extend(slowest(&Bar::e2el));
        chosen.extend(slowest(&|bar| bar.longest.1));
        let failed = part.iter().copied().filter(|place| !bars[*place].record.is_success());
        chosen.extend(failed.take(2));
    }
    chosen.extend((0..bars.len()).step_by(bars.len().div_ceil(MOST_BARS / 2)));
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|place| bars[place]).collect()
}

fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

/// Largest number of bars.
const MOST_BARS: usize = 2000;
