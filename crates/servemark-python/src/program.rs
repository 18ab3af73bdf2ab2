//! The program `servemark`, run inside a Python interpreter.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program and returns its exit code. `starter` is the command that starts it again, and
/// `args` are the arguments after the program's name. Call it once in a process.
#[pyfunction]
pub(crate) fn main(python: Python<'_>, starter: Vec<OsString>, args: Vec<OsString>) -> i32 {
    python.detach(|| servemark_terminal::dispatch_inside(starter, args) as i32)
}
