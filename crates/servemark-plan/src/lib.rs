//! A whole benchmark run as one serialisable value.
//!
//! A [`BenchPlan`] consists of the other crates' specs: each crate defines what can be asked of it,
//! and this crate only combines the parts and refuses combinations that cannot run. It knows no
//! command line; a plan may also come from a file. The run log's header contains the plan without
//! any secret, so that a run can be repeated.

mod ab;
mod document;
mod error;
mod one_batch;
mod output;
mod plan;
mod profile;
mod search;
mod server;
mod slo;
mod sweep;
mod telemetry;
mod until;

pub use ab::AbSpec;
#[cfg(feature = "schema")]
pub use document::plan_schema;
pub use document::{DocumentFault, FaultyDocument};
pub use error::PlanError;
pub use one_batch::{BatchCase, BatchProfile};
pub use output::{AisbenchFiles, Layout, OutputSpec, SaveMode, ScoringSpec, VllmFiles};
pub use plan::{BenchPlan, EarlierSpec, ModelSpec, WorkloadSpec};
pub use profile::RunProfile;
pub use search::{
    Bracket, Effort, Grain, LoadBracket, LoadOutcome, SearchError, SearchRange, SloSearchSpec,
    SloTier, largest, peak,
};
pub use server::{ControlSpec, ProfileSpec, Profiled, ServerSpec, WorkerSpec};
pub use slo::SloSpec;
pub use sweep::{
    Axis, Isolation, NamedPlan, PlanPath, Point, PointsSpec, Side, SweepError, SweepSpec,
    SweptSetting, crossed,
};
pub use telemetry::{MetricsSource, TelemetrySpec};
pub use until::UntilSpec;
