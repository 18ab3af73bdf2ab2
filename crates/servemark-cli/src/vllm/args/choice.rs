//! The flags that select the dialect and the data set: effects of most other flags depend on them.

use servemark_backends::VllmDialect;

use crate::argparse::{Effects, Flag, Limit};

pub(in crate::vllm) const BACKEND: Flag = Flag::new("--backend");
pub(in crate::vllm) const DATASET_NAME: Flag = Flag::new("--dataset-name");

/// Limits a flag to backends.
pub(super) const fn backends(names: &'static [&'static str]) -> Limit {
    Limit::Only(BACKEND, names)
}

/// Limits a flag to data sets.
pub(super) const fn datasets(names: &'static [&'static str]) -> Limit {
    Limit::Only(DATASET_NAME, names)
}

/// Limits a flag to backends whose servers generate text.
pub(super) const GENERATING: Limit = Limit::Where(generates, "on routes that generate nothing");

pub(in crate::vllm) fn generates(effects: &Effects<'_>) -> bool {
    VllmDialect::of(effects.value(BACKEND)).is_some_and(VllmDialect::generates)
}
