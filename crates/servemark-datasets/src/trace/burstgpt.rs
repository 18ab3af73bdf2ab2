//! `BurstGPT`'s traces, with one request per row. From the third release on, rows also have a
//! session id and the duration of the answer.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use servemark_core::{DatasetError, DrawContext, FollowUp, Session};

use super::{TimeOrder, Trace};
use crate::csv_file::{Row, Table};
use crate::text_generator::{Extract, TextGenerator};

/// Reads the first `count` sessions. Rows without response tokens are failed requests and are left
/// out.
pub(super) fn read(
    path: &Path,
    count: usize,
    context: &DrawContext<'_>,
) -> Result<Trace, DatasetError> {
    let table = Table::open(path, COLUMNS)?;
    let (mut talks, mut course, mut failed) = (Sessions::default(), TimeOrder::default(), 0);
    table.read(|row| {
        let call = Call::of(row)?;
        course.next(call.at, TIME)?;
        match call.response_tokens {
            0 => failed += 1,
            _ => talks.add(row.text(SESSION).unwrap_or_default(), call, count),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let generator = TextGenerator::open(context)?;
    let start = talks.calls.first().map(|talk| talk[0].at).unwrap_or_default();
    let mut writer = Writer { generator: &generator, turns: 0 };
    let sessions = talks.calls.iter().map(|talk| writer.session(talk, start)).collect();
    Ok(Trace::new(sessions).with_notice("Failed requests of the trace left out", failed))
}

/// A row of the trace.
#[derive(Clone, Copy)]
struct Call {
    at: Duration,
    took: Duration,
    request_tokens: u32,
    response_tokens: u32,
}

impl Call {
    fn of(row: &Row<'_>) -> Result<Self, String> {
        let took = row.text(ELAPSED).map_or(Ok(Duration::ZERO), |_| row.seconds(ELAPSED));
        Ok(Self {
            at: row.seconds(TIME)?,
            took: took?,
            request_tokens: row.tokens("Request tokens")?,
            response_tokens: row.tokens("Response tokens")?,
        })
    }

    /// Returns the tokens that this request adds to the previous request and its answer.
    fn new_tokens(&self, before: &Self) -> u32 {
        let history = before.request_tokens.saturating_add(before.response_tokens);
        self.request_tokens.saturating_sub(history).max(1)
    }

    /// Returns the time from the end of the previous answer to this request.
    fn pause(&self, before: &Self) -> Duration {
        self.at.saturating_sub(before.at + before.took)
    }
}

/// Rows grouped by session, in the order in which the sessions begin.
#[derive(Default)]
struct Sessions {
    calls: Vec<Vec<Call>>,
    places: HashMap<String, usize>,
}

impl Sessions {
    /// Adds a row to its session. A row that would begin a session beyond `most` is left out.
    fn add(&mut self, session: &str, call: Call, most: usize) {
        if let Some(place) = self.places.get(session) {
            self.calls[*place].push(call);
        } else if self.calls.len() < most {
            if !session.is_empty() {
                self.places.insert(session.to_owned(), self.calls.len());
            }
            self.calls.push(vec![call]);
        }
    }
}

/// Generates a text of its own for each turn.
struct Writer<'a> {
    generator: &'a Arc<TextGenerator>,
    turns: u64,
}

impl Writer<'_> {
    fn session(&mut self, calls: &[Call], start: Duration) -> Session {
        let first = self.extract(calls[0].request_tokens);
        let opening = self.generator.sample(vec![first], calls[0].response_tokens);
        let follow_ups = calls.windows(2).map(|pair| self.turn(&pair[1], &pair[0])).collect();
        let begins = calls[0].at.saturating_sub(start);
        Session::from(opening).followed_by(follow_ups).beginning(begins)
    }

    fn turn(&mut self, call: &Call, before: &Call) -> FollowUp {
        let extract = self.extract(call.new_tokens(before));
        FollowUp::new(self.generator.addition(extract, call.response_tokens))
            .after(call.pause(before))
    }

    fn extract(&mut self, tokens: u32) -> Extract {
        self.turns += 1;
        Extract::of_row(self.turns, tokens)
    }
}

const TIME: &str = "Timestamp";

/// Columns that a trace must have.
pub(crate) const COLUMNS: &[&str] = &[TIME, "Request tokens", "Response tokens"];
const SESSION: &str = "Session ID";
const ELAPSED: &str = "Elapsed time";
