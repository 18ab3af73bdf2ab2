//! `benchmark.log`, requested with `--debug`: what was sent and received, in order of time.
//!
//! It is written from the records after a run. Nothing is logged during the measurement.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use servemark::Run;
use servemark::core::{RequestRecord, RunLog, Stamp};
use servemark_cli::LocalTime;

/// Appends the events of a run.
pub(super) fn append(run: &Run, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(OpenOptions::new().create(true).append(true).open(path)?);
    let bodies = run.sent.as_ref().map(|sent| sent.bodies(&run.log));
    let body = |record: &RequestRecord| bodies.as_ref()?.body(record).ok();
    for Event { at, record, what } in events(&run.log) {
        let (time, RequestRecord { index, turn, .. }) = (moment(&run.log, at), record);
        write!(out, "{time} - DEBUG - session {index}, turn {turn}: ")?;
        match what {
            DebugEvent::SentRequests => {
                let body = body(record).unwrap_or_default();
                writeln!(out, "sent {:?}", shortened(&String::from_utf8_lossy(&body), 100))?;
            }
            DebugEvent::Received(text) => writeln!(out, "received {:?}", shortened(text, 200))?,
            DebugEvent::Ended => match &record.outcome {
                Ok(_) => writeln!(out, "ended")?,
                Err(error) => writeln!(out, "failed: {error}")?,
            },
        }
    }
    out.flush()
}

struct Event<'a> {
    at: Stamp,
    record: &'a RequestRecord,
    what: DebugEvent<'a>,
}

enum DebugEvent<'a> {
    SentRequests,
    Received(&'a str),
    Ended,
}

/// Returns all events of a run in order of time.
fn events(log: &RunLog) -> Vec<Event<'_>> {
    let mut events: Vec<Event<'_>> = log.measured().flat_map(events_of).collect();
    events.sort_by_key(|event| event.at);
    events
}

fn events_of(record: &RequestRecord) -> impl Iterator<Item = Event<'_>> {
    let event = move |at, what| Event { at, record, what };
    let sent = record.sent.map(|at| event(at, DebugEvent::SentRequests));
    let pieces = record.pieces().map(move |(row, text)| event(row.at, DebugEvent::Received(text)));
    sent.into_iter().chain(pieces).chain([event(record.ended, DebugEvent::Ended)])
}

fn moment(log: &RunLog, at: Stamp) -> String {
    let began = Duration::from_nanos(log.header().clock_started_unix_ns);
    LocalTime::of_unix(began + Duration::from_nanos(at.as_nanos())).iso()
}

/// Shortens a long text to its start and end.
fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= 2 * most {
        return text.to_owned();
    }
    let (head, tail) = (text.chars().take(most), text.chars().skip(length - most));
    head.chain("...".chars()).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_middle_is_left_out() {
        assert_eq!(shortened("abécd", 2), "ab...cd");
        assert_eq!(shortened("abcd", 2), "abcd");
    }
}
