//! The native half of the Python package `servemark`: runs, run logs as Arrow tables, the simulator
//! and the program.
//!
//! It has no logic of its own: it converts values of Python into those of the other crates, and
//! back. Documents cross as JSON text. Whatever takes time releases Python's lock meanwhile. The
//! other half, in `python/servemark`, has what is shorter in Python.

use pyo3::pymodule;
// Only their features matter, which the manifest explains.
#[cfg(feature = "tests")]
use {clap as _, hyper as _, jiff as _, tokio as _};

mod dataset;
mod dialect;
mod error;
mod json;
mod log;
mod mock;
mod program;
mod raised;
mod run;
mod table;

#[pymodule]
mod _servemark {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::error::RunError;
    #[pymodule_export]
    use crate::log::{RunLog, compare, read};
    #[pymodule_export]
    use crate::mock::MockServer;
    #[pymodule_export]
    use crate::program::main;
    #[pymodule_export]
    use crate::run::RunHandle;
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
