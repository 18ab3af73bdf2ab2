//! Reads run logs and result files and compares them.

mod differences;
mod noise;
mod source;

use std::io;
use std::path::{Path, PathBuf};

use servemark_core::{IfDamaged, LeftOut, RunLogError};
use servemark_metrics::{ComparedRun, ComparedSide, Comparison, Doubt, Figure, MetricPolicy};
use servemark_page::{ComparisonPage, RunTrace};
use servemark_report::Side;
use thiserror::Error;

pub use self::noise::{KnownNoise, NoiseStore};
use self::source::{ResultSource, files_in};
use crate::ExitCode;

/// Comparison of the results before and after a change.
#[derive(Clone, Debug)]
pub struct ComparedResults {
    /// Names and models of the results on each side.
    pub sides: [Vec<Side>; 2],
    /// The changes from one side to the other.
    pub comparison: Comparison,
    /// Lines of damaged run logs that were skipped, by file.
    pub left_out: Vec<(PathBuf, LeftOut)>,
    /// What a page shows of the runs of each side; empty unless the comparison was made for a page.
    pub traces: [Vec<RunTrace>; 2],
}

impl ComparedResults {
    /// Writes the page of the comparison. Runs are drawn if the comparison was made by
    /// [`compare_for_page`].
    pub fn write_page(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let page = ComparisonPage {
            comparison: &self.comparison,
            sides: &self.sides,
            traces: &self.traces,
            version: env!("CARGO_PKG_VERSION"),
        };
        page.write(out)
    }
}

/// Why results cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// A file or a folder cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A run log is invalid.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
    /// A file is neither a run log nor a JSON result.
    #[error(
        "{path} is neither a run log nor a result file: its last line is no JSON object",
        path = path.display()
    )]
    NoResult {
        /// Path of the file.
        path: PathBuf,
    },
    /// A folder contains no run logs.
    #[error("{path} has no run log (a .jsonl file of a run)", path = path.display())]
    EmptyFolder {
        /// Path of the folder.
        path: PathBuf,
    },
    /// Runs of one side had different loads, so they are not repeats of each other.
    #[error(
        "{one} and {other} are not runs of one load ({difference}): give the logs of one load on \
         each side",
        one = one.display(),
        other = other.display()
    )]
    Loads {
        /// Run log of the first run of the side.
        one: PathBuf,
        /// Run log of the run that differs.
        other: PathBuf,
        /// The values of both runs that differ.
        difference: String,
    },
    /// A side of the comparison has no result.
    #[error("a comparison needs at least one result on each side")]
    NoSide,
    /// The results have no figure in common.
    #[error("{before} and {after} have no number in common", before = before.display(), after = after.display())]
    Nothing {
        /// First file of the side before the change.
        before: PathBuf,
        /// First file of the side after the change.
        after: PathBuf,
    },
}

impl CompareError {
    /// Returns the program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }
}

/// Compares run logs by the definitions of a policy, or result files of SGLang or vLLM by the
/// numbers in them, with one or more files on either side. A folder stands for the run logs in
/// it. Of a result file with several lines, the last one is used.
pub fn compare(
    sides: [&[PathBuf]; 2],
    figures: &[Figure],
    policy: &MetricPolicy,
    if_damaged: IfDamaged,
) -> Result<ComparedResults, CompareError> {
    compared(sides, SideReader { figures, policy, if_damaged, kept: KeptDetail::Figures })
}

/// Compares as [`compare`] does, and keeps what a page shows of each run.
pub fn compare_for_page(
    sides: [&[PathBuf]; 2],
    figures: &[Figure],
    policy: &MetricPolicy,
    if_damaged: IfDamaged,
) -> Result<ComparedResults, CompareError> {
    compared(sides, SideReader { figures, policy, if_damaged, kept: KeptDetail::Traces })
}

