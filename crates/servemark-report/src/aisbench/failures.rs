//! The table of failure reasons.

use std::io;

use servemark_core::RunLog;

use crate::boxes::{Align, Boxed, Frame};
use crate::{Report, ReportFormat};

/// The reasons for which requests failed and the number of requests per reason, in the order of
/// first occurrence. Writes nothing if no request failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct AisbenchFailures;

impl ReportFormat for AisbenchFailures {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let reasons = reasons(report.log);
        if reasons.is_empty() {
            return Ok(());
        }
        let mut table = Boxed::new([("Failed Reason", Align::Left), ("Count", Align::Right)]);
        for (reason, count) in reasons {
            table.row(vec![reason.to_owned(), count.to_string()]);
        }
        writeln!(out, "Task finished, failed reasons summary:")?;
        table.write(&Frame::PLAIN, out)
    }
}

fn reasons(log: &RunLog) -> Vec<(&str, usize)> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for error in log.measured().filter_map(|record| record.outcome.as_ref().err()) {
        match reasons.iter_mut().find(|(reason, _)| *reason == error.message) {
            Some((_, count)) => *count += 1,
            None => reasons.push((&error.message, 1)),
        }
    }
    reasons
}
