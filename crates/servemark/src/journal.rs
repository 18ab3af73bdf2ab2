//! Keeps a run: in memory, and on disk as it happens.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use servemark_core::{Footer, Header, Phase, RequestRecord, RunLog, RunLogError, RunLogWriter};
use servemark_metrics::Audit;
use servemark_runner::Observer;

use crate::{ExecuteError, Live};

/// A run's memory. Records reach it over a channel and are written by a thread of its own, so
/// that no request ever waits for the disk.
#[derive(Debug)]
pub(crate) struct Journal {
    header: Header,
    clerk: JoinHandle<Kept>,
    desk: Sender<RequestRecord>,
    live: Arc<Live>,
}

/// What the clerk holds when nobody has anything to add.
struct Kept {
    records: Vec<RequestRecord>,
    file: Option<Result<RunLogWriter, RunLogError>>,
}

/// A run that is over, with its file still open for the footer.
#[derive(Debug)]
pub(crate) struct Closing {
    header: Header,
    pub(crate) records: Vec<RequestRecord>,
    file: Option<Result<RunLogWriter, RunLogError>>,
}

impl Journal {
    /// Opens the log, if there is to be one, and writes its header.
    pub(crate) fn open(
        path: Option<&Path>,
        header: Header,
        live: Arc<Live>,
    ) -> Result<Self, ExecuteError> {
        let file = path.map(|path| RunLogWriter::create(path, &header)).transpose()?;
        let (desk, inbox) = channel();
        let clerk = Builder::new()
            .name("run-log".to_owned())
            .spawn(move || keep(&inbox, file))
            .map_err(ExecuteError::Machine)?;
        Ok(Self { header, clerk, desk, live })
    }

    /// Who tells it of requests.
    pub(crate) fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(Correspondent { desk: self.desk.clone(), live: Arc::clone(&self.live) })
    }

    /// Waits until all that was told is kept. Every observer must be gone.
    pub(crate) fn close(self) -> Closing {
        drop(self.desk);
        let Kept { records, file } = self.clerk.join().expect("the clerk only appends");
        Closing { header: self.header, records, file }
    }
}

impl Closing {
    /// Adds the footer. Says what kept the file from being whole, if anything did.
    pub(crate) fn finish(self, footer: Footer) -> (RunLog, Option<RunLogError>) {
        let log = audited(RunLog::new(self.header, self.records, Some(footer)));
        let closed = match self.file.zip(log.footer()) {
            None => Ok(()),
            Some((file, footer)) => file.and_then(|writer| writer.close(footer)),
        };
        (log, closed.err())
    }
}

/// A log that says itself what the client did to it.
fn audited(log: RunLog) -> RunLog {
    let audit = serde_json::to_value(Audit::of(&log)).expect("an audit is plain JSON");
    log.with_audit(audit)
}

fn keep(inbox: &Receiver<RequestRecord>, file: Option<RunLogWriter>) -> Kept {
    let mut kept = Kept { records: Vec::new(), file: file.map(Ok) };
    for mut record in inbox {
        // A disk that failed once is left alone: what is on it stays readable.
        if let Some(Ok(writer)) = &mut kept.file
            && let Err(error) = writer.append(&record)
        {
            kept.file = Some(Err(error));
        }
        record.compact();
        kept.records.push(record);
    }
    kept
}

/// Counts and passes on.
struct Correspondent {
    desk: Sender<RequestRecord>,
    live: Arc<Live>,
}

impl Observer for Correspondent {
    fn started(&self, phase: Phase) {
        self.live.count_start(phase);
    }

    fn finished(&self, record: RequestRecord) {
        self.live.count_end(record.phase, record.is_success());
        // The clerk outlives every correspondent; should it have died, `close` says so.
        let _ = self.desk.send(record);
    }
}
