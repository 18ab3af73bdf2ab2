//! Records a run in memory and, as it happens, on disk.

use std::iter;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use servemark_backends::{DeferredBackend, decode_raw};
use servemark_core::{
    EarlyStop, ErrorKind, Footer, Header, Phase, RankStart, RequestRecord, RunLog, RunLogError,
    RunLogReader, RunLogWriter, Telemetry, TelemetryLine,
};
use servemark_metrics::Audit;
use servemark_plan::{BenchPlan, OutputSpec};
use servemark_runner::{Backlog, Observer};
use servemark_telemetry::LineSink;

use crate::run::until::Watcher;
use crate::{ExecuteError, Live, RunContext, RunEvent, RunObserver};

/// Stores the records of a run. They are sent over a channel and written by a separate thread, so
/// that reading an answer never waits for the disk. If the disk falls too far behind, new
/// requests wait instead.
#[derive(Debug)]
pub(crate) struct RunLogSink {
    header: Header,
    writer_thread: JoinHandle<WriterState>,
    sender: RecordSender,
    path: Option<PathBuf>,
}

/// Sends the start of a run that several processes share to its log.
pub(crate) type StartSender = Box<dyn Fn(RankStart) + Send + Sync>;

/// Memory limits of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimits {
    /// Maximum size of unwritten records in bytes.
    unwritten: NonZeroU64,
    /// Maximum size of kept answer texts in bytes. Further texts stay on disk if there is a run
    /// log.
    texts: usize,
}

impl MemoryLimits {
    /// Returns the limits for a plan. If the plan prints or saves texts, all are kept.
    pub(crate) fn of(plan: &BenchPlan) -> Self {
        Self::with_texts(if plan.shows_texts() { usize::MAX } else { MOST_TEXT })
    }

    /// Returns the default limits, with `texts` bytes for texts.
    pub(crate) fn with_texts(texts: usize) -> Self {
        Self { unwritten: MOST_BEHIND, texts }
    }
}

/// What the writer thread does with each record before it is stored.
#[derive(Default)]
pub(crate) struct RecordSteps {
    /// Decodes the answers, if that is not done while they arrive.
    pub(crate) decoder: Option<AnswerDecoder>,
    /// Analyses the requests as they end.
    pub(crate) watcher: Option<Watcher>,
}

/// Decodes the answers of a dialect that works outside the measured path.
pub(crate) struct AnswerDecoder {
    backend: Arc<dyn DeferredBackend>,
    context: RunContext,
    has_failed: bool,
}

/// A message to the writer thread.
#[expect(clippy::large_enum_variant, reason = "almost every entry is a record")]
enum Entry {
    Start(RankStart),
    Record(RequestRecord),
    Telemetry(TelemetryLine),
}

/// State of the writer thread.
struct WriterState {
    start: Option<RankStart>,
    telemetry: Telemetry,
    records: Vec<RequestRecord>,
    texts_left: Range<usize>,
    file: Option<Result<RunLogWriter, RunLogError>>,
    /// Remaining size in bytes of the texts that may be kept.
    room: usize,
    steps: RecordSteps,
    observer: Arc<dyn RunObserver>,
}

/// A closed run log.
#[derive(Debug)]
pub(crate) struct ClosedRunLog {
    pub(crate) log: RunLog,
    pub(crate) audit: Audit,
    /// Path of the file.
    pub(crate) path: Option<PathBuf>,
    /// Error that left the file incomplete, if any.
    pub(crate) error: Option<RunLogError>,
}

/// A completed run whose file is still open for the footer.
#[derive(Debug)]
pub(crate) struct Closing {
    header: Header,
    /// Records in the order in which their requests ended.
    pub(crate) records: Vec<RequestRecord>,
    start: Option<RankStart>,
    telemetry: Telemetry,
    /// Indices of the records whose texts are only on disk.
    pub(crate) texts_left: Range<usize>,
    file: Option<Result<RunLogWriter, RunLogError>>,
    path: Option<PathBuf>,
    /// Interim analysis that ended the run, if any.
    pub(crate) early_stop: Option<EarlyStop>,
}

