//! Several runs as one value: a plan, what is changed of it from run to run, and what keeps the
//! runs apart.
//!
//! A [`SweepSpec`] becomes [`Point`]s, each a whole plan with a name. Sides of a grid are crossed,
//! the first one changing slowest; the axes of one side move together. Nothing here runs anything.

mod axis;
mod error;
mod isolation;
mod path;

use std::collections::HashSet;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::axis::changed;
pub use self::axis::{Axis, Knob, Side, crossed};
pub use self::error::SweepError;
pub use self::isolation::Isolation;
pub use self::path::PlanPath;
use crate::BenchPlan;

/// Several runs, one after the other.
///
/// ```
/// # use servemark_backends::{BackendName, BackendSpec, CommonSpec};
/// # use servemark_datasets::{DatasetSpec, RandomSpec};
/// # use servemark_mock::MockSpec;
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
#[non_exhaustive]
pub struct SweepSpec {
    /// What is run.
    pub points: PointsSpec,
    /// How often each point is run.
    pub repeats: NonZeroU32,
    /// What keeps the points apart.
    pub isolation: Isolation,
    /// By what the sweep is known when it is begun again, where plans hold what is another each
    /// time they are made, such as a date; all of it where there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// What is run. Closed: a list is whatever a grid is not.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PointsSpec {
    /// One plan, and what is changed of it.
    Grid {
        /// The plan.
        base: Box<BenchPlan>,
        /// What is changed: each side's settings with all of the next side's.
        sides: Vec<Side>,
    },
    /// Plans that somebody else has made, with their names.
    Listed(Vec<NamedPlan>),
}

/// A plan that is told from others by a name.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NamedPlan {
    /// The name.
    pub name: String,
    /// What makes it another plan than the others.
    #[serde(default)]
    pub settings: Vec<(String, Value)>,
    /// The plan.
    pub plan: BenchPlan,
}

impl NamedPlan {
    /// A plan that is told from others by settings, after which it is named.
    pub fn new(settings: Vec<(String, Value)>, plan: BenchPlan) -> Self {
        let pairs = settings.iter().map(|(key, value)| format!("{key}={}", bare(value)));
        let name = pairs.collect::<Vec<_>>().join(",");
        Self { name, settings, plan }
    }
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// What it is called; no other point of the sweep has the name.
    pub name: String,
    /// What makes it another run than the others, in the order of the sweep.
    pub settings: Vec<(String, Value)>,
    /// The how-manieth run of these settings it is, from zero.
    pub repeat: u32,
    /// What is run.
    pub plan: BenchPlan,
}

impl SweepSpec {
    /// A plan, changed along the sides of a grid.
    pub fn grid(base: BenchPlan, sides: impl IntoIterator<Item = Side>) -> Self {
        let sides = sides.into_iter().collect();
        Self::of(PointsSpec::Grid { base: Box::new(base), sides })
    }

    /// Plans that differ in whatever their maker likes.
    pub fn listed(plans: impl IntoIterator<Item = NamedPlan>) -> Self {
        Self::of(PointsSpec::Listed(plans.into_iter().collect()))
    }

    fn of(points: PointsSpec) -> Self {
        Self { points, repeats: NonZeroU32::MIN, isolation: Isolation::default(), identity: None }
    }

    /// The same, each point run so many times.
    #[must_use]
    pub fn repeated(self, repeats: NonZeroU32) -> Self {
        Self { repeats, ..self }
    }

    /// The same, its points kept apart as `isolation` says.
    #[must_use]
    pub fn isolated(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// The same, known by `identity` when it is begun again.
    #[must_use]
    pub fn known_as(self, identity: impl Into<String>) -> Self {
        Self { identity: Some(identity.into()), ..self }
    }

    /// The runs in their order. `nonce` tells this sweep from all others: no prompt of theirs
    /// begins as one of this sweep does, if prompts are salted.
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

/// Refuses what cannot run before any of it does.
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

/// A value as a name has it: text without its quotes.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
