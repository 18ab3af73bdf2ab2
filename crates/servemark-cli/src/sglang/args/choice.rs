//! The flags that select the backend and the data set: effects of most other flags depend on them.

use servemark_backends::{BackendName, Route};
use servemark_datasets::DatasetName;

use crate::argparse::{Effects, Flag, Limit};

pub(in crate::sglang) const BACKEND: Flag = Flag::new("--backend");
pub(in crate::sglang) const DATASET_NAME: Flag = Flag::new("--dataset-name");

/// Limits a flag to backends.
pub(super) const fn backends(names: &'static [&'static str]) -> Limit {
    Limit::Only(BACKEND, names)
}

/// Limits a flag to data sets.
pub(super) const fn datasets(names: &'static [&'static str]) -> Limit {
    Limit::Only(DATASET_NAME, names)
}

pub(super) fn backend(effects: &Effects<'_>) -> BackendName {
    effects.value(BACKEND).parse().unwrap_or(BackendName::Sglang)
}

pub(super) fn route(effects: &Effects<'_>) -> Route {
    backend(effects).route()
}

/// Returns the data set; `None` if there is none of that name, which is refused elsewhere.
pub(super) fn dataset(effects: &Effects<'_>) -> Option<DatasetName> {
    effects.value(DATASET_NAME).parse().ok()
}
