//! The result files of a run, and the messages about files that could not be written.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, anyhow};
use servemark::plan::OutputSpec;
use servemark::report::{EvalscopeRun, ResultDetails};
use servemark::{Scores, SentRequests, VllmSaved, replace_file};

use crate::screen;

/// Writes the result files of a run, whose log may be a file. If one cannot be written, the others
/// still are.
pub(crate) fn write(
    scores: &Scores<'_>,
    output: &OutputSpec,
    sent: Option<&SentRequests>,
    run_log: Option<&Path>,
) -> Unwritten {
    let mut unwritten = Unwritten::default();
    if let Some(path) = &output.page {
        let written = write_page(scores, run_log, path);
        let written = written.with_context(|| format!("cannot write the page {}", path.display()));
        let flag = format!("--html {}", quoted(path));
        unwritten
            .add(flag, written.map(|()| screen::eprint_line(&format!("Page: {}", path.display()))));
    }
    if let Some(path) = &output.result_file {
        let written = scores.append_result(ResultDetails::of(output.details), path);
        let details = if output.details { " --output-details" } else { "" };
        let flag = format!("--result-file {}{details}", quoted(path));
        unwritten.add(flag, written.with_context(|| cannot_append("the result", path)));
    }
    if let Some(files) = &output.vllm {
        let saved = scores.save_vllm(files).context("cannot write the result");
        unwritten.add("--files", saved.map(|saved| say_saved(&saved)));
    }
    if let Some(files) = &output.aisbench {
        let saved = scores.save_aisbench(files, sent).context("cannot write AISBench's files");
        unwritten.add(
            "--files",
            saved.map(|saved| {
                let folder = saved.folder.display();
                screen::print(&format!("Performance Result files located in {folder}.\n"));
            }),
        );
    }
    if let Some(path) = &output.steady_state_file {
        let written = scores.append_steady_state(path);
        let written = written.with_context(|| cannot_append("the steady state", path));
        let flag = format!("--steady-state-output-file {}", quoted(path));
        unwritten.add(flag, written.map(say_steady_state));
    }
    unwritten
}

/// Writes the page of a run. The file is complete or not there.
pub(crate) fn write_page(
    scores: &Scores<'_>,
    run_log: Option<&Path>,
    path: &Path,
) -> anyhow::Result<()> {
    let source = run_log.map(|path| path.display().to_string());
    let mut page = Vec::new();
    scores.write_page(source.as_deref(), &mut page)?;
    Ok(replace_file(path, &page)?)
}

/// Writes evalscope's files into a run's folder.
pub(crate) fn write_evalscope(
    scores: &Scores<'_>,
    run: &EvalscopeRun,
    sent: Option<&SentRequests>,
    folder: &Path,
) -> anyhow::Result<()> {
    let written = scores.save_evalscope(run, sent, folder);
    written.with_context(|| format!("cannot write the results to {}", folder.display()))
}

/// Returns whether the result files contain the text of answers.
pub(crate) fn has_texts(output: &OutputSpec) -> bool {
    output.details || output.vllm.as_ref().is_some_and(|files| files.details)
}

/// Result files that could not be written.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    errors: Vec<anyhow::Error>,
    /// Flags of `servemark score` that write the missing files from the run log.
    flags: Vec<String>,
}

impl Unwritten {
    /// Records an error of writing a file, with the flag that writes the file again.
    pub(crate) fn add(&mut self, flag: impl Into<String>, written: anyhow::Result<()>) {
        let Err(error) = written else { return };
        self.errors.push(error);
        let flag = flag.into();
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
    }

    /// Prints a line for each file.
    pub(crate) fn print_files(&self) {
        self.errors.iter().for_each(|error| screen::eprint_line(&format!("error: {error:#}")));
    }

    /// Returns an error if a file could not be written, with the command that writes it from the
    /// run log.
    pub(crate) fn into_result(self, run_log: Option<&Path>) -> anyhow::Result<()> {
        let mut errors = self.errors.iter().map(|error| format!("{error:#}"));
        let Some(first) = errors.next() else { return Ok(()) };
        let mut message = errors.fold(first, |message, error| message + "\nerror: " + &error);
        let _ = match run_log {
            Some(path) => write!(
                message,
                "; the run is whole in {}, and this writes what is missing:\n  servemark score {} {}",
                path.display(),
                quoted(path),
                self.flags.join(" ")
            ),
            None => write!(message, "; the run has no log to make it of"),
        };
        Err(anyhow!(message))
    }
}

/// Prints the paths of the plots. vLLM's client does so, but does not print the paths of its other
/// files.
fn say_saved(saved: &VllmSaved) {
    let plots =
        [("Timeline plot", &saved.timeline), ("Dataset statistics plot", &saved.dataset_stats)];
    for (what, path) in plots {
        if let Some(path) = path {
            screen::print(&format!("{what} saved to: {}\n", path.display()));
        }
    }
    for path in [&saved.result, &saved.pytorch].into_iter().flatten() {
        screen::eprint_line(&format!("Result: {}", path.display()));
    }
}

fn say_steady_state(is_found: bool) {
    if !is_found {
        screen::eprint_line("There is no steady state to write of: no request succeeded.");
    }
}

fn cannot_append(what: &str, path: &Path) -> String {
    format!("cannot append {what} to {}", path.display())
}

/// Quotes a path as one word of a shell command.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+=:,@%".contains(sign);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted(Path::new("a/b-1.jsonl")), "a/b-1.jsonl");
        assert_eq!(quoted(Path::new("a b")), "'a b'");
        assert_eq!(quoted(Path::new("it's")), r"'it'\''s'");
    }

    #[test]
    fn what_is_missing_is_told_once_with_the_command_that_makes_it() {
        let mut unwritten = Unwritten::default();
        unwritten.add("--files", Err(anyhow!("no room for a")));
        unwritten.add("--files", Err(anyhow!("no room for b")));
        unwritten.add("--result-file c", Ok(()));
        let message = unwritten.into_result(Some(Path::new("run.jsonl"))).unwrap_err().to_string();
        assert_eq!(
            message,
            "no room for a\nerror: no room for b; the run is whole in run.jsonl, and this writes \
             what is missing:\n  servemark score run.jsonl --files"
        );
        assert!(Unwritten::default().into_result(None).is_ok());
    }
}
