//! Run logs, their scores and their comparison.

use std::path::PathBuf;
use std::sync::OnceLock;

use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use servemark::core::{IfDamaged, RunLog as Log, RunLogReader};
use servemark::plan::{Layout, ScoringSpec};
use servemark::report::columns::{
    REQUEST_COLUMNS, SERIES_COLUMNS, TOKEN_COLUMNS, TokenRows, request_columns, series_columns,
};
use servemark::report::{ResultDetails, comparison_json};
use servemark::{Scores, scoring_of};
use servemark_cli::{CompareArgs, Tables};

use crate::table::Table;
use crate::{error, json};

/// A run log in memory, without the text of the answers. Each table is built when it is first asked
/// for.
#[pyclass(module = "servemark._servemark", frozen)]
#[derive(Debug)]
pub(crate) struct RunLog {
    log: Log,
    requests: OnceLock<Table>,
    tokens: OnceLock<Table>,
    series: OnceLock<Table>,
}

/// Reads a run log.
#[pyfunction]
pub(crate) fn read(python: Python<'_>, path: PathBuf, skip_damaged: bool) -> PyResult<RunLog> {
    let log = python.detach(move || {
        let reader = RunLogReader::open(&path)?.if_damaged(if_damaged(skip_damaged));
        reader.without_texts().into_log()
    });
    let log = log.map_err(|error| error::of_input(&error))?;
    let [requests, tokens, series] = [const { OnceLock::new() }; 3];
    Ok(RunLog { log, requests, tokens, series })
}

/// Compares results and returns the document that `servemark compare --json` prints.
#[pyfunction]
pub(crate) fn compare<'py>(
    python: Python<'py>,
    before: Vec<PathBuf>,
    after: Vec<PathBuf>,
    as_: &str,
    skip_damaged: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let args = CompareArgs::by_name([before, after], as_).map_err(PyValueError::new_err)?;
    let [before, after] = args.sides();
    let compared = python.detach(|| {
        let sides = [before.as_slice(), after.as_slice()];
        servemark::compare(sides, &args.figures(), &args.policy(), if_damaged(skip_damaged))
    });
    let compared = compared.map_err(|error| error::of_input(&error))?;
    let document = comparison_json(&compared.comparison, &compared.sides, &[]);
    json::loads(python, &document.to_string())
}

#[pymethods]
impl RunLog {
    #[getter]
    fn header<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loads(python, &json::text(self.log.header())?)
    }

    #[getter]
    fn is_complete(&self) -> bool {
        self.log.is_complete()
    }

    #[getter]
    fn requests(&self, python: Python<'_>) -> PyResult<Table> {
        table_in(python, &self.requests, || {
            Table::new(REQUEST_COLUMNS, request_columns(self.log.records()))
        })
    }

    #[getter]
    fn tokens(&self, python: Python<'_>) -> PyResult<Table> {
        table_in(python, &self.tokens, || {
            let mut rows = TokenRows::default();
            for (row, record) in self.log.records().iter().enumerate() {
                rows.add(row, record);
            }
            Table::new(TOKEN_COLUMNS, rows.into_columns())
        })
    }

    #[getter]
    fn series(&self, python: Python<'_>) -> PyResult<Table> {
        table_in(python, &self.series, || {
            Table::new(SERIES_COLUMNS, series_columns(self.log.telemetry()))
        })
    }

    fn score<'py>(&self, python: Python<'py>, as_: &str) -> PyResult<Bound<'py, PyAny>> {
        let scoring = self.scoring(as_)?;
        let Some(layout @ (Layout::Native | Layout::Offline | Layout::Sglang | Layout::Vllm)) =
            scoring.layouts.first()
        else {
            let why = format!("{as_} has no result of one document; table() has its figures");
            return Err(PyValueError::new_err(why));
        };
        let document = python.detach(|| {
            let scores = Scores::of(&self.log, &scoring);
            if *layout == Layout::Native {
                let mut document = Vec::new();
                return scores.write_json(&mut document).map(|()| document);
            }
            scores.result_line(ResultDetails::Brief)
        });
        json::loads(python, &String::from_utf8_lossy(&document?))
    }

    fn table(&self, python: Python<'_>, as_: &str) -> PyResult<String> {
        let scoring = self.scoring(as_)?;
        let tables = python.detach(|| {
            let mut tables = Vec::new();
            Scores::of(&self.log, &scoring).write_tables(&mut tables).map(|()| tables)
        });
        Ok(String::from_utf8_lossy(&tables?).into_owned())
    }
}

impl RunLog {
    /// Returns the scoring rules of the run with the tables of a layout, or of a layout and a
    /// release.
    fn scoring(&self, name: &str) -> PyResult<ScoringSpec> {
        let tables: Tables = name.parse().map_err(|why: String| PyValueError::new_err(why))?;
        let mut scoring = scoring_of(self.log.header()).unwrap_or_default();
        Tables::apply(&[tables], &mut scoring);
        Ok(scoring)
    }
}

/// Returns the table of a cell, which is built if the cell is empty.
fn table_in(
    python: Python<'_>,
    cell: &OnceLock<Table>,
    build: impl FnOnce() -> Result<Table, ArrowError> + Send,
) -> PyResult<Table> {
    if let Some(table) = cell.get() {
        return Ok(table.clone());
    }
    let table = python.detach(build).map_err(|error| error::of_input(&error))?;
    Ok(cell.get_or_init(|| table).clone())
}

fn if_damaged(skips: bool) -> IfDamaged {
    if skips { IfDamaged::Skip } else { IfDamaged::Refuse }
}
