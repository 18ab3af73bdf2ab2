//! Keeps a run: in memory, and on disk as it happens.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use servemark_core::{Footer, Header, Phase, RequestRecord, RunLog, RunLogError, RunLogWriter};
use servemark_metrics::Audit;
use servemark_runner::{Backlog, Observer};

use crate::{ExecuteError, Live};

/// A run's memory. Records reach it over a channel and are written by a thread of its own, so
/// that no answer that is being read ever waits for the disk. If the disk falls too far behind,
/// requests that are to be sent do.
#[derive(Debug)]
pub(crate) struct Journal {
    header: Header,
    clerk: JoinHandle<Kept>,
    correspondent: Correspondent,
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
        Self::bounded(path, header, live, MOST_BEHIND)
    }

    fn bounded(
        path: Option<&Path>,
        header: Header,
        live: Arc<Live>,
        most_behind: NonZeroU64,
    ) -> Result<Self, ExecuteError> {
        let file = path.map(|path| RunLogWriter::create(path, &header)).transpose()?;
        let ((desk, inbox), backlog) = (channel(), Arc::new(Backlog::new(most_behind)));
        let correspondent = Correspondent { desk, backlog: Arc::clone(&backlog), live };
        let clerk = Builder::new()
            .name("run-log".to_owned())
            .spawn(move || keep(&inbox, &backlog, file))
            .map_err(ExecuteError::Machine)?;
        Ok(Self { header, clerk, correspondent })
    }

    /// Who tells it of requests.
    pub(crate) fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(self.correspondent.clone())
    }

    /// Waits until all that was told is kept. Every observer must be gone.
    pub(crate) fn close(self) -> Closing {
        drop(self.correspondent);
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

fn keep(inbox: &Receiver<RequestRecord>, backlog: &Backlog, file: Option<RunLogWriter>) -> Kept {
    let mut kept = Kept { records: Vec::new(), file: file.map(Ok) };
    for mut record in inbox {
        // A disk that failed once is left alone: what is on it stays readable.
        if let Some(Ok(writer)) = &mut kept.file
            && let Err(error) = writer.append(&record)
        {
            kept.file = Some(Err(error));
        }
        backlog.remove(weight(&record));
        record.compact();
        kept.records.push(record);
    }
    kept
}

/// About how many bytes a record is as a line.
fn weight(record: &RequestRecord) -> u64 {
    (LINE + record.text.len() + record.deltas.len() * PIECE) as u64
}

/// Counts and passes on.
#[derive(Clone, Debug)]
struct Correspondent {
    desk: Sender<RequestRecord>,
    backlog: Arc<Backlog>,
    live: Arc<Live>,
}

impl Observer for Correspondent {
    fn started(&self, phase: Phase) {
        self.live.count_start(phase);
    }

    fn finished(&self, record: RequestRecord) {
        self.live.count_end(record.phase, record.is_success());
        self.backlog.add(weight(&record));
        // The clerk outlives every correspondent; should it have died, `close` says so.
        let _ = self.desk.send(record);
    }

    fn backlog(&self) -> Option<&Backlog> {
        Some(&self.backlog)
    }
}

/// What a slow disk writes in a second or two, and a machine that measures can spare.
const MOST_BEHIND: NonZeroU64 = NonZeroU64::new(128 << 20).expect("it is not zero");

/// A record's line without its pieces, and what each of them adds.
const LINE: usize = 512;
const PIECE: usize = 32;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::process::Command;
    use std::sync::mpsc::sync_channel;

    use servemark_core::{Finish, Recorder, RunFacts, Sample, Stamp};

    use super::*;

    fn record(index: usize) -> RequestRecord {
        let mut record = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), Stamp::ZERO)
            .finish(Ok(Finish::default()), Stamp::ZERO);
        record.text = "x".repeat(16 << 10);
        record
    }

    /// A pipe that nobody reads for a while behaves as a disk that is too slow.
    #[test]
    fn a_slow_disk_holds_up_what_departs_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (let_it_read, may_read) = sync_channel::<()>(0);
        let reader = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut lines = BufReader::new(File::open(path).unwrap()).lines();
                lines.next().unwrap().unwrap();
                may_read.recv().unwrap();
                lines.count()
            }
        });
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let most = NonZeroU64::new(256 << 10).unwrap();
        let journal = Journal::bounded(Some(&path), header, Arc::default(), most).unwrap();
        let observer = journal.observer();
        let backlog = observer.backlog().unwrap();
        (0..10).for_each(|index| observer.finished(record(index)));
        assert!(!backlog.is_full());
        // A pipe and its two ends hold no more than half of that.
        (10..40).for_each(|index| observer.finished(record(index)));
        assert!(backlog.is_full());
        let_it_read.send(()).unwrap();
        drop(observer);
        let closing = journal.close();
        assert_eq!(closing.records.len(), 40);
        drop(closing);
        assert_eq!(reader.join().unwrap(), 40);
    }
}
