//! Keeps a run: in memory, and on disk as it happens.

use std::iter;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use servemark_core::{
    EarlyStop, Footer, Header, Phase, RequestRecord, RunLog, RunLogError, RunLogReader,
    RunLogWriter,
};
use servemark_metrics::Audit;
use servemark_plan::{BenchPlan, OutputSpec};
use servemark_runner::{Backlog, Observer};

use crate::until::Watcher;
use crate::{ExecuteError, Live};

/// A run's memory. Records reach it over a channel and are written by a thread of its own, so
/// that no answer that is being read ever waits for the disk. If the disk falls too far behind,
/// requests that are to be sent do.
#[derive(Debug)]
pub(crate) struct Journal {
    header: Header,
    clerk: JoinHandle<Kept>,
    correspondent: Correspondent,
    path: Option<PathBuf>,
}

/// How much of a run is in memory at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of records that are not written yet.
    unwritten: NonZeroU64,
    /// Bytes of answers' texts. Those beyond stay on the disk, if they are there.
    texts: usize,
}

impl Room {
    /// What a run of this plan may take. Texts that are shown in the end are all kept.
    pub(crate) fn of(plan: &BenchPlan) -> Self {
        let output = &plan.output;
        let details = output.details || output.vllm.as_ref().is_some_and(|files| files.details);
        let shows_texts = plan.scoring.print_requests || details || output.keeps_texts;
        Self::with_texts(if shows_texts { usize::MAX } else { MOST_TEXT })
    }

    /// The usual room, with so many bytes for texts.
    pub(crate) fn with_texts(texts: usize) -> Self {
        Self { unwritten: MOST_BEHIND, texts }
    }
}

/// What the clerk holds when nobody has anything to add.
struct Kept {
    records: Vec<RequestRecord>,
    texts_left: Range<usize>,
    file: Option<Result<RunLogWriter, RunLogError>>,
    /// How many bytes of texts may still be kept.
    room: usize,
    watcher: Option<Watcher>,
}

/// A run's log as it will stay.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) log: RunLog,
    pub(crate) audit: Audit,
    /// Where its file is.
    pub(crate) path: Option<PathBuf>,
    /// What kept the file from being whole, if anything did.
    pub(crate) error: Option<RunLogError>,
}

/// A run that is over, with its file still open for the footer.
#[derive(Debug)]
pub(crate) struct Closing {
    header: Header,
    /// In the order in which they ended.
    pub(crate) records: Vec<RequestRecord>,
    /// Which of them have their texts on the disk only.
    pub(crate) texts_left: Range<usize>,
    file: Option<Result<RunLogWriter, RunLogError>>,
    path: Option<PathBuf>,
    /// The look that ended the run, if one did.
    pub(crate) early_stop: Option<EarlyStop>,
}

impl Journal {
    /// Opens the log, if there is to be one, and writes its header. A watcher looks at the requests as
    /// they end.
    pub(crate) fn open(
        output: &OutputSpec,
        header: Header,
        live: Arc<Live>,
        room: Room,
        watcher: Option<Watcher>,
    ) -> Result<Self, ExecuteError> {
        let open = |path| RunLogWriter::open(path, output.run_log_if_taken, &header);
        let file = output.run_log.as_deref().map(open).transpose()?;
        let path = file.as_ref().map(|writer| writer.path().to_owned());
        // What goes into a pipe cannot be read again.
        let texts =
            if path.as_deref().is_some_and(Path::is_file) { room.texts } else { usize::MAX };
        let kept = Kept {
            records: Vec::new(),
            texts_left: 0..0,
            file: file.map(Ok),
            room: texts,
            watcher,
        };
        let ((desk, inbox), backlog) = (channel(), Arc::new(Backlog::new(room.unwritten)));
        let correspondent = Correspondent { desk, backlog: Arc::clone(&backlog), live };
        let clerk = Builder::new()
            .name("run-log".to_owned())
            .spawn(move || keep(&inbox, &backlog, kept))
            .map_err(ExecuteError::Machine)?;
        Ok(Self { header, clerk, correspondent, path })
    }

    /// Who tells it of requests.
    pub(crate) fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(self.correspondent.clone())
    }

    /// Waits until all that was told is kept. Every observer must be gone.
    pub(crate) fn close(self) -> Closing {
        drop(self.correspondent);
        let kept = self.clerk.join().expect("the clerk only appends");
        let Kept { records, texts_left, file, room: _, watcher } = kept;
        let early_stop = watcher.and_then(|watcher| watcher.early_stop());
        Closing { header: self.header, records, texts_left, file, path: self.path, early_stop }
    }
}

