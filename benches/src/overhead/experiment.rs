//! What can be put on the server.

use std::time::Duration;

use super::bed::Bed;
use super::program::{Program, Workload};
use super::{Reader, Run};

/// A load that can be put on the server, and whose figures can be made.
pub(super) trait Experiment: Copy {
    type Figures;

    /// As it is chosen by.
    fn name(&self) -> String;

    /// Who of ours is compared under it, the one that others are compared with first.
    fn readers(&self) -> &'static [Reader];

    /// What a program is told to send; nothing if it cannot send that.
    fn workload(&self, program: Program) -> Option<Workload>;

    /// About how long one run takes.
    fn lasts(&self, reader: Reader) -> Duration;

    fn run(&self, reader: Reader, bed: &Bed<'_>) -> anyhow::Result<Run<Self::Figures>>;
}
