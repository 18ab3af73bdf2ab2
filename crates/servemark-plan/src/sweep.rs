//! Several runs as one value: a plan, the settings that change from run to run, and the isolation
//! between runs.
//!
//! A [`SweepSpec`] becomes [`Point`]s, each a whole plan with a name. Sides of a grid are crossed,
//! and the first one changes slowest; the axes of one side move together. This module runs nothing.

mod axis;
mod error;
mod isolation;
mod path;

use std::collections::HashSet;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::axis::changed;
pub use self::axis::{Axis, Side, SweptSetting, crossed};
pub use self::error::SweepError;
pub use self::isolation::Isolation;
pub use self::path::PlanPath;
use crate::BenchPlan;

/// Several runs, one after the other.
///
/// ```
/// # use servemark_backends::{BackendName, BackendSpec, CommonSpec};
/// # use servemark_datasets::{DatasetSpec, RandomSpec};
/// # use servemark_target::MockSpec;
/// # use servemark_plan::{BenchPlan, ServerSpec, WorkloadSpec};
/// # use servemark_runner::LoadSpec;
/// # use servemark_schedule::ArrivalSpec;
/// use servemark_plan::{Axis, Side, SweepSpec};
///
/// # let backend = BackendName::Sglang;
/// # let dataset = DatasetSpec::Random(RandomSpec::default());
/// # let plan = BenchPlan::new(
/// #     ServerSpec::Simulated(MockSpec::default()),
/// #     backend,
/// #     BackendSpec::new(backend, CommonSpec::default()),
/// #     WorkloadSpec::new(dataset, 10),
/// #     LoadSpec::new(ArrivalSpec::Burst),
/// # );
/// let limit = Axis::new("max_concurrency", [1, 8, 64])?;
/// let requests = Axis::new("workload.requests", [10, 80, 640])?;
/// let rates = Axis::new("request_rate", [2.5, 5.0])?;
/// let sweep = SweepSpec::grid(plan, [Side::together([limit, requests]), Side::of(rates)]);
/// let names: Vec<String> =
///     sweep.points(7)?.into_iter().map(|point| point.name).take(3).collect();
/// assert_eq!(names, [
///     "max_concurrency=1,requests=10,request_rate=2.5",
///     "max_concurrency=1,requests=10,request_rate=5.0",
///     "max_concurrency=8,requests=80,request_rate=2.5",
/// ]);
/// # Ok::<(), servemark_plan::SweepError>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Plans that are run.
    pub points: PointsSpec,
    /// Number of runs of each point.
    pub repeats: NonZeroU32,
    /// Measures that keep the points independent of each other.
    pub isolation: Isolation,
    /// Identity by which the sweep is recognised when it is resumed, for plans that contain
    /// something that changes each time they are made, such as a date. If absent, the whole
    /// specification is the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// Plans of a sweep. The enum is closed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PointsSpec {
    /// One plan with changing settings.
    Grid {
        /// The plan.
        base: Box<BenchPlan>,
        /// Sides of the grid: each side's settings are combined with all of the next side's.
        sides: Vec<Side>,
    },
    /// Plans that the caller made, with their names.
    Listed(Vec<NamedPlan>),
}

/// A plan with a name that distinguishes it from others.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPlan {
    /// Name of the plan.
    pub name: String,
    /// Settings that distinguish the plan from the others.
    #[serde(default)]
    pub settings: Vec<(String, Value)>,
    /// The plan.
    pub plan: BenchPlan,
}

impl NamedPlan {
    /// Creates a plan that is named after the settings that distinguish it.
    pub fn new(settings: Vec<(String, Value)>, plan: BenchPlan) -> Self {
        let pairs = settings.iter().map(|(key, value)| format!("{key}={}", bare(value)));
        let name = pairs.collect::<Vec<_>>().join(",");
        Self { name, settings, plan }
    }
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Name of the point, unique in the sweep.
    pub name: String,
    /// Settings that distinguish the run from the others, in the order of the sweep.
    pub settings: Vec<(String, Value)>,
    /// Zero-based number of the run among the runs of this point's settings.
    pub repeat: u32,
    /// Plan of the run.
    pub plan: BenchPlan,
}

impl SweepSpec {
    /// Creates a sweep of one plan along the sides of a grid.
    pub fn grid(base: BenchPlan, sides: impl IntoIterator<Item = Side>) -> Self {
        let sides = sides.into_iter().collect();
        Self::of(PointsSpec::Grid { base: Box::new(base), sides })
    }

    /// Creates a sweep of plans that may differ in anything.
    pub fn listed(plans: impl IntoIterator<Item = NamedPlan>) -> Self {
        Self::of(PointsSpec::Listed(plans.into_iter().collect()))
    }

    fn of(points: PointsSpec) -> Self {
        Self { points, repeats: NonZeroU32::MIN, isolation: Isolation::default(), identity: None }
    }

    /// Sets the number of runs of each point.
    #[must_use]
    pub fn repeated(self, repeats: NonZeroU32) -> Self {
        Self { repeats, ..self }
    }

    /// Sets how the points are isolated from each other.
    #[must_use]
    pub fn isolated(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// Sets the identity by which the sweep is recognised when it is resumed.
    #[must_use]
    pub fn known_as(self, identity: impl Into<String>) -> Self {
        Self { identity: Some(identity.into()), ..self }
    }

    /// Returns the runs in order. `nonce` distinguishes this sweep from others: if prompts are
    /// salted, no prompt of another sweep begins like one of this sweep.
    pub fn points(&self, nonce: u64) -> Result<Vec<Point>, SweepError> {
        let plans = match &self.points {
            PointsSpec::Grid { base, sides } => axis::cross(base, sides)?,
            PointsSpec::Listed(plans) => plans.clone(),
        };
        let repeated = plans.iter().flat_map(|plan| self.repeats_of(plan));
        let mut points: Vec<Point> = repeated.collect();
        for (index, point) in (0..).zip(&mut points) {
            self.isolation.set_apart(index, nonce, point);
        }
        check(&points)?;
        Ok(points)
    }

    fn repeats_of(&self, plan: &NamedPlan) -> impl Iterator<Item = Point> {
        let NamedPlan { name, settings, plan } = plan;
        let times = self.repeats.get();
        (0..times).map(move |repeat| Point {
            name: if times == 1 { name.clone() } else { format!("{name},repeat={repeat}") },
            settings: settings.clone(),
            repeat,
            plan: plan.clone(),
        })
    }
}

/// Refuses points that cannot run, before any of them runs.
fn check(points: &[Point]) -> Result<(), SweepError> {
    let mut names = HashSet::new();
    for point in points {
        if !names.insert(&point.name) {
            return Err(SweepError::Twice { name: point.name.clone() });
        }
        let wrong = |source| SweepError::Plan { name: point.name.clone(), source };
        point.plan.check().map_err(wrong)?;
    }
    if points.is_empty() { Err(SweepError::NoPoints) } else { Ok(()) }
}

/// Formats a value for a name: text has no quotes.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
