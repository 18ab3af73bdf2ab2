//! In the place of the reader of parquet files, in builds without it.

use std::path::Path;

use servemark_core::DatasetError;

use super::{Cells, unusable};

/// A file that this build cannot read: there is none.
pub(super) enum TableFile {}

impl TableFile {
    pub(super) fn open(path: &Path, _columns: &[&str]) -> Result<Self, DatasetError> {
        Err(unusable(path, "this program was built without the feature parquet"))
    }

    pub(super) fn len(&self) -> usize {
        match *self {}
    }

    pub(super) fn each(&self, _visit: &mut dyn FnMut(Cells)) -> Result<(), DatasetError> {
        match *self {}
    }
}
