//! Two results, read from wherever they are and held against each other.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use servemark_core::{IfDamaged, LeftOut, RunLog, RunLogError, RunLogReader};
use servemark_metrics::{
    Audit, ComparedSide, Comparison, Doubt, Figure, MetricPolicy, Metrics, ScoredRun,
};
use servemark_report::{Side, figure_in};
use thiserror::Error;

use crate::ExitCode;

/// Two results, held against each other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ComparedResults {
    /// What they are called.
    pub sides: [Side; 2],
    /// What differs.
    pub comparison: Comparison,
    /// The lines of each that were not read, if it is a run log.
    pub left_out: [LeftOut; 2],
}

/// Why two results cannot be compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A file cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A run log is none.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
    /// A result file is none.
    #[error(
        "{path} is neither a run log nor a result file: its last line is no JSON object",
        path = path.display()
    )]
    NoResult {
        /// The file.
        path: PathBuf,
    },
    /// They have nothing in common.
    #[error("{before} and {after} have no number in common", before = before.display(), after = after.display())]
    Nothing {
        /// The one.
        before: PathBuf,
        /// The other.
        after: PathBuf,
    },
}

impl CompareError {
    /// The program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }
}

/// Compares two run logs by a policy's definitions, or result files of SGLang's or vLLM's by the
/// numbers that are in them. Of a result file with several lines the last one counts.
pub fn compare(
    [before, after]: [&Path; 2],
    figures: &[Figure],
    policy: &MetricPolicy,
    if_damaged: IfDamaged,
) -> Result<ComparedResults, CompareError> {
    let sources = [Source::read(before, if_damaged)?, Source::read(after, if_damaged)?];
    let sides = [sources[0].side(before), sources[1].side(after)];
    let comparison = if let [Source::Log(before, _), Source::Log(after, _)] = &sources {
        let [before, after] = [before, after].map(|log| ScoredRun::of(log, policy));
        Comparison::of_runs(&before, &after, figures)
    } else {
        let [before, after] = sources.each_ref().map(|source| source.numbers(policy));
        Comparison::of(figures, |figure| before.read(figure), |figure| after.read(figure))
    };
    let audited = sources.iter().zip([ComparedSide::Before, ComparedSide::After]);
    let doubts = audited.filter_map(|(source, side)| source.doubt(side));
    let comparison = comparison.with_doubts(doubts);
    if comparison.changes.is_empty() {
        return Err(CompareError::Nothing { before: before.into(), after: after.into() });
    }
    let left_out = sources.map(Source::left_out);
    Ok(ComparedResults { sides, comparison, left_out })
}

/// What is in a file.
#[derive(Debug)]
enum Source {
    Log(Box<RunLog>, LeftOut),
    Result(Value),
}

/// The numbers of a file.
#[derive(Debug)]
enum Numbers<'a> {
    Scored(Box<Metrics>),
    Given(&'a Value),
}

impl Source {
    fn read(path: &Path, if_damaged: IfDamaged) -> Result<Self, CompareError> {
        let failed = |source| CompareError::Read { path: path.into(), source };
        if is_run_log(path).map_err(failed)? {
            let reader = RunLogReader::open(path)?.without_texts().if_damaged(if_damaged);
            let (log, left_out) = reader.into_log_and_left_out()?;
            return Ok(Self::Log(Box::new(log), left_out));
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let result = serde_json::from_str::<Value>(last).ok().filter(Value::is_object);
        result
            .or_else(|| serde_json::from_str(&text).ok().filter(Value::is_object))
            .map(Self::Result)
            .ok_or_else(|| CompareError::NoResult { path: path.into() })
    }

    fn left_out(self) -> LeftOut {
        match self {
            Self::Log(_, left_out) => left_out,
            Self::Result(_) => LeftOut::default(),
        }
    }

    fn side(&self, path: &Path) -> Side {
        let source = path.display().to_string();
        match self {
            Self::Log(log, _) => {
                let mut side = Side::new(source);
                side.model = Some(log.header().facts.model.clone());
                side
            }
            Self::Result(result) => Side::of_result(source, result),
        }
    }

    /// The doubt about a run. A result file says nothing of its client.
    fn doubt(&self, side: ComparedSide) -> Option<Doubt> {
        match self {
            Self::Log(log, _) => Doubt::of(side, &Audit::of(log)),
            Self::Result(_) => None,
        }
    }

    fn numbers(&self, policy: &MetricPolicy) -> Numbers<'_> {
        match self {
            Self::Log(log, _) => Numbers::Scored(Box::new(Metrics::score(log, policy))),
            Self::Result(result) => Numbers::Given(result),
        }
    }
}

impl Numbers<'_> {
    fn read(&self, figure: Figure) -> Option<f64> {
        match self {
            Self::Scored(metrics) => figure.read(metrics),
            Self::Given(result) => figure_in(result, figure),
        }
    }
}

/// A run log begins with its header.
fn is_run_log(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(RUN_LOG.len() as u64).read_to_end(&mut start)?;
    Ok(start == RUN_LOG)
}

const RUN_LOG: &[u8] = b"{\"header\":";

#[cfg(test)]
mod tests {
    use servemark_core::{Footer, Header, RunFacts, RunLogWriter, Stamp};

    use super::*;

    fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn log(folder: &Path, name: &str, seconds: u64) -> PathBuf {
        let path = folder.join(name);
        let header = Header::new(0, RunFacts::default(), Value::Null);
        let mut footer = Footer::default();
        footer.ended = Stamp::from_nanos(seconds * 1_000_000_000);
        RunLogWriter::create(&path, &header).unwrap().close(&footer).unwrap();
        path
    }

    #[track_caller]
    fn durations(before: &Path, after: &Path) -> (f64, f64) {
        let figures = ["duration".parse().unwrap()];
        let compared =
            compare([before, after], &figures, &MetricPolicy::native(), IfDamaged::Refuse).unwrap();
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
            compare([before, after], &figures, &MetricPolicy::native(), IfDamaged::Refuse)
                .unwrap_err()
                .to_string()
        };
        assert!(error(&other, &other).ends_with("have no number in common"));
        assert!(error(&other, &text).contains("neither a run log nor a result file"));
        assert!(error(&missing, &text).starts_with("cannot read"));
    }
}
