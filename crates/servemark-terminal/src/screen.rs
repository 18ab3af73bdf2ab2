//! Text output: tables to standard output, everything else to standard error.
//!
//! No output can control the terminal, whatever a server, a data set or a run log contains. A line
//! feed inside a message cannot start a line that looks like one of Servemark's.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use servemark::ExitCode;
use servemark::core::{printable, printable_lines};

/// Writes a message to standard error. Continuation lines start with a bar, so that no value in a
/// message can look like another message. A closed standard error is ignored.
pub(crate) fn eprint_line(message: &str) {
    eprint_lines(&message.trim_end().replace('\n', CONTINUED));
}

/// Writes several lines to standard error, in which every value from outside must be printable.
pub(crate) fn eprint_lines(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text.trim_end_matches('\n')));
}

/// A writer to standard error for log lines of libraries.
#[derive(Debug)]
pub(crate) struct LogLines;

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        eprint_line(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Collects what `write` produces as text, for standard output or a file.
pub(crate) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<String> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(String::from_utf8(out)?)
}

/// Returns the width of the terminal of standard output; 80 if there is none.
pub(crate) fn columns() -> usize {
    let size = console::Term::stdout().size_checked();
    size.map_or(80, |(_, columns)| usize::from(columns))
}

/// Writes one line to standard output, with control characters made printable.
pub(crate) fn print_line(line: &str) {
    print(&format!("{}\n", printable(line)));
}

/// Writes text to standard output. Values from outside that are not in a table of the `report`
/// crate must pass through `printable` first. Errors are reported by [`final_code`].
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Writes bytes to standard output. After the first error nothing more is printed, but the run
/// continues and its files are written.
pub(crate) fn print_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut failure = lock(&STDOUT_FAILURE);
    if failure.is_none() {
        let mut out = io::stdout().lock();
        let written = out.write_all(printable_lines(&text).as_bytes());
        *failure = written.and_then(|()| out.flush()).err();
    }
}

/// Returns the exit code of the program, which is at least 1 if standard output failed; the failure
/// is printed.
pub(crate) fn final_code(code: ExitCode) -> ExitCode {
    match lock(&STDOUT_FAILURE).take() {
        None => code,
        Some(error) => {
            eprint_line(&format!("error: cannot write to standard output: {error}"));
            code.max(ExitCode::Internal)
        }
    }
}

/// First error of standard output, which is shared by the process.
static STDOUT_FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Locks a mutex, also if a thread panicked while it held the lock: the data is only displayed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Separates the lines of a message.
const CONTINUED: &str = "\n  | ";
