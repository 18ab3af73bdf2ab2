//! The simulator.

use std::io;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use servemark::mock::{MockServer as Server, MockSpec, write_requests, write_truth};

use crate::{error, json};

/// A simulator, which starts with the object and stops with [`MockServer::stop`].
#[pyclass(module = "servemark._servemark")]
#[derive(Debug)]
pub(crate) struct MockServer {
    server: Option<Server>,
}

#[pymethods]
impl MockServer {
    #[new]
    fn new(settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let spec: Result<MockSpec, _> = serde_json::from_value(json::value(settings)?);
        let spec = spec.map_err(|error| error::of_input(&error))?;
        let server = Server::start(spec).map_err(|error| error::of_input(&error))?;
        Ok(Self { server: Some(server) })
    }

    #[getter]
    fn url(&self) -> PyResult<String> {
        Ok(self.running()?.base_url())
    }

    fn truth<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.running()?.truth();
        loads_lines(python, |out| write_truth(&rows, out))
    }

    fn requests<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let requests = self.running()?.requests();
        loads_lines(python, |out| write_requests(&requests, out))
    }

    fn stop(&mut self, python: Python<'_>) {
        let server = self.server.take();
        python.detach(|| drop(server));
    }
}

impl MockServer {
    fn running(&self) -> PyResult<&Server> {
        self.server.as_ref().ok_or_else(|| PyRuntimeError::new_err("the server was stopped"))
    }
}

/// Returns the list of the values of JSON lines.
fn loads_lines(
    python: Python<'_>,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> PyResult<Bound<'_, PyAny>> {
    let mut lines = Vec::new();
    write(&mut lines)?;
    let lines = String::from_utf8_lossy(&lines);
    json::loads(python, &format!("[{}]", lines.trim_end().replace('\n', ",")))
}