impl RunLogSink {
    /// Opens the run log, if there is one, and writes its header.
    pub(crate) fn open(
        output: &OutputSpec,
        header: Header,
        context: &RunContext,
        room: MemoryLimits,
        steps: RecordSteps,
    ) -> Result<Self, ExecuteError> {
        let open = |path| RunLogWriter::open(path, output.run_log_if_taken, &header);
        let file = output.run_log.as_deref().map(open).transpose()?;
        let path = file.as_ref().map(|writer| writer.path().to_owned());
        if let Some(run_log) = &path {
            context.emit(&RunEvent::Recording { run_log });
        }
        // What is written to a pipe cannot be read again, so its texts stay in memory.
        let texts =
            if path.as_deref().is_some_and(Path::is_file) { room.texts } else { usize::MAX };
        let state = WriterState {
            start: None,
            telemetry: Telemetry::default(),
            records: Vec::new(),
            texts_left: 0..0,
            file: file.map(Ok),
            room: texts,
            steps,
            observer: Arc::clone(&context.observer),
        };
        let live = Arc::clone(&context.live);
        let ((tx, rx), backlog) = (channel(), Arc::new(Backlog::new(room.unwritten)));
        let sender = RecordSender { tx, backlog: Arc::clone(&backlog), live };
        let writer_thread = Builder::new()
            .name("run-log".to_owned())
            .spawn(move || write_records(&rx, &backlog, state))
            .map_err(ExecuteError::Machine)?;
        Ok(Self { header, writer_thread, sender, path })
    }

    /// Returns an observer that sends records to the writer thread.
    pub(crate) fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(self.sender.clone())
    }

    /// Returns a function that sends lines of telemetry to the writer thread.
    pub(crate) fn telemetry(&self) -> LineSink {
        let tx = self.sender.tx.clone();
        // Sending fails only if the writer thread panicked, which `close` reports.
        Arc::new(move |line| drop(tx.send(Entry::Telemetry(line))))
    }

    /// Returns a function that sends the start of a run that several processes share.
    pub(crate) fn starts(&self) -> StartSender {
        let tx = self.sender.tx.clone();
        // Sending fails only if the writer thread panicked, which `close` reports.
        Box::new(move |start| drop(tx.send(Entry::Start(start))))
    }

    /// Waits until all records are stored. Every observer must have been dropped.
    pub(crate) fn close(self) -> Closing {
        drop(self.sender);
        let state = self.writer_thread.join().expect("the writer thread does not panic");
        let WriterState { start, telemetry, records, texts_left, file, steps, .. } = state;
        let early_stop = steps.watcher.and_then(|watcher| watcher.early_stop());
        let (header, path) = (self.header, self.path);
        Closing { header, records, start, telemetry, texts_left, file, path, early_stop }
    }
}

impl Closing {
    /// Reads the records whose texts are only on disk.
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

    /// Adds the footer with the audit.
    pub(crate) fn finish(self, footer: Footer) -> ClosedRunLog {
        let log = RunLog::new(self.header, self.records, Some(footer));
        let log = log.with_start(self.start).with_telemetry(self.telemetry);
        let audit = Audit::of(&log);
        let log = log.with_audit(serde_json::to_value(&audit).expect("an audit is plain JSON"));
        let closed = match self.file.zip(log.footer()) {
            None => Ok(()),
            Some((file, footer)) => file.and_then(|writer| writer.close(footer)),
        };
        ClosedRunLog { log, audit, path: self.path, error: closed.err() }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a fixed time in which records are gathered; nothing is measured by it"
)]
fn write_records(rx: &Receiver<Entry>, backlog: &Backlog, mut state: WriterState) -> WriterState {
    let _unblock = UnblockOnDrop(backlog);
    while let Ok(first) = rx.recv() {
        std::thread::sleep(GATHERING);
        for entry in iter::once(first).chain(rx.try_iter()) {
            match entry {
                Entry::Record(record) => state.add(record, backlog),
                Entry::Telemetry(line) => state.add_telemetry(line),
                Entry::Start(start) => state.add_start(start),
            }
        }
        if let Some(watcher) = &mut state.steps.watcher {
            watcher.look();
        }
    }
    state
}

