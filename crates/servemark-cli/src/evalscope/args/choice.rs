//! The flags that select the API and the prompts: effects of many other flags depend on them.

use crate::argparse::{Flag, Limit};

pub(in crate::evalscope) const API: Flag = Flag::new("--api");
pub(in crate::evalscope) const DATASET: Flag = Flag::new("--dataset");
pub(in crate::evalscope) const PROMPT: Flag = Flag::new("--prompt");

/// Limits a flag to data sets.
pub(super) const fn datasets(names: &'static [&'static str]) -> Limit {
    Limit::Only(DATASET, names)
}

/// Limits a flag to runs whose prompts come from a data set.
pub(super) const FROM_DATASET: Limit =
    Limit::Where(|effects| !effects.value(DATASET).is_empty(), "with --prompt");
