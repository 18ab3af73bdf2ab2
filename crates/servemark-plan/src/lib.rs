//! A whole benchmark run as one serialisable value.
//!
//! A [`BenchPlan`] is made of the other crates' specs: each crate says what can be asked of it,
//! and this one only puts the parts together and refuses combinations that cannot run. It knows no
//! command line; a plan may as well come from a file. The plan travels in the run log's header
//! without any secret, so that a result can be run again.

mod ab;
mod error;
mod one_batch;
mod output;
mod plan;
mod profile;
mod search;
mod server;
mod slo;
mod sweep;
mod until;

pub use ab::AbSpec;
pub use error::PlanError;
pub use one_batch::{BatchCase, BatchProfile};
pub use output::{AisbenchFiles, Layout, OutputSpec, SaveMode, ScoringSpec, VllmFiles};
pub use plan::{BenchPlan, EarlierSpec, ModelSpec, WorkloadSpec};
pub use profile::RunProfile;
pub use search::{
    Bracket, Effort, Grain, LoadBracket, LoadStanding, SearchError, SearchRange, SloSearchSpec,
    SloTier, largest, peak,
};
pub use server::{ControlSpec, ProfileSpec, Profiled, ServerSpec, WorkerSpec};
pub use slo::SloSpec;
pub use sweep::{
    Axis, Isolation, Knob, NamedPlan, PlanPath, Point, PointsSpec, Side, SweepError, SweepSpec,
    crossed,
};
pub use until::UntilSpec;
