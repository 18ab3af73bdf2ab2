//! An HTML page with the timeline of every request and the number of requests in flight, over one
//! time axis.
//!
//! The page embeds the times as data and the script that draws them. It needs no network and no
//! library, and draws on canvas elements so that tens of thousands of requests stay fast.

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde::Serialize;
use servemark_metrics::RequestScore;

use crate::{Report, ReportFormat};

/// AISBench's timeline: one line per successful request, red until its first event and blue after
/// it, with the number of requests in flight below. Without first events, only the number in flight
/// is drawn.
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

/// Data of the page. Times are whole microseconds since the first request was sent.
#[derive(Serialize)]
struct Data {
    /// Start, first event, end and row of each request.
    lives: Vec<(i64, i64, i64, usize)>,
    /// Time of each change and the number of requests in flight from then on.
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

/// Returns the row of each request. In a run with multi-turn sessions, all turns of a session share
/// a row.
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

/// Shortest time after the first event that is drawn, in microseconds; a shorter time is drawn as
/// zero.
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
