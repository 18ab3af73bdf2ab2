//! The results of a rank, cut into blocks that fit into messages.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use servemark::core::{RunLog, Texts};

/// Cuts the lines of a log into blocks, one after the other. The last block can be asked for again,
/// because an answer may be lost.
pub(crate) struct Blocks {
    log: Arc<RunLog>,
    texts: Texts,
    /// Number of the next line.
    line: usize,
    /// Beginning of the next block.
    rest: Vec<u8>,
    /// Number of the last block, and the block.
    last: Option<(u64, Bytes)>,
}

impl Blocks {
    pub(crate) fn of(log: Arc<RunLog>, texts: Texts) -> Self {
        Self { log, texts, line: 0, rest: Vec::new(), last: None }
    }

    /// Returns a block by its number: the one that follows the last one, or the last one again. An
    /// empty block says that there are no more. Returns `None` for any other number.
    pub(crate) fn get(&mut self, number: u64) -> Option<Bytes> {
        match &self.last {
            Some((last, block)) if *last == number => return Some(block.clone()),
            Some((last, _)) if *last + 1 != number => return None,
            None if number > 0 => return None,
            _ => {}
        }
        while self.rest.len() < BLOCK_BYTES {
            let Some(line) = self.log.line(self.line, self.texts) else { break };
            self.line += 1;
            self.rest.extend_from_slice(&line);
        }
        let after = self.rest.split_off(self.rest.len().min(BLOCK_BYTES));
        let block = Bytes::from(std::mem::replace(&mut self.rest, after));
        self.last = Some((number, block.clone()));
        Some(block)
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("line", &self.line).finish_non_exhaustive()
    }
}

/// Size of a block: half of the largest message that a NATS server takes by default.
const BLOCK_BYTES: usize = 512 << 10;

#[cfg(test)]
mod tests {
    use servemark::core::{
        Finish, Footer, Header, Phase, Recorder, RunFacts, RunLogReader, Sample, Stamp,
    };

    use super::*;

    fn log(texts: &[usize]) -> RunLog {
        let record = |(index, length): (usize, &usize)| {
            let recorder =
                Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), Stamp::ZERO);
            let mut record = recorder.finish(Ok(Finish::default()), Stamp::ZERO);
            record.text = "x".repeat(*length);
            record
        };
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let records = texts.iter().enumerate().map(record).collect();
        RunLog::new(header, records, Some(Footer::default()))
    }

    /// Returns the number of blocks, that of their bytes, and the log that they hold.
    fn read(mut blocks: Blocks) -> (u64, usize, RunLog) {
        let mut bytes = Vec::new();
        let mut number = 0;
        loop {
            let block = blocks.get(number).unwrap();
            assert!(block.len() <= BLOCK_BYTES);
            assert_eq!(blocks.get(number), Some(block.clone()), "the last one comes again");
            assert_eq!(blocks.get(number + 2), None);
            if block.is_empty() {
                break;
            }
            bytes.extend_from_slice(&block);
            number += 1;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let log = RunLogReader::open(file.path()).unwrap().into_log().unwrap();
        (number, bytes.len(), log)
    }

    #[test]
    fn blocks_are_the_log_whatever_the_length_of_its_lines() {
        for texts in [&[][..], &[1, 2, 3], &[BLOCK_BYTES, 5, 3 * BLOCK_BYTES], &[1000; 2000]] {
            let whole = log(texts);
            let (count, bytes, read_back) = read(Blocks::of(Arc::new(whole.clone()), Texts::Kept));
            assert_eq!(read_back, whole);
            assert_eq!(
                count,
                bytes.div_ceil(BLOCK_BYTES) as u64,
                "every block but the last is full"
            );
        }
        let long = Arc::new(log(&[BLOCK_BYTES; 3]));
        let (count, _, short) = read(Blocks::of(long, Texts::LeftOut));
        assert_eq!((count, short), (1, log(&[0; 3])));
    }
}