impl Closing {
    /// The records whose texts were left on the disk, read again with them.
    pub(crate) fn texts_left(
        &self,
    ) -> Result<impl Iterator<Item = Result<RequestRecord, RunLogError>>, RunLogError> {
        let left = &self.texts_left;
        if let Some(Ok(writer)) = self.file.as_ref().filter(|_| !left.is_empty()) {
            writer.check_place()?;
        }
        let path = self.path.as_deref().filter(|_| !left.is_empty());
        let reader = path.map(RunLogReader::open).transpose()?;
        Ok(reader.into_iter().flatten().skip(left.start).take(left.len()))
    }

    /// Adds the footer, and to it what the client did to the run.
    pub(crate) fn finish(self, footer: Footer) -> Ended {
        let log = RunLog::new(self.header, self.records, Some(footer));
        let audit = Audit::of(&log);
        let log = log.with_audit(serde_json::to_value(&audit).expect("an audit is plain JSON"));
        let closed = match self.file.zip(log.footer()) {
            None => Ok(()),
            Some((file, footer)) => file.and_then(|writer| writer.close(footer)),
        };
        Ended { log, audit, path: self.path, error: closed.err() }
    }
}

#[expect(clippy::disallowed_methods, reason = "what is waited for is whoever comes within it")]
fn keep(inbox: &Receiver<RequestRecord>, backlog: &Backlog, mut kept: Kept) -> Kept {
    let _lift = Lift(backlog);
    while let Ok(first) = inbox.recv() {
        std::thread::sleep(GATHERING);
        for record in iter::once(first).chain(inbox.try_iter()) {
            kept.add(record, backlog);
        }
        if let Some(watcher) = &mut kept.watcher {
            watcher.look();
        }
    }
    kept
}

/// Should the clerk die, no request waits for it: [`Journal::close`] says so then.
struct Lift<'a>(&'a Backlog);

impl Drop for Lift<'_> {
    fn drop(&mut self) {
        self.0.lift();
    }
}

impl Kept {
    fn add(&mut self, mut record: RequestRecord, backlog: &Backlog) {
        let is_on_disk = self.write(&record);
        backlog.remove(weight(&record));
        if let Some(watcher) = &mut self.watcher {
            watcher.add(&record);
        }
        self.room = self.room.saturating_sub(record.text.len());
        if self.room == 0 && is_on_disk {
            self.leave_text(&mut record);
        }
        record.compact();
        self.records.push(record);
    }

    /// Appends to the file, if there is one. A disk that failed once is left alone: what is on it
    /// stays readable.
    fn write(&mut self, record: &RequestRecord) -> bool {
        let Some(Ok(writer)) = &mut self.file else { return false };
        let written = writer.append(record);
        if let Err(error) = written {
            self.file = Some(Err(error));
            return false;
        }
        true
    }

    /// Once one text is left on the disk so are all after it, until the disk fails.
    fn leave_text(&mut self, record: &mut RequestRecord) {
        record.text = String::new();
        let place = self.records.len();
        if self.texts_left.is_empty() {
            self.texts_left.start = place;
        }
        self.texts_left.end = place + 1;
    }
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
        self.live.count_end(&record);
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

/// How long a record waits for others. To wake the clerk for each of thousands a second would take
/// the core from whoever sends and reads.
const GATHERING: Duration = Duration::from_millis(1);

/// About fifteen million tokens.
const MOST_TEXT: usize = 64 << 20;

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

    fn output(path: &Path) -> OutputSpec {
        let mut output = OutputSpec::default();
        output.run_log = Some(path.to_owned());
        output
    }

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
        let room = Room { unwritten: most, texts: 0 };
        let journal = Journal::open(&output(&path), header, Arc::default(), room, None).unwrap();
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
        assert_eq!((closing.records.len(), &closing.texts_left), (40, &(0..0)));
        drop(closing);
        assert_eq!(reader.join().unwrap(), 40);
    }

    #[test]
    fn texts_beyond_the_room_for_them_stay_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        // Room for the texts of two.
        let room = Room::with_texts(40 << 10);
        let journal = Journal::open(&output(&path), header, Arc::default(), room, None).unwrap();
        let observer = journal.observer();
        (0..5).for_each(|index| observer.finished(record(index)));
        drop(observer);
        let closing = journal.close();
        let lengths: Vec<_> = closing.records.iter().map(|record| record.text.len()).collect();
        assert_eq!(lengths, [16 << 10, 16 << 10, 0, 0, 0]);
        let left: Vec<_> = closing.texts_left().unwrap().map(Result::unwrap).collect();
        assert_eq!(left, [2, 3, 4].map(record));
    }

    #[test]
    fn without_a_disk_every_text_is_kept() {
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let room = Room::with_texts(0);
        let journal =
            Journal::open(&OutputSpec::default(), header, Arc::default(), room, None).unwrap();
        let observer = journal.observer();
        observer.finished(record(0));
        drop(observer);
        let closing = journal.close();
        assert_eq!((closing.records.as_slice(), &closing.texts_left), (&[record(0)][..], &(0..0)));
        assert_eq!(closing.texts_left().unwrap().count(), 0);
    }
}