fn compared(
    sides: [&[PathBuf]; 2],
    reader: SideReader<'_>,
) -> Result<ComparedResults, CompareError> {
    let [before, after] = [files_in(sides[0])?, files_in(sides[1])?];
    let (Some(first_before), Some(first_after)) = (before.first(), after.first()) else {
        return Err(CompareError::NoSide);
    };
    let is_single = before.len() == 1 && after.len() == 1;
    let read_before = reader.read(&before, ComparedSide::Before, is_single)?;
    let read_after = reader.read(&after, ComparedSide::After, is_single)?;
    let comparison = Comparison::of_runs(&read_before.runs, &read_after.runs, reader.figures);
    let doubts = read_before.doubts.into_iter().chain(read_after.doubts);
    let comparison = comparison.with_doubts(doubts);
    if comparison.changes.is_empty() {
        let (before, after) = (first_before.clone(), first_after.clone());
        return Err(CompareError::Nothing { before, after });
    }
    let left_out = read_before.left_out.into_iter().chain(read_after.left_out).collect();
    Ok(ComparedResults {
        sides: [read_before.names, read_after.names],
        comparison,
        left_out,
        traces: [read_before.traces, read_after.traces],
    })
}

/// Reads the results of one side.
#[derive(Clone, Copy, Debug)]
struct SideReader<'a> {
    figures: &'a [Figure],
    policy: &'a MetricPolicy,
    if_damaged: IfDamaged,
    kept: KeptDetail,
}

/// What is kept of each run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum KeptDetail {
    /// Its figures.
    Figures,
    /// Its figures and what a page shows of it.
    Traces,
}

/// Results of one side.
#[derive(Debug, Default)]
struct ReadSide {
    names: Vec<Side>,
    runs: Vec<ComparedRun>,
    doubts: Vec<Doubt>,
    left_out: Vec<(PathBuf, LeftOut)>,
    traces: Vec<RunTrace>,
}