/// Lifts the limit on the backlog when the writer thread ends. If it panics, no request waits for
/// it, and [`RunLogSink::close`] propagates the panic.
struct UnblockOnDrop<'a>(&'a Backlog);

impl Drop for UnblockOnDrop<'_> {
    fn drop(&mut self) {
        self.0.remove_limit();
    }
}

impl WriterState {
    fn add(&mut self, mut record: RequestRecord, backlog: &Backlog) {
        let weight = weight(&record);
        if let Some(decoder) = &mut self.steps.decoder {
            record = decoder.decode(record);
        }
        let is_on_disk = self.write(|writer| writer.append(&record));
        backlog.remove(weight);
        if let Some(watcher) = &mut self.steps.watcher {
            watcher.add(&record);
        }
        self.observer.on_record(&record);
        self.room = self.room.saturating_sub(record.text.len());
        if self.room == 0 && is_on_disk {
            self.leave_text(&mut record);
        }
        record.compact();
        self.records.push(record);
    }

    fn add_start(&mut self, start: RankStart) {
        self.write(|writer| writer.append_start(start));
        self.start = Some(start);
    }

    fn add_telemetry(&mut self, line: TelemetryLine) {
        self.write(|writer| writer.append_telemetry(&line));
        self.telemetry.add(line);
    }

    /// Appends a line to the file, if there is one, and returns whether it was written. After an
    /// error nothing more is written, so that the records on disk stay readable.
    fn write(&mut self, append: impl FnOnce(&mut RunLogWriter) -> Result<(), RunLogError>) -> bool {
        let Some(Ok(writer)) = &mut self.file else { return false };
        let written = append(writer);
        if let Err(error) = written {
            self.file = Some(Err(error));
            return false;
        }
        true
    }

    /// Drops a text that is on disk. After the first one, all later texts are dropped as well,
    /// until the disk fails.
    fn leave_text(&mut self, record: &mut RequestRecord) {
        record.text = String::new();
        let place = self.records.len();
        if self.texts_left.is_empty() {
            self.texts_left.start = place;
        }
        self.texts_left.end = place + 1;
    }
}

impl AnswerDecoder {
    /// Creates the decoder of a dialect. The context is told of the first answer that cannot be
    /// decoded.
    pub(crate) fn new(backend: Arc<dyn DeferredBackend>, context: &RunContext) -> Self {
        Self { backend, context: context.clone(), has_failed: false }
    }

    fn decode(&mut self, kept: RequestRecord) -> RequestRecord {
        let had_succeeded = kept.is_success();
        let mut record = decode_raw(self.backend.as_ref(), kept);
        if let Err(error) = &mut record.outcome
            && had_succeeded
        {
            error.message = self.context.credentials.redact(&error.message);
            self.context.live.count_late_failure(record.phase);
            if error.kind == ErrorKind::Decode {
                self.report(record.index, &error.message);
            }
        }
        record
    }

    /// Reports the first answer that is not one of the dialect. The later ones are in the log alone.
    fn report(&mut self, index: usize, error: &str) {
        if !std::mem::replace(&mut self.has_failed, true) {
            let reason = format!("request {index}: {error} (later failures are in the log)");
            self.context.emit(&RunEvent::Missed { what: "decode an answer", reason });
        }
    }
}

/// Approximate size in bytes of a record's line.
fn weight(record: &RequestRecord) -> u64 {
    (LINE + record.text.len() + record.deltas.len() * PIECE) as u64
}

/// Observer that counts requests and sends their records to the writer thread.
#[derive(Clone, Debug)]
struct RecordSender {
    tx: Sender<Entry>,
    backlog: Arc<Backlog>,
    live: Arc<Live>,
}

impl Observer for RecordSender {
    fn started(&self, phase: Phase) {
        self.live.count_start(phase);
    }

