//! An engine's printed output: all of it in a file, if one is wanted, and the last lines in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use servemark_core::{first_free, is_stream};

use crate::{LastLines, WorkerSpec};

/// An engine's printed output.
#[derive(Debug)]
pub(super) struct Log {
    last: Arc<Mutex<VecDeque<String>>>,
    /// A channel that is closed when the output has ended.
    over: Mutex<Receiver<()>>,
}

/// Creates the file for all of an engine's output, if one is wanted.
pub(super) fn created(spec: &WorkerSpec) -> io::Result<Option<File>> {
    let Some(path) = &spec.log else { return Ok(None) };
    let file = if spec.numbers_log && !is_stream(path) {
        first_free(path)?.1
    } else {
        File::create(path)?
    };
    Ok(Some(file))
}

impl Log {
    /// Starts a thread that keeps the lines from `source`, all of them in the file if there is one.
    pub(super) fn keep(
        source: impl Read + Send + 'static,
        mut file: Option<File>,
    ) -> io::Result<Self> {
        let (last, (alive, over)) = (Arc::new(Mutex::new(VecDeque::new())), channel());
        let kept = Arc::clone(&last);
        let work = move || {
            let _alive: std::sync::mpsc::Sender<()> = alive;
            for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
                if let Some(file) = &mut file {
                    // A full disk must not disturb the run, only the log is lost.
                    let _ = file.write_all(&line).and_then(|()| file.write_all(b"\n"));
                }
                remember(&kept, &line);
            }
        };
        Builder::new().name("engine-log".to_owned()).spawn(work)?;
        Ok(Self { last, over: Mutex::new(over) })
    }

    /// Returns the last lines once the output has ended, or after waiting for [`DRAINING`].
    pub(super) fn last_words(&self) -> LastLines {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = over.recv_timeout(DRAINING);
        self.so_far()
    }

    /// Returns the last lines so far.
    pub(super) fn so_far(&self) -> LastLines {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        LastLines(last.iter().cloned().collect())
    }
}

/// Keeps a line. A progress bar rewrites its line after carriage returns, so only the part after
/// the last one is kept.
fn remember(last: &Mutex<VecDeque<String>>, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    let rendered = line.trim_end().rsplit('\r').next().unwrap_or_default();
    if rendered.is_empty() {
        return;
    }
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if last.len() == MOST_LINES {
        last.pop_front();
    }
    last.push_back(rendered.chars().take(MOST_LETTERS).collect());
}

const MOST_LINES: usize = 20;
const MOST_LETTERS: usize = 300;

/// How long to wait for the end of the output; what a process wrote before it ended is already in
/// the pipe.
const DRAINING: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_the_file_has_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.log");
        let printed = (0..30).map(|line| format!("0%\r{line}%\n")).collect::<Vec<_>>().join("\n");
        let file = Some(File::create(&path).unwrap());
        let log = Log::keep(io::Cursor::new(printed.clone()), file).unwrap();
        let expected: Vec<_> = (10..30).map(|line| format!("{line}%")).collect();
        assert_eq!(log.last_words().lines(), expected);
        assert_eq!(std::fs::read_to_string(path).unwrap(), printed);
    }

    #[test]
    fn engines_of_the_same_second_keep_a_log_each() {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = WorkerSpec::new(crate::WorkerEngine::Vllm, "python3");
        spec.log = Some(folder.path().join("run.engine.log"));
        spec.numbers_log = true;
        let keep = |text: &'static str| {
            let file = created(&spec).unwrap();
            Log::keep(text.as_bytes(), file).unwrap().last_words();
        };
        keep("first\n");
        keep("second\n");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(
            (read("run.engine.log"), read("run_2.engine.log")),
            ("first\n".to_owned(), "second\n".to_owned())
        );
    }
}
