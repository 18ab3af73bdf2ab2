//! Every request's life, and how many were in flight, on one page over one time.
//!
//! The page holds the times as data and the lines that draw them: it needs no network and no
//! library, and draws on canvases, so that tens of thousands of requests are no burden.

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde::Serialize;
use servemark_metrics::RequestScore;

use crate::{Report, ReportFormat};

/// AISBench's timeline: each request that ended well as a line, red to its first event and blue from
/// there on, and below it the number of requests in flight, step by step. Where no request has a
/// first event, the steps alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct AisbenchTimeline;

impl ReportFormat for AisbenchTimeline {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let scores = report.scores();
        let mut lives: Vec<_> = scores.iter().filter(|score| score.success).collect();
        lives.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
        let (before, after) = PAGE.split_once(PLACE).expect("the page has a place for data");
        out.write_all(before.as_bytes())?;
        serde_json::to_writer(&mut *out, &Data::of(&lives))?;
        out.write_all(after.as_bytes())
    }
}

/// Times are whole microseconds since the first request was sent.
#[derive(Serialize)]
struct Data {
    /// Start, first event, end and row.
    lives: Vec<(i64, i64, i64, usize)>,
    /// From when on how many were in flight.
    steps: Vec<(i64, i64)>,
    last: i64,
}

impl Data {
    fn of(scores: &[&RequestScore<'_>]) -> Self {
        let began = scores.first().map_or(0.0, |score| score.start_s);
        let micros = |time: f64| ((time - began) * 1e6).round() as i64;
        let spans: Vec<(i64, i64)> = scores
            .iter()
            .map(|score| (micros(score.start_s), micros(score.start_s + score.latency_s)))
            .collect();
        let has_first = scores.iter().any(|score| score.ttft_s.is_some());
        let rows = rows(scores);
        let lives = scores.iter().zip(&spans).zip(rows).map(|((score, &(start, end)), row)| {
            let first = micros(score.start_s + score.ttft_s.unwrap_or_default());
            (start, first, if (end - first).abs() < TOO_SHORT { first } else { end }, row)
        });
        Self {
            lives: lives.filter(|_| has_first).collect(),
            steps: steps(&spans),
            last: spans.iter().map(|&(_, end)| end).max().unwrap_or_default(),
        }
    }
}

/// A row for each request; in a run with conversations, one for all turns of each.
fn rows(scores: &[&RequestScore<'_>]) -> Vec<usize> {
    let has_turns = scores.iter().any(|score| score.turn > 0);
    let mut known = HashMap::new();
    let row = |(place, score): (usize, &&RequestScore<'_>)| {
        let next = known.len() + 1;
        *known.entry(if has_turns { score.index } else { place }).or_insert(next)
    };
    scores.iter().enumerate().map(row).collect()
}

fn steps(spans: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut changes = BTreeMap::<i64, i64>::new();
    for &(start, end) in spans.iter().filter(|(start, end)| start < end) {
        *changes.entry(start).or_default() += 1;
        *changes.entry(end).or_default() -= 1;
    }
    let open = changes.into_iter().filter(|(_, change)| *change != 0);
    open.scan(0, |open, (at, change)| {
        *open += change;
        Some((at, *open))
    })
    .collect()
}

/// Microseconds below which the time after the first event is none.
const TOO_SHORT: i64 = 1000;
const PAGE: &str = include_str!("life.html");
const PLACE: &str = "/*DATA*/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_who_is_in_flight() {
        let spans = [(0, 10), (5, 20), (10, 15), (7, 7)];
        assert_eq!(steps(&spans), [(0, 1), (5, 2), (15, 1), (20, 0)]);
        assert!(steps(&[]).is_empty());
    }
}
