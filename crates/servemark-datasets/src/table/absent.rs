//! Stub of the parquet reader for builds without the feature `parquet`.

use std::path::Path;

use servemark_core::DatasetError;

use super::{Cell, Cells, unusable};

/// A parquet file; has no values in this build, which cannot read any.
pub(super) enum TableFile {}

impl TableFile {
    pub(super) fn open(path: &Path, _columns: &[&str]) -> Result<Self, DatasetError> {
        Err(unusable(
            path,
            "this program was built without the feature parquet; the program servemark has it",
        ))
    }

    pub(super) fn open_records(path: &Path, columns: &[&str]) -> Result<Self, DatasetError> {
        Self::open(path, columns)
    }

    pub(super) fn visit(
        &self,
        _rows: &[usize],
        _visit: &mut dyn FnMut(usize, Cell),
    ) -> Result<(), DatasetError> {
        match *self {}
    }

    pub(super) fn len(&self) -> usize {
        match *self {}
    }

    pub(super) fn each(&self, _visit: &mut dyn FnMut(Cells)) -> Result<(), DatasetError> {
        match *self {}
    }
}
