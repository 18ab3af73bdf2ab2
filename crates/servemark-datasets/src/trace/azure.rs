//! The LLM inference traces of Azure: a row is a request. The one of 2025 counts pictures, too,
//! which nobody has.

use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;
use servemark_core::{DatasetError, DrawContext, Session};

use super::{Course, Trace};
use crate::book::{Book, Extract};
use crate::csv_file::{Row, Table};
use crate::instant;

/// The first `count` requests.
pub(super) fn read(
    path: &Path,
    count: usize,
    context: &DrawContext<'_>,
) -> Result<Trace, DatasetError> {
    let table = Table::open(path, &[TIME, "ContextTokens", "GeneratedTokens"])?;
    let book = Book::open(context)?;
    let (mut sessions, mut pictures) = (Vec::new(), 0);
    let mut course = Course::default();
    table.read(|row| {
        if sessions.len() == count {
            return Ok(ControlFlow::Break(()));
        }
        let time = time(row)?;
        let begins = instant::since(course.next(time, TIME)?, time);
        let extract = Extract::of_row(sessions.len() as u64, row.tokens("ContextTokens")?);
        let sample = book.sample(vec![extract], row.tokens("GeneratedTokens")?);
        sessions.push(Session::from(sample).beginning(begins));
        pictures += pictures_of(row)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Trace::new(sessions).noting("Pictures of the trace that are not sent", pictures))
}

fn time(row: &Row<'_>) -> Result<Timestamp, String> {
    instant::parse(row.text(TIME).unwrap_or_default())
}

fn pictures_of(row: &Row<'_>) -> Result<u64, String> {
    row.text("NumImages").map_or(Ok(0), |_| row.tokens("NumImages").map(u64::from))
}

const TIME: &str = "TIMESTAMP";
