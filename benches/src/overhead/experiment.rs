//! What can be put on the server.

use std::time::Duration;

use super::bed::Bed;
use super::{Reader, Run};

/// A load that can be put on the server, and whose figures can be made.
pub(super) trait Experiment: Copy {
    type Figures;

    /// As it is chosen by.
    fn name(&self) -> String;

    /// Who is compared under it, the one that others are compared with first.
    fn readers(&self) -> &'static [Reader];

    /// About how long one run with one reader takes.
    fn lasts(&self) -> Duration;

    fn run(&self, reader: Reader, bed: &Bed<'_>) -> anyhow::Result<Run<Self::Figures>>;
}
