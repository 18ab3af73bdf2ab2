//! Exceptions that functions of Python raised on threads of a run.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::PyErr;

/// The first exception that was raised, until it is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn keep(&self, exception: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(exception);
    }
}
