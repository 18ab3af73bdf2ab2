//! The trait of all loads of the study.

use std::time::Duration;

use super::program::{Program, Workload};
use super::test_bed::TestBed;
use super::{Reader, Run};

/// A load that can be put on the server, and whose figures can be computed.
pub(super) trait Experiment: Copy {
    type Figures;

    /// Returns the name by which options select the load.
    fn name(&self) -> String;

    /// Returns the readers of the study for this load, the reference for comparisons first.
    fn readers(&self) -> &'static [Reader];

    /// Returns the workload for a program; absent if the program cannot send it.
    fn workload(&self, program: Program) -> Option<Workload>;

    /// Returns the approximate duration of one run.
    fn lasts(&self, reader: Reader) -> Duration;

    fn run(&self, reader: Reader, bed: &TestBed<'_>) -> anyhow::Result<Run<Self::Figures>>;
}
