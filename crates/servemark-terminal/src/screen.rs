//! Text output: tables to standard output, everything else to standard error.
//!
//! No output can control the terminal, whatever a server, a data set or a run log contains. A line
//! feed inside a message cannot start a line that looks like one of Servemark's.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use servemark::ExitCode;
use servemark::core::{printable, printable_lines};
use servemark_cli::Dialect;

/// Writes a message to standard error. Continuation lines start with a bar, so that no value in a
/// message can look like another message. A closed standard error is ignored.
pub(crate) fn eprint_line(message: &str) {
    eprint_lines(&message.trim_end().replace('\n', CONTINUED));
}

/// Breaks a line between words so that no part is longer than `columns`; parts after the first are
/// indented. Commands, which are copied, and GitHub's annotations, which are read line by line, are
/// left whole.
fn folded(line: &str, columns: usize) -> String {
    let is_whole = line.starts_with("  servemark") || line.starts_with("::");
    if is_whole || line.chars().count() <= columns {
        return line.to_owned();
    }
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    let (mut folded, mut used) = (indent.to_owned(), indent.len());
    for (place, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if place > 0 && used + 1 + length > columns {
            let _ = write!(folded, "\n{indent}    ");
            used = indent.len() + 4;
        } else if place > 0 {
            folded.push(' ');
            used += 1;
        }
        folded.push_str(word);
        used += length;
    }
    folded
}

/// Writes several lines to standard error, in which every value from outside must be printable. On a
/// terminal a long line is folded into several, of which all but the first are indented.
pub(crate) fn eprint_lines(text: &str) {
    let text = worded(text.trim_end_matches('\n'));
    let text = printable_lines(&text);
    let columns = given_columns().or_else(|| width(&console::Term::stderr()));
    let text = folded_lines(&text, columns.unwrap_or(usize::MAX));
    let _ = writeln!(io::stderr(), "{text}");
}

/// Folds each line of a text that is longer than `columns`.
pub(crate) fn folded_lines(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| folded(line, columns)).collect();
    lines.join("\n")
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

/// Sets the number of columns of a line, which `COLUMNS` gives for every kind of output.
pub(crate) fn set_columns(columns: Option<usize>) {
    GIVEN_COLUMNS.store(columns.unwrap_or_default(), Ordering::Relaxed);
}

/// Sets the dialect whose flags messages and tables name.
pub(crate) fn set_dialect(dialect: Dialect) {
    *lock(&DIALECT) = dialect;
}

/// Returns a text with the flags of the command line's dialect in place of the plan's keys.
fn worded(text: &str) -> String {
    lock(&DIALECT).words(text)
}

/// Returns the number of columns of a line of standard output: what `COLUMNS` says, or else the width
/// of its terminal; 80 if there is none.
pub(crate) fn columns() -> usize {
    given_columns().or_else(|| width(&console::Term::stdout())).unwrap_or(80)
}

fn given_columns() -> Option<usize> {
    Some(GIVEN_COLUMNS.load(Ordering::Relaxed)).filter(|columns| *columns > 0)
}

fn width(terminal: &console::Term) -> Option<usize> {
    let size = terminal.is_term().then(|| terminal.size_checked()).flatten();
    size.map(|(_, columns)| usize::from(columns))
}

/// Writes one line to standard output, with control characters made printable.
pub(crate) fn print_line(line: &str) {
    print(&format!("{}\n", printable(line)));
}

/// Leaves standard output to [`print_document`]: from now on, all other text for it is dropped.
pub(crate) fn print_only_document() {
    ONLY_DOCUMENT.store(true, Ordering::Relaxed);
}

/// Writes a document of JSON to standard output, also after [`print_only_document`].
pub(crate) fn print_document(document: &str) {
    write_out(document.as_bytes());
}

/// Writes text to standard output. Values from outside that are not in a table of the `report`
/// crate must pass through `printable` first. Errors are reported by [`final_code`].
pub(crate) fn print(text: &str) {
    print_bytes(worded(text).as_bytes());
}

/// Writes bytes to standard output, unless it is left to a document.
pub(crate) fn print_bytes(bytes: &[u8]) {
    if !ONLY_DOCUMENT.load(Ordering::Relaxed) {
        write_out(bytes);
    }
}

/// Writes bytes to standard output. After the first error nothing more is printed, but the run
/// continues and its files are written.
fn write_out(bytes: &[u8]) {
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

/// Whether standard output is left to a document, which is decided once for the process.
static ONLY_DOCUMENT: AtomicBool = AtomicBool::new(false);

/// Dialect of the command line, which is set once for the process.
static DIALECT: Mutex<Dialect> = Mutex::new(Dialect::Sglang);

/// Number of columns that `COLUMNS` gives; 0 if it does not. It is set once for the process.
static GIVEN_COLUMNS: AtomicUsize = AtomicUsize::new(0);

/// First error of standard output, which is shared by the process.
static STDOUT_FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Locks a mutex, also if a thread panicked while it held the lock: the data is only displayed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Separates the lines of a message.
const CONTINUED: &str = "\n  | ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_broken_between_words() {
        assert_eq!(folded("one two three", 80), "one two three");
        assert_eq!(folded("one two three four", 9), "one two\n    three\n    four");
        assert_eq!(folded("  - one two", 7), "  - one\n      two");
        assert_eq!(folded("a word_that_is_long b", 8), "a\n    word_that_is_long\n    b");
        for whole in ["  servemark score run.jsonl", "::error title=a gate::it failed"] {
            assert_eq!(folded(whole, 8), whole);
        }
    }
}
