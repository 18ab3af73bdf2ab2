//! What an engine prints: all of it in a file, if one is wanted, and the last of it in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use crate::LastWords;

/// What an engine prints.
#[derive(Debug)]
pub(super) struct Log {
    last: Arc<Mutex<VecDeque<String>>>,
    /// Closed when there is nothing more to come.
    over: Mutex<Receiver<()>>,
}

impl Log {
    /// Keeps what comes from `source`.
    pub(super) fn keep(
        source: impl Read + Send + 'static,
        path: Option<&Path>,
    ) -> io::Result<Self> {
        let mut file = path.map(File::create).transpose()?;
        let (last, (alive, over)) = (Arc::new(Mutex::new(VecDeque::new())), channel());
        let kept = Arc::clone(&last);
        let work = move || {
            let _alive: std::sync::mpsc::Sender<()> = alive;
            for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
                if let Some(file) = &mut file {
                    // A disk that is full costs the log and nothing else.
                    let _ = file.write_all(&line).and_then(|()| file.write_all(b"\n"));
                }
                remember(&kept, &line);
            }
        };
        Builder::new().name("engine-log".to_owned()).spawn(work)?;
        Ok(Self { last, over: Mutex::new(over) })
    }

    /// The last lines, when nothing more comes or it takes too long.
    pub(super) fn last_words(&self) -> LastWords {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = over.recv_timeout(DRAINING);
        self.so_far()
    }

    /// The last lines so far.
    pub(super) fn so_far(&self) -> LastWords {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        LastWords(last.iter().cloned().collect())
    }
}

/// A progress bar writes its line over and over; the last of it counts.
fn remember(last: &Mutex<VecDeque<String>>, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    let shown = line.trim_end().rsplit('\r').next().unwrap_or_default();
    if shown.is_empty() {
        return;
    }
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if last.len() == MOST_LINES {
        last.pop_front();
    }
    last.push_back(shown.chars().take(MOST_LETTERS).collect());
}

const MOST_LINES: usize = 20;
const MOST_LETTERS: usize = 300;

/// What a process wrote before it ended is in the pipe already.
const DRAINING: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_the_file_has_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.log");
        let printed = (0..30).map(|line| format!("0%\r{line}%\n")).collect::<Vec<_>>().join("\n");
        let log = Log::keep(io::Cursor::new(printed.clone()), Some(&path)).unwrap();
        let expected: Vec<_> = (10..30).map(|line| format!("{line}%")).collect();
        assert_eq!(log.last_words().lines(), expected);
        assert_eq!(std::fs::read_to_string(path).unwrap(), printed);
    }
}
