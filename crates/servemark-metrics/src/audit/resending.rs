//! Requests that the server did not process: they were resent, or lost with the connection that
//! they reused.

use std::collections::BTreeMap;

use serde::Serialize;
use servemark_core::{ErrorKind, RunLog, Stamp, Unprocessed};

/// Requests that the server did not process, and whether connections were reused to the end of the
/// run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Resending {
    /// Number of requests that were resent on a new connection, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resent: BTreeMap<Unprocessed, u64>,
    /// Number of resent requests that failed again.
    pub failed_again: u64,
    /// Number of requests that failed because the server did not process them and that were not
    /// resent.
    pub lost: u64,
    /// When the client stopped reusing connections, because the server closed them after complete
    /// answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse_ended: Option<Stamp>,
}

impl Resending {
    pub(super) fn of(log: &RunLog) -> Self {
        let mut resending = Self {
            reuse_ended: log.footer().and_then(|footer| footer.reuse_ended),
            ..Self::default()
        };
        for record in log.measured() {
            if let Some(resent) = record.resent {
                *resending.resent.entry(resent.reason).or_default() += 1;
                resending.failed_again += u64::from(!record.is_success());
            } else if matches!(&record.outcome, Err(error) if error.kind == ErrorKind::NotProcessed)
            {
                resending.lost += 1;
            }
        }
        resending
    }

    /// Returns whether nothing is to be reported.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of requests that were resent.
    pub fn total(&self) -> u64 {
        self.resent.values().sum()
    }

    /// Returns the notes for a reader of the report, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let resent = self.resent_in_words();
        let lost = (self.lost > 0).then(|| {
            format!(
                "{} requests were lost because the server did not process them (a reused connection \
                 that it had closed, or a refused HTTP/2 stream) and they were not sent once more",
                self.lost
            )
        });
        let ended = self.reuse_ended.map(|_| {
            "the server closes connections after each answer although it announces keep-alive; \
             connections are not reused"
                .to_owned()
        });
        [resent, lost, ended].into_iter().flatten().collect()
    }

    /// Returns a description of how many requests were resent and why, if any were.
    pub fn resent_in_words(&self) -> Option<String> {
        if self.total() == 0 {
            return None;
        }
        let reasons =
            self.resent.iter().map(|(reason, count)| format!("{count} {}", reason.words()));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let again = match self.failed_again {
            0 => String::new(),
            failed => format!("; {failed} of them failed again"),
        };
        Some(format!(
            "{} requests were sent once more on a new connection: {reasons}{again}",
            self.total()
        ))
    }
}

#[cfg(test)]
mod tests {
    use servemark_core::{
        Finish, Footer, Header, Phase, Recorder, RequestError, RequestRecord, RunFacts, Sample,
    };

    use super::*;

    fn record(reason: Option<Unprocessed>, outcome: Result<Finish, RequestError>) -> RequestRecord {
        let mut recorder =
            Recorder::new(0, Phase::Measure, &Sample::new("hi", 1, 2), Stamp::from_nanos(1));
        if let Some(reason) = reason {
            recorder.record_sent(Stamp::from_nanos(2));
            recorder.resent(reason);
        }
        recorder.finish(outcome, Stamp::from_nanos(9))
    }

    fn log(records: Vec<RequestRecord>, reuse_ended: Option<Stamp>) -> RunLog {
        let mut footer = Footer::default();
        footer.reuse_ended = reuse_ended;
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        RunLog::new(header, records, Some(footer))
    }

    fn fails(kind: ErrorKind) -> Result<Finish, RequestError> {
        Err(RequestError::new(kind, ""))
    }

    #[test]
    fn requests_that_were_sent_once_more_are_counted_by_reason() {
        let well = || Ok(Finish::default());
        let records = vec![
            record(None, well()),
            record(Some(Unprocessed::Closed), well()),
            record(Some(Unprocessed::Closed), fails(ErrorKind::Connect)),
            record(Some(Unprocessed::GoAway), well()),
        ];
        let resending = Resending::of(&log(records, None));
        assert_eq!((resending.total(), resending.failed_again, resending.lost), (3, 1, 0));
        assert_eq!(
            resending.notes(),
            [
                "3 requests were sent once more on a new connection: 2 closed by the server before an \
              answer, 1 stream above the last one of a GOAWAY; 1 of them failed again"
            ]
        );
    }

    #[test]
    fn lost_requests_and_the_end_of_reuse_are_told() {
        let records = vec![record(None, fails(ErrorKind::NotProcessed))];
        let notes = Resending::of(&log(records, Some(Stamp::from_nanos(5)))).notes();
        assert!(notes[0].starts_with("1 requests were lost") && notes[0].contains("reused"));
        assert!(notes[1].starts_with("the server closes connections after each answer"));
    }

    #[test]
    fn a_run_without_any_has_nothing_to_tell() {
        let records = vec![record(None, fails(ErrorKind::Connect))];
        assert!(Resending::of(&log(records, None)).is_empty());
    }
}
