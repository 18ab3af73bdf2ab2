//! Azure's LLM inference traces, with one request per row. The 2025 trace also has image counts but
//! no images.

use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;
use servemark_core::{DatasetError, DrawContext, Session};

use super::{TimeOrder, Trace};
use crate::csv_file::{Row, Table};
use crate::instant;
use crate::text_generator::{Extract, TextGenerator};

/// Reads the first `count` requests.
pub(super) fn read(
    path: &Path,
    count: usize,
    context: &DrawContext<'_>,
) -> Result<Trace, DatasetError> {
    let table = Table::open(path, COLUMNS)?;
    let generator = TextGenerator::open(context)?;
    let (mut sessions, mut pictures) = (Vec::new(), 0);
    let mut course = TimeOrder::default();
    table.read(|row| {
        if sessions.len() == count {
            return Ok(ControlFlow::Break(()));
        }
        let time = time(row)?;
        let begins = instant::since(course.next(time, TIME)?, time);
        let extract = Extract::of_row(sessions.len() as u64, row.tokens("ContextTokens")?);
        let sample = generator.sample(vec![extract], row.tokens("GeneratedTokens")?);
        sessions.push(Session::from(sample).beginning(begins));
        pictures += pictures_of(row)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Trace::new(sessions).with_notice("Images of the trace that are not sent", pictures))
}

fn time(row: &Row<'_>) -> Result<Timestamp, String> {
    instant::parse(row.text(TIME).unwrap_or_default())
}

fn pictures_of(row: &Row<'_>) -> Result<u64, String> {
    row.text("NumImages").map_or(Ok(0), |_| row.tokens("NumImages").map(u64::from))
}

const TIME: &str = "TIMESTAMP";

/// Columns that a trace must have.
pub(crate) const COLUMNS: &[&str] = &[TIME, "ContextTokens", "GeneratedTokens"];