    fn finished(&self, record: RequestRecord) {
        self.live.count_end(&record);
        self.backlog.add(weight(&record));
        // Sending fails only if the writer thread panicked, which `close` reports.
        let _ = self.tx.send(Entry::Record(record));
    }

    fn backlog(&self) -> Option<&Backlog> {
        Some(&self.backlog)
    }
}

/// Maximum size of unwritten records in bytes: a slow disk writes it in one or two seconds, and a
/// measuring machine has memory for it.
const MOST_BEHIND: NonZeroU64 = NonZeroU64::new(128 << 20).expect("it is not zero");

/// Time for which records are gathered before they are written. Waking the writer thread for each
/// of thousands of records per second would take CPU time from the threads that send and read.
const GATHERING: Duration = Duration::from_millis(1);

/// Default maximum size of kept answer texts in bytes: the text of about fifteen million tokens.
const MOST_TEXT: usize = 64 << 20;

/// Approximate size in bytes of a record's line without its chunks.
const LINE: usize = 512;
/// Approximate size in bytes of a chunk in a record's line.
const PIECE: usize = 32;

#[cfg(test)]
mod tests {
    use servemark_core::{Finish, Recorder, RunFacts, Sample, Stamp};

    use super::*;

    fn steps() -> RecordSteps {
        RecordSteps::default()
    }

    fn output(path: &Path) -> OutputSpec {
        OutputSpec { run_log: Some(path.to_owned()), ..OutputSpec::default() }
    }

    fn record(index: usize) -> RequestRecord {
        let mut record = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), Stamp::ZERO)
            .finish(Ok(Finish::default()), Stamp::ZERO);
        record.text = "x".repeat(16 << 10);
        record
    }

    /// A pipe that is not read for a while behaves like a disk that is too slow.
    #[cfg(unix)]
    #[test]
    fn a_slow_disk_holds_up_what_departs_and_nothing_else() {
        use std::fs::File;
        use std::io::{BufRead, BufReader};
        use std::process::Command;
        use std::sync::mpsc::sync_channel;

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
        let room = MemoryLimits { unwritten: most, texts: 0 };
        let sink = RunLogSink::open(&output(&path), header, &RunContext::default(), room, steps())
            .unwrap();
        let observer = sink.observer();
        let backlog = observer.backlog().unwrap();
        (0..10).for_each(|index| observer.finished(record(index)));
        assert!(!backlog.is_full());
        // The pipe and the buffers at its two ends hold no more than half of these records.
        (10..40).for_each(|index| observer.finished(record(index)));
        assert!(backlog.is_full());
        let_it_read.send(()).unwrap();
        drop(observer);
        let closing = sink.close();
        assert_eq!((closing.records.len(), &closing.texts_left), (40, &(0..0)));
        drop(closing);
        assert_eq!(reader.join().unwrap(), 40);
    }

    #[test]
    fn texts_beyond_the_room_for_them_stay_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        // Space for the texts of two records.
        let room = MemoryLimits::with_texts(40 << 10);
        let sink = RunLogSink::open(&output(&path), header, &RunContext::default(), room, steps())
            .unwrap();
        let observer = sink.observer();
        (0..5).for_each(|index| observer.finished(record(index)));
        drop(observer);
        let closing = sink.close();
        let lengths: Vec<_> = closing.records.iter().map(|record| record.text.len()).collect();
        assert_eq!(lengths, [16 << 10, 16 << 10, 0, 0, 0]);
        let left: Vec<_> = closing.texts_left().unwrap().map(Result::unwrap).collect();
        assert_eq!(left, [2, 3, 4].map(record));
    }

    #[test]
    fn without_a_disk_every_text_is_kept() {
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let room = MemoryLimits::with_texts(0);
        let sink =
            RunLogSink::open(&OutputSpec::default(), header, &RunContext::default(), room, steps())
                .unwrap();
        let observer = sink.observer();
        observer.finished(record(0));
        drop(observer);
        let closing = sink.close();
        assert_eq!((closing.records.as_slice(), &closing.texts_left), (&[record(0)][..], &(0..0)));
        assert_eq!(closing.texts_left().unwrap().count(), 0);
    }
}
