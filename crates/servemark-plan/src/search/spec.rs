//! A search for the largest load that keeps its promises, as one value.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_metrics::{Goal, Measure, Objective};

use super::{Grain, SearchError, SearchRange};
use crate::sweep::{NamedPlan, changed};
use crate::{BenchPlan, Isolation, Knob, PlanPath, Point, SloSpec, SweepError};

/// A search for the largest load under which a server keeps its objectives.
///
/// ```
/// # use servemark_backends::{BackendName, BackendSpec, CommonSpec};
/// # use servemark_datasets::{DatasetSpec, RandomSpec};
/// # use servemark_mock::MockSpec;
/// # use servemark_plan::{BenchPlan, ServerSpec, WorkloadSpec};
/// # use servemark_runner::LoadSpec;
/// # use servemark_schedule::ArrivalSpec;
/// use servemark_metrics::Objective;
/// use servemark_plan::{SloSearchSpec, SloSpec};
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
/// let slo = SloSpec::new(Objective::list("ttft:p99<2s,tpot:p99<100ms")?);
/// let search = SloSearchSpec::new(plan, "request_rate", slo)?;
/// // A minute at least, and enough requests for a 99th percentile.
/// assert_eq!([search.requests(1.0), search.requests(100.0)], [820, 6000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SloSearchSpec {
    /// What is run, but for the load and the number of requests.
    pub base: Box<BenchPlan>,
    /// What the load is.
    pub knob: Knob,
    /// Which loads may be tried.
    pub range: SearchRange,
    /// What must hold.
    pub slo: SloSpec,
    /// How much is sent to find out.
    pub effort: Effort,
    /// What keeps the probes apart.
    pub isolation: Isolation,
    /// By what the search is known when it is begun again, where plans hold what is another each
    /// time they are made; all of it where there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// How much is sent at each load.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Effort {
    /// How many requests a round has at least; as many as the objectives need, and half as many
    /// more, where it is absent.
    pub requests: Option<NonZeroUsize>,
    /// How many requests a round has at least for each that may be in flight.
    pub per_place: NonZeroUsize,
    /// For how long a round sends requests at least, where the load is a rate.
    #[serde(with = "servemark_core::seconds")]
    pub duration: Duration,
    /// How often a load is tried before what is still undecided counts as missed.
    pub rounds: NonZeroU32,
    /// The first so large a share of a round's requests is not judged by.
    pub settling: f64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            requests: None,
            per_place: const { NonZeroUsize::new(10).unwrap() },
            duration: Duration::from_secs(30),
            rounds: const { NonZeroU32::new(4).unwrap() },
            settling: 0.2,
        }
    }
}

impl Effort {
    /// The usual effort for a search by these objectives: where the time to a first token has a limit,
    /// rounds are thirty times as long, because a queue in which one waits so long changes slowly.
    pub fn of(slo: &SloSpec) -> Self {
        let usual = Self::default();
        let limits = slo.objectives.iter().filter_map(waiting_limit_ms);
        let longest = limits.fold(0.0, f64::max);
        let duration = Duration::try_from_secs_f64(longest * 1e-3 * LIMITS_LONG);
        Self { duration: duration.unwrap_or_default().max(usual.duration), ..usual }
    }
}

impl SloSearchSpec {
    /// A search along a knob: `request_rate`, `max_concurrency` or the path of any field that is a
    /// number. It begins at the plan's own load, or at 8, and looks from a sixteenth of that to a
    /// thousand times as much; rates are found to 2 %.
    pub fn new(base: BenchPlan, knob: &str, slo: SloSpec) -> Result<Self, SearchError> {
        let knob = Knob::from(knob.to_owned());
        let own = knob.value_in(&base).filter(|value| value.is_finite() && *value > 0.0);
        let start = own.unwrap_or(USUAL_START);
        let grain = match knob {
            Knob::RequestRate => Grain::Share(0.02),
            _ => Grain::Whole,
        };
        let range = SearchRange::around(start, grain)?;
        let effort = Effort::of(&slo);
        let isolation = Isolation::default();
        let spec =
            Self { base: Box::new(base), knob, range, slo, effort, isolation, identity: None };
        spec.check()?;
        Ok(spec)
    }

    /// The same, looking elsewhere.
    #[must_use]
    pub fn within(self, range: SearchRange) -> Self {
        Self { range, ..self }
    }

