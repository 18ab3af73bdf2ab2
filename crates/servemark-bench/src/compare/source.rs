//! Contents of a compared file.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use servemark_core::{IfDamaged, LeftOut, RunLog, RunLogReader};
use servemark_metrics::{
    Audit, ComparedRun, ComparedSide, Doubt, Figure, MetricPolicy, RunVerdict,
};
use servemark_page::RunTrace;
use servemark_report::{Side, figure_in};

use super::CompareError;

/// A run log or a result file.
#[derive(Debug)]
pub(super) enum ResultSource {
    Log(Box<RunLog>, LeftOut),
    Result(Value),
}

/// Requested load of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    request_rate: Option<f64>,
    max_concurrency: Option<usize>,
}

impl Load {
    /// Describes the difference between two loads.
    pub(super) fn difference(&self, other: &Self) -> String {
        let rate = |load: &Self| {
            load.request_rate.map_or_else(|| "no".to_owned(), |rate| format!("{rate}"))
        };
        let most = |load: &Self| {
            load.max_concurrency.map_or_else(|| "no limit".to_owned(), |most| most.to_string())
        };
        if self.request_rate == other.request_rate {
            format!("{} and {} requests in flight", most(self), most(other))
        } else {
            format!("{} and {} requests/s", rate(self), rate(other))
        }
    }
}

impl ResultSource {
    pub(super) fn read(path: &Path, if_damaged: IfDamaged) -> Result<Self, CompareError> {
        let failed = |source| CompareError::Read { path: path.into(), source };
        if is_run_log(path).map_err(failed)? {
            let reader = RunLogReader::open(path)?.without_texts().if_damaged(if_damaged);
            let (log, left_out) = reader.into_log_and_left_out()?;
            return Ok(Self::Log(Box::new(log), left_out));
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let result = servemark_pyjson::parse(last).ok().filter(Value::is_object);
        result
            .or_else(|| servemark_pyjson::parse(&text).ok().filter(Value::is_object))
            .map(Self::Result)
            .ok_or_else(|| CompareError::NoResult { path: path.into() })
    }

    /// Returns the lines of a run log that were skipped.
    pub(super) fn left_out(self) -> Option<LeftOut> {
        match self {
            Self::Log(_, left_out) => Some(left_out),
            Self::Result(_) => None,
        }
    }

    pub(super) fn side(&self, path: &Path) -> Side {
        let source = path.display().to_string();
        match self {
            Self::Log(log, _) => {
                let mut side = Side::new(source);
                side.model = Some(log.header().facts.model.clone());
                side.verdicts = RunVerdict::of_log(log);
                side
            }
            Self::Result(result) => Side::of_result(source, result),
        }
    }

    /// Returns the requested load of a run log; `None` for a result file.
    pub(super) fn load(&self) -> Option<Load> {
        let Self::Log(log, _) = self else { return None };
        let facts = &log.header().facts;
        Some(Load { request_rate: facts.request_rate, max_concurrency: facts.max_concurrency })
    }

    /// Returns the doubt about a run. A result file has no data about its client, so it has no
    /// doubt.
    pub(super) fn doubt(&self, side: ComparedSide) -> Option<Doubt> {
        match self {
            Self::Log(log, _) => Doubt::of(side, &Audit::of(log)),
            Self::Result(_) => None,
        }
    }

    /// Returns what a page shows of a run log; `None` for a result file.
    pub(super) fn trace(&self, policy: &MetricPolicy) -> Option<RunTrace> {
        match self {
            Self::Log(log, _) => Some(RunTrace::of(log, policy)),
            Self::Result(_) => None,
        }
    }

    pub(super) fn run(&self, figures: &[Figure], policy: &MetricPolicy) -> ComparedRun {
        match self {
            Self::Log(log, _) => ComparedRun::of_log(log, policy, figures),
            Self::Result(result) => {
                ComparedRun::of_values(figures, |figure| figure_in(result, figure))
            }
        }
    }
}

/// Returns the files that `paths` stand for; a folder stands for its run logs, sorted by name.
pub(super) fn files_in(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CompareError> {
    let files = paths
        .iter()
        .map(|path| if path.is_dir() { run_logs_of(path) } else { Ok(vec![path.clone()]) });
    Ok(files.collect::<Result<Vec<_>, _>>()?.concat())
}

fn run_logs_of(folder: &Path) -> Result<Vec<PathBuf>, CompareError> {
    let failed = |source| CompareError::Read { path: folder.into(), source };
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_candidate = path.is_file() && path.extension().is_some_and(|of| of == "jsonl");
        if is_candidate && is_run_log(&path).map_err(failed)? {
            logs.push(path);
        }
    }
    logs.sort();
    if logs.is_empty() { Err(CompareError::EmptyFolder { path: folder.into() }) } else { Ok(logs) }
}

/// Returns whether a file begins with the header of a run log. White space, which writers of JSON
/// place differently, is ignored.
fn is_run_log(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(MOST_START).read_to_end(&mut start)?;
    let signs = start.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    Ok(signs.take(RUN_LOG.len()).eq(RUN_LOG.iter().copied()))
}

const RUN_LOG: &[u8] = b"{\"header\":";
/// Number of bytes in which the beginning of a run log is looked for.
const MOST_START: u64 = 64;