impl SideReader<'_> {
    /// Reads the files in order and keeps what the comparison needs of each. The latencies of
    /// single requests are kept only if each side is one run.
    fn read(
        &self,
        files: &[PathBuf],
        side: ComparedSide,
        is_single: bool,
    ) -> Result<ReadSide, CompareError> {
        let mut read = ReadSide::default();
        let mut first: Option<(&Path, source::Load)> = None;
        for (number, path) in (1..).zip(files) {
            let source = ResultSource::read(path, self.if_damaged)?;
            match (&first, source.load()) {
                (Some((one, load)), Some(other)) if *load != other => {
                    let difference = load.difference(&other);
                    let (one, other) = ((*one).to_owned(), path.clone());
                    return Err(CompareError::Loads { one, other, difference });
                }
                (None, Some(load)) => first = Some((path, load)),
                _ => {}
            }
            let doubt = source.doubt(side);
            let is_alone = files.len() == 1;
            read.doubts.extend(doubt.map(
                |doubt| {
                    if is_alone { doubt } else { doubt.about_run(number) }
                },
            ));
            read.names.push(source.side(path));
            if self.kept == KeptDetail::Traces {
                read.traces.extend(source.trace(self.policy));
            }
            let run = source.run(self.figures, self.policy);
            read.runs.push(if is_single { run } else { run.without_requests() });
            read.left_out.extend(source.left_out().map(|left_out| (path.clone(), left_out)));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;
    use servemark_core::{Footer, Header, RunFacts, RunLogWriter, Stamp};

    use super::*;

    fn compare_two(
        [before, after]: [&Path; 2],
        figures: &[Figure],
    ) -> Result<ComparedResults, CompareError> {
        compare_all([&[before], &[after]], figures)
    }

    fn compare_all(
        [before, after]: [&[&Path]; 2],
        figures: &[Figure],
    ) -> Result<ComparedResults, CompareError> {
        let owned = |side: &[&Path]| side.iter().map(|path| (*path).to_owned()).collect();
        let [before, after]: [Vec<PathBuf>; 2] = [owned(before), owned(after)];
        let policy = MetricPolicy::native();
        compare([&before, &after], figures, &policy, IfDamaged::Refuse)
    }

    fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn log(folder: &Path, name: &str, seconds: u64) -> PathBuf {
        log_at(folder, name, seconds, None)
    }

    fn log_at(folder: &Path, name: &str, seconds: u64, rate: Option<f64>) -> PathBuf {
        let path = folder.join(name);
        let mut facts = RunFacts::default();
        facts.request_rate = rate;
        let header = Header::new(0, facts, Value::Null);
        let mut footer = Footer::default();
        footer.ended = Stamp::from_nanos(seconds * 1_000_000_000);
        RunLogWriter::create(&path, &header).unwrap().close(&footer).unwrap();
        path
    }

    #[track_caller]
    fn durations(before: &Path, after: &Path) -> (f64, f64) {
        let figures = ["duration".parse().unwrap()];
        let compared = compare_two([before, after], &figures).unwrap();
        let change = compared.comparison.changes[0];
        (change.before, change.after)
    }

    #[test]
    fn a_run_log_and_a_result_file_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), "run.jsonl", 3);
        let lines = file(folder.path(), "lines.jsonl", "{\"duration\": 1}\n{\"duration\": 2}\n\n");
        let pretty = file(folder.path(), "pretty.json", "{\n  \"duration\": 4\n}\n");
        assert_eq!(durations(&log, &log), (3.0, 3.0));
        let spaced =
            fs::read_to_string(&log).unwrap().replacen("{\"header\":", "{ \"header\" : ", 1);
        let spaced = spaced.lines().map(|line| line.split_once(",\"crc32\":").unwrap().0);
        let spaced: String = spaced.flat_map(|line| [line, " }\n"]).collect();
        let spaced = file(folder.path(), "spaced.jsonl", &spaced);
        assert_eq!(durations(&spaced, &log), (3.0, 3.0));
        assert_eq!(durations(&log, &lines), (3.0, 2.0));
        assert_eq!(durations(&pretty, &lines), (4.0, 2.0));
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let other = file(folder.path(), "a.json", "{\"speed\": 1}");
        let text = file(folder.path(), "b.txt", "hello\n");
        let missing = folder.path().join("missing.json");
        let error = |before: &Path, after: &Path| {
            let figures = Figure::headline();
            compare_two([before, after], &figures).unwrap_err().to_string()
        };
        assert!(error(&other, &other).ends_with("have no number in common"));
        assert!(error(&other, &text).contains("neither a run log nor a result file"));
        assert!(error(&missing, &text).starts_with("cannot read"));
        let no_side = compare_all([&[], &[&other]], &Figure::headline());
        assert!(matches!(no_side, Err(CompareError::NoSide)));
    }

    #[test]
    fn a_folder_stands_for_the_run_logs_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let before = folder.path().join("before");
        fs::create_dir(&before).unwrap();
        for (name, seconds) in [("b.jsonl", 4), ("a.jsonl", 2)] {
            log(&before, name, seconds);
        }
        file(&before, "result.json", "{\"duration\": 99}");
        file(&before, "lines.jsonl", "{\"duration\": 99}");
        let after = log(folder.path(), "after.jsonl", 6);
        let figures = ["duration".parse().unwrap()];
        let compared = compare_all([&[&before], &[&after]], &figures).unwrap();
        assert_eq!(compared.comparison.runs, [2, 1]);
        assert_eq!(compared.comparison.changes[0].before.to_string(), "3");
        assert!(compared.sides[0][0].source.ends_with("a.jsonl"));
        let empty = tempfile::tempdir().unwrap();
        let error = compare_all([&[empty.path()], &[&after]], &figures).unwrap_err().to_string();
        assert!(error.ends_with("has no run log (a .jsonl file of a run)"), "{error}");
    }

    #[test]
    fn runs_of_one_side_have_one_load() {
        let folder = tempfile::tempdir().unwrap();
        let slow = log_at(folder.path(), "slow.jsonl", 2, Some(5.0));
        let fast = log_at(folder.path(), "fast.jsonl", 2, Some(10.0));
        let figures = ["duration".parse().unwrap()];
        let error = compare_all([&[&slow, &fast], &[&slow]], &figures).unwrap_err().to_string();
        assert!(error.contains("not runs of one load (5 and 10 requests/s)"), "{error}");
        assert!(compare_all([&[&slow], &[&fast]], &figures).is_ok());
    }
}
