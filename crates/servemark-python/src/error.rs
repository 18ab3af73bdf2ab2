//! Errors as exceptions of Python.

use std::error::Error;
use std::io;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use servemark::ExitCode;
use servemark_terminal::exit_code_of;

create_exception!(
    servemark,
    RunError,
    PyRuntimeError,
    "A run that could not be made: the server is not ready, every request of the warm-up failed, or \
     the run was stopped before anything was measured. `exit_code` is the program's."
);

/// Returns the exception of an error of a run: of the input if the plan is at fault, of the operating
/// system if it refused something, otherwise a [`RunError`].
pub(crate) fn of_run(python: Python<'_>, error: &anyhow::Error) -> PyErr {
    let code = exit_code_of(error);
    let is_of_system = code == ExitCode::Internal && system_error(error.as_ref()).is_some();
    if code == ExitCode::Usage || is_of_system {
        return of_input(error.as_ref());
    }
    let exception = RunError::new_err(format!("{error:#}"));
    let set = exception.value(python).setattr("exit_code", code as i32);
    set.err().unwrap_or(exception)
}

/// Returns the exception of an error: an `OSError` if the operating system caused it, otherwise a
/// `ValueError`.
pub(crate) fn of_input(error: &(dyn Error + 'static)) -> PyErr {
    let causes: Vec<String> = causes(error).map(ToString::to_string).collect();
    let message = causes.join(": ");
    match system_error(error) {
        // Python chooses the subclass, such as `FileNotFoundError`, by the number.
        Some(number) => PyOSError::new_err((number, message)),
        None => PyValueError::new_err(message),
    }
}

/// Returns the number of the operating system's error that caused an error, if one did.
fn system_error(error: &(dyn Error + 'static)) -> Option<i32> {
    causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error())
}

/// Returns an error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}
