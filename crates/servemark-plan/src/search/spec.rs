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
    /// What must hold: in every tier, where there are tiers.
    pub slo: SloSpec,
    /// Tiers of further objectives, each of which has an answer of its own, from the same rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<SloTier>,
    /// How much is sent to find out.
    pub effort: Effort,
    /// What keeps the probes apart.
    pub isolation: Isolation,
    /// By what the search is known when it is begun again, where plans hold what is another each
    /// time they are made; all of it where there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// Objectives of a search that have a name, such as those of one class of requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SloTier {
    /// The name; empty for the only tier of a search that names none.
    pub name: String,
    /// What must hold.
    pub objectives: Vec<Objective>,
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
    /// How often a load is tried before it stays undecided.
    pub rounds: NonZeroU32,
    /// How many times as many requests a round has as the round before it at the same load: effort goes
    /// to the loads that are hard to decide.
    pub growth: f64,
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
            growth: 2.0,
            settling: 0.2,
        }
    }
}

impl Effort {
    /// The usual effort for a search by these objectives: where the time to a first token has a limit,
    /// rounds are thirty times as long, because a queue in which one waits so long changes slowly.
    pub fn of(objectives: &[Objective]) -> Self {
        let usual = Self::default();
        let limits = objectives.iter().filter_map(waiting_limit_ms);
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
        Self::with_tiers(base, knob, slo, Vec::new())
    }

    /// The same with tiers: the objectives of `slo`, of which there may be none, must hold in each.
    pub fn with_tiers(
        base: BenchPlan,
        knob: &str,
        slo: SloSpec,
        tiers: Vec<SloTier>,
    ) -> Result<Self, SearchError> {
        let knob = Knob::from(knob.to_owned());
        let own = knob.value_in(&base).filter(|value| value.is_finite() && *value > 0.0);
        let start = own.unwrap_or(USUAL_START);
        let grain = match knob {
            Knob::RequestRate => Grain::Share(0.02),
            _ => Grain::Whole,
        };
        let range = SearchRange::around(start, grain)?;
        let (effort, isolation) = (Effort::default(), Isolation::default());
        let base = Box::new(base);
        let spec = Self { base, knob, range, slo, tiers, effort, isolation, identity: None };
        spec.check()?;
        let effort = Effort::of(&spec.objectives());
        Ok(Self { effort, ..spec })
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
        let (objectives, confidence) = (self.objectives(), &self.slo.confidence);
        if self.tiers().iter().any(|tier| tier.objectives.is_empty()) {
            return Err(SearchError::NoObjective);
        }
        let mut names: Vec<&str> = self.tiers.iter().map(|tier| tier.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SearchError::SameTier { name: twice[0].to_owned() });
        }
        if !(1.0..=MOST_GROWTH).contains(&self.effort.growth) {
            return Err(SearchError::Growth { given: self.effort.growth });
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

    /// The tiers, each with the objectives that hold in all; one without a name where none is named.
    pub fn tiers(&self) -> Vec<SloTier> {
        let common = &self.slo.objectives;
        if self.tiers.is_empty() {
            return vec![SloTier { name: String::new(), objectives: common.clone() }];
        }
        let whole = |tier: &SloTier| {
            let objectives = common.iter().chain(&tier.objectives).copied();
            SloTier { name: tier.name.clone(), objectives: SloSpec::new(objectives).objectives }
        };
        self.tiers.iter().map(whole).collect()
    }

    /// The objectives of all tiers, each once.
    pub fn objectives(&self) -> Vec<Objective> {
        let mut objectives = Vec::new();
        for objective in self.tiers().into_iter().flat_map(|tier| tier.objectives) {
            if !objectives.contains(&objective) {
                objectives.push(objective);
            }
        }
        objectives
    }

    /// How sure each look at a probe must be, so that all rounds together are as sure as asked for.
    pub fn confidence_of_round(&self) -> f64 {
        1.0 - (1.0 - self.slo.confidence) / f64::from(self.effort.rounds.get())
    }

    /// How many requests a round has at a load, by its number from zero.
    #[expect(clippy::cast_sign_loss, reason = "counts are above zero")]
    pub fn requests_in_round(&self, value: f64, round: u32) -> usize {
        let times = self.effort.growth.powf(f64::from(round));
        (self.requests(value) as f64 * times).ceil() as usize
    }

    /// How many requests the first round has at a load.
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
        let objectives = self.objectives();
        let fewest = objectives.iter().map(|one| one.fewest_requests(confidence));
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
        let (shown, requests) = (self.shown(value), json!(self.requests_in_round(value, round)));
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
/// More would send more in the second round than anybody waits for.
const MOST_GROWTH: f64 = 10.0;
const USUAL_START: f64 = 8.0;
/// So many times the fewest requests that show anything: one of them may miss the limit then.
const SPARE: f64 = 1.5;