    /// The same with another effort.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// The same, its probes kept apart as `isolation` says.
    #[must_use]
    pub fn isolated(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// The same, known by `identity` when it is begun again.
    #[must_use]
    pub fn known_as(self, identity: impl Into<String>) -> Self {
        Self { identity: Some(identity.into()), ..self }
    }

    /// Refuses what no probe could tell anything of.
    pub fn check(&self) -> Result<(), SearchError> {
        let SloSpec { objectives, confidence } = &self.slo;
        if objectives.is_empty() {
            return Err(SearchError::NoObjective);
        }
        if !(0.5..1.0).contains(confidence) {
            return Err(SearchError::Confidence { given: *confidence });
        }
        let is_goodput = |objective: &Objective| matches!(objective.goal, Goal::Goodput { .. });
        if objectives.iter().any(is_goodput) && self.base.scoring.slos.is_empty() {
            return Err(SearchError::NoGoodput);
        }
        Ok(())
    }

    /// How sure each look at a probe must be, so that all rounds together are as sure as asked for.
    pub fn confidence_of_round(&self) -> f64 {
        1.0 - (1.0 - self.slo.confidence) / f64::from(self.effort.rounds.get())
    }

    /// How many requests a round has at a load.
    #[expect(clippy::cast_sign_loss, reason = "loads and times are above zero")]
    pub fn requests(&self, value: f64) -> usize {
        let Effort { requests, per_place, duration, settling, .. } = &self.effort;
        let least = requests.map_or_else(|| self.needed() / (1.0 - settling), |n| n.get() as f64);
        let for_load = match self.knob {
            Knob::RequestRate => value * duration.as_secs_f64(),
            Knob::MaxConcurrency => value * per_place.get() as f64,
            Knob::Field(_) => 0.0,
        };
        least.max(for_load).ceil() as usize
    }

    fn needed(&self) -> f64 {
        let confidence = self.confidence_of_round();
        let fewest = self.slo.objectives.iter().map(|one| one.fewest_requests(confidence));
        fewest.max().unwrap_or_default() as f64 * SPARE
    }

    /// A round at a load: the how-manieth of it, and of all that are run, both from zero. `nonce`
    /// tells the search from all others.
    pub fn point(
        &self,
        value: f64,
        round: u32,
        index: u32,
        nonce: u64,
    ) -> Result<Point, SweepError> {
        let (shown, requests) = (self.shown(value), json!(self.requests(value)));
        let counted = Knob::Field(PlanPath::new("workload.requests"));
        let row = [(&self.knob, &shown), (&counted, &requests)];
        let NamedPlan { mut plan, .. } = changed(&self.base, &self.base.to_json(), &row)?;
        self.knob.refuse_unknown(&plan)?;
        self.echo(&mut plan, &shown, requests.clone());
        let settings = vec![(self.knob.short(), shown.clone())];
        let name = format!("{}={shown},round={round}", self.knob.short());
        let mut point = Point { name, settings, repeat: round, plan };
        self.isolation.set_apart(index, nonce, &mut point);
        let wrong = |source| SweepError::Plan { name: point.name.clone(), source };
        point.plan.check().map_err(wrong)?;
        Ok(point)
    }

    /// A load as plans have it.
    #[expect(clippy::cast_sign_loss, reason = "loads are above zero")]
    fn shown(&self, value: f64) -> Value {
        match self.range.grain {
            Grain::Whole => json!(value as u64),
            Grain::Share(_) => json!(value),
        }
    }

    /// What a peer's result file repeats of the command line is the probe's own.
    fn echo(&self, plan: &mut BenchPlan, value: &Value, requests: Value) {
        if let Some(echoed) = plan.echo.get_mut(&self.knob.short()) {
            *echoed = value.clone();
        }
        if let Some(echoed) = plan.echo.get_mut("num_prompts") {
            *echoed = requests;
        }
    }
}

/// The limit of a time that is spent waiting for a first token.
fn waiting_limit_ms(objective: &Objective) -> Option<f64> {
    match objective.goal {
        Goal::Latency {
            measure: Measure::Queue | Measure::ResponseTtft | Measure::Ttft,
            limit_ms,
            ..
        } => Some(limit_ms),
        _ => None,
    }
}

const LIMITS_LONG: f64 = 30.0;
const USUAL_START: f64 = 8.0;
/// So many times the fewest requests that show anything: one of them may miss the limit then.
const SPARE: f64 = 1.5;
