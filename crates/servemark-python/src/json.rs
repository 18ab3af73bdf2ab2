//! Values of Python as JSON documents, and back.

use pyo3::prelude::*;
use pyo3::types::PyString;
use serde::Serialize;
use serde_json::Value;

use crate::error;

/// Returns the Python value of a JSON document.
pub(crate) fn loads<'py>(python: Python<'py>, document: &str) -> PyResult<Bound<'py, PyAny>> {
    python.import("json")?.call_method1("loads", (document,))
}

/// Returns a Python value as a JSON document.
pub(crate) fn dumps(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.py().import("json")?.call_method1("dumps", (value,))?;
    Ok(text.cast::<PyString>()?.to_string())
}

/// Returns a Python value as one of `serde_json`. Errors of what is read from it name no line.
pub(crate) fn value(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    serde_json::from_str(&dumps(value)?).map_err(|error| error::of_input(&error))
}

/// Returns a value as a JSON document.
pub(crate) fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| error::of_input(&error))
}
