//! Reads run logs whose writer, disk or bytes failed.

use std::io::{self, Write};

use super::*;
use crate::run_log::writer::LineWriter;

/// Creates a record whose answer has characters of two, three and four bytes.
fn record(index: usize) -> RequestRecord {
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("hi", 1, 2), Stamp::ZERO);
    for piece in ["é", "深度求索", "\u{1f600}"] {
        recorder.at(Stamp::ZERO).delta(Delta::content(piece));
    }
    recorder.finish(Ok(Finish::default()), Stamp::ZERO)
}

const RECORDS: usize = 3;

/// Writes a header, the records and a footer. Returns how many lines were reported as written, and
/// the errors.
fn write_all(out: impl Write) -> (usize, Vec<io::Error>) {
    let mut lines = LineWriter::new(out);
    let mut results = vec![lines.write(&Line::<_, (), (), ()>::Header(&header()))];
    for index in 0..RECORDS {
        results.push(lines.write(&Line::<(), _, (), ()>::Request(&record(index))));
    }
    results.push(lines.write(&Line::<(), (), _, ()>::Footer(&Footer::default())));
    let written = results.iter().take_while(|result| result.is_ok()).count();
    (written, results.into_iter().filter_map(Result::err).collect())
}

fn whole_log() -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(write_all(&mut bytes).0, RECORDS + 2);
    bytes
}

/// Reads a log of these bytes.
fn read(bytes: &[u8], if_damaged: IfDamaged) -> Result<(RunLog, LeftOut), RunLogError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    fs::write(&path, bytes).unwrap();
    RunLogReader::open(&path)?.if_damaged(if_damaged).into_log_and_left_out()
}

/// Checks the log that begins with `whole_lines` whole lines, the first of which is its header, and
/// has a torn line after them if `is_torn`.
#[track_caller]
fn check_prefix(bytes: &[u8], whole_lines: usize, is_torn: bool) {
    let done = read(bytes, IfDamaged::Refuse);
    if whole_lines == 0 {
        assert!(matches!(done, Err(RunLogError::NoHeader { .. })), "{done:?}");
        return;
    }
    let (log, left_out) = done.unwrap();
    let records = (whole_lines - 1).min(RECORDS);
    assert_eq!(log.records(), (0..records).map(record).collect::<Vec<_>>());
    assert_eq!(log.footer().is_some(), whole_lines == RECORDS + 2);
    assert_eq!((left_out.damaged, left_out.is_torn), (0, is_torn));
}

/// Checks a log that was cut. A last line that lacks nothing but its line feed is whole.
#[track_caller]
fn check_beginning(bytes: &[u8]) {
    let lacks_line_feed = bytes.last().is_some_and(|byte| *byte != b'\n');
    let is_whole = lacks_line_feed && whole_log().get(bytes.len()) == Some(&b'\n');
    check_prefix(bytes, line_feeds(bytes) + usize::from(is_whole), lacks_line_feed && !is_whole);
}

fn line_feeds(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

#[test]
fn a_log_that_is_cut_anywhere_gives_every_record_whose_line_is_whole() {
    let whole = whole_log();
    for length in 0..=whole.len() {
        check_beginning(&whole[..length]);
    }
}

#[test]
fn a_log_without_checksums_and_without_a_last_line_feed_is_whole() {
    let text = String::from_utf8(whole_log()).unwrap();
    let lines = text.lines().map(|line| line.split_once(",\"crc32\":").unwrap().0.to_owned() + "}");
    let plain = lines.collect::<Vec<_>>().join("\n");
    let (log, left_out) = read(plain.as_bytes(), IfDamaged::Refuse).unwrap();
    assert!(log.is_complete() && left_out.is_nothing());
}

#[test]
fn a_bit_that_flips_anywhere_is_found() {
    let whole = whole_log();
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        let is_found = match read(&flipped, IfDamaged::Refuse) {
            Err(_) => true,
            Ok((_, left_out)) => left_out.is_torn,
        };
        assert!(is_found, "bit {} of byte {place} flipped unseen", place % 8);
    }
}

#[test]
fn damaged_lines_are_named_or_left_out_and_counted() {
    let mut lines: Vec<Vec<u8>> =
        whole_log().split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines[2] = b"\xff\xfe\n".to_vec();
    let text = lines.concat();
    let error = read(&text, IfDamaged::Refuse).unwrap_err().to_string();
    assert!(error.contains("run.jsonl:3: a damaged line"), "{error}");
    assert!(error.contains("a reader may leave such lines out"), "{error}");
    let (log, left_out) = read(&text, IfDamaged::Skip).unwrap();
    assert_eq!(log.records(), [record(0), record(2)]);
    assert!(log.is_complete());
    let message = left_out.to_string();
    assert!(message.starts_with("1 damaged line left out; the first is line 3: "), "{message}");
}

#[test]
fn a_header_is_never_left_out() {
    let mut damaged = whole_log();
    damaged[30] ^= 1;
    let error = read(&damaged, IfDamaged::Skip).unwrap_err();
    assert!(matches!(error, RunLogError::DamagedHeader { .. }), "{error}");
}

#[test]
fn a_log_without_checksums_is_read() {
    let text = String::from_utf8(whole_log()).unwrap();
    let plain: String =
        text.lines().flat_map(|line| [line.split_once(",\"crc32\":").unwrap().0, "}\n"]).collect();
    let (log, left_out) = read(plain.as_bytes(), IfDamaged::Refuse).unwrap();
    assert!(log.is_complete() && left_out.is_nothing());
    assert_eq!(log.records(), (0..RECORDS).map(record).collect::<Vec<_>>());
}

/// A file that fails after `writes` writes, or is full after `room` bytes.
struct BadDisk<'a> {
    bytes: &'a mut Vec<u8>,
    writes: usize,
    room: usize,
}

impl Write for BadDisk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.bytes.len());
        if self.writes == 0 || taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.writes -= 1;
        self.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes to a disk that fails and checks what is on it: the lines that were reported as written,
/// at most one that is not whole, and nothing after it.
#[track_caller]
fn check_bad_disk(writes: usize, room: usize) {
    let mut bytes = Vec::new();
    let (written, errors) = write_all(BadDisk { bytes: &mut bytes, writes, room });
    assert_eq!(line_feeds(&bytes), written);
    let is_first = |error: &&io::Error| error.kind() == io::ErrorKind::StorageFull;
    assert_eq!(errors.iter().filter(is_first).count(), usize::from(written < RECORDS + 2));
    check_beginning(&bytes);
}

#[test]
fn whichever_write_fails_what_is_on_the_disk_is_what_was_reported() {
    for writes in 0..=RECORDS + 2 {
        check_bad_disk(writes, usize::MAX);
    }
}

#[test]
fn wherever_a_disk_is_full_what_is_on_it_is_what_was_reported() {
    for room in 0..=whole_log().len() {
        check_bad_disk(usize::MAX, room);
    }
}
