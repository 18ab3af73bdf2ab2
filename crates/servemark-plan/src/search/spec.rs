//! A search for the largest load that meets its objectives, as one value.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_metrics::{Goal, Latency, Objective};

use super::{Grain, SearchError, SearchRange};
use crate::sweep::{NamedPlan, changed};
use crate::{BenchPlan, Isolation, PlanPath, Point, SloSpec, SweepError, SweptSetting};

/// A search for the largest load under which a server meets its objectives.
///
/// ```
/// # use servemark_backends::{BackendName, BackendSpec, CommonSpec};
/// # use servemark_datasets::{DatasetSpec, RandomSpec};
/// # use servemark_target::MockSpec;
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
/// // A minute at least, and a thousand requests, because TTFT has a limit.
/// assert_eq!([search.requests(1.0), search.requests(100.0)], [1000, 6000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SloSearchSpec {
    /// The plan of all probes, except for the load and the number of requests.
    pub base: Box<BenchPlan>,
    /// Setting that changes the load.
    #[serde(rename = "knob")]
    pub setting: SweptSetting,
    /// Loads that may be tried.
    pub range: SearchRange,
    /// Objectives that must hold, in every tier if there are tiers.
    pub slo: SloSpec,
    /// Tiers of further objectives. Each tier has an answer of its own, from the same rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<SloTier>,
    /// Number and length of the rounds at each load.
    pub effort: Effort,
    /// Measures that keep the probes independent of each other.
    pub isolation: Isolation,
    /// Identity by which the search is recognised when it is resumed, for plans that contain
    /// something that changes each time they are made. If absent, the whole specification is the
    /// identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// Named objectives of a search, for example those of one class of requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SloTier {
    /// Name of the tier; empty for the only tier of a search that names none.
    pub name: String,
    /// Objectives that must hold.
    pub objectives: Vec<Objective>,
}

/// Number and length of the rounds at each load.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Effort {
    /// Least number of requests in a round; if absent, 1.5 times the number that the objectives
    /// need, but at least 800 if the wait for a first token has a limit, plus the requests that
    /// are not judged.
    pub requests: Option<NonZeroUsize>,
    /// Least number of requests in a round for each request that may be in flight.
    pub per_place: NonZeroUsize,
    /// Least time for which a round sends requests, if the load is a rate.
    #[serde(with = "servemark_core::seconds")]
    pub duration: Duration,
    /// Number of rounds at a load after which it stays undecided.
    pub rounds: NonZeroU32,
    /// Factor by which the number of requests grows from one round to the next at the same load:
    /// effort goes to the loads that are hard to decide.
    pub growth: f64,
    /// Share of a round's first requests that are not judged, from 0 to 1.
    pub settling: f64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            requests: None,
            per_place: const { NonZeroUsize::new(10).unwrap() },
            duration: Duration::from_secs(30),
            rounds: const { NonZeroU32::new(5).unwrap() },
            growth: 2.0,
            settling: 0.2,
        }
    }
}

impl Effort {
    /// Returns the default effort for a search by these objectives. If the time to first token has
    /// a limit, a round lasts at least thirty times as long as the limit, because a queue with such
    /// waits changes slowly.
    pub fn of(objectives: &[Objective]) -> Self {
        let usual = Self::default();
        let limits = objectives.iter().filter_map(waiting_limit_ms);
        let longest = limits.fold(0.0, f64::max);
        let duration = Duration::try_from_secs_f64(longest * 1e-3 * LIMITS_LONG);
        Self { duration: duration.unwrap_or_default().max(usual.duration), ..usual }
    }
}

impl SloSearchSpec {
    /// Creates a search along a setting: `request_rate`, `max_concurrency` or the path of any numeric
    /// field. It begins at the plan's own load, or at 8, and covers a sixteenth of that to 1,024
    /// times as much; rates are found to 2 %.
    pub fn new(base: BenchPlan, setting: &str, slo: SloSpec) -> Result<Self, SearchError> {
        Self::with_tiers(base, setting, slo, Vec::new())
    }

    /// Creates a search with tiers along a setting. The objectives of `slo`, which may be empty, must
    /// hold in each tier.
    pub fn with_tiers(
        base: BenchPlan,
        setting: &str,
        slo: SloSpec,
        tiers: Vec<SloTier>,
    ) -> Result<Self, SearchError> {
        let setting = SweptSetting::from(setting.to_owned());
        let own = setting.value_in(&base).filter(|value| value.is_finite() && *value > 0.0);
        let start = own.unwrap_or(USUAL_START);
        let grain = match setting {
            SweptSetting::RequestRate => Grain::Share(0.02),
            _ => Grain::Whole,
        };
        let range = SearchRange::around(start, grain)?;
        let (effort, isolation) = (Effort::default(), Isolation::default());
        let base = Box::new(base);
        let spec = Self { base, setting, range, slo, tiers, effort, isolation, identity: None };
        spec.check()?;
        let effort = Effort::of(&spec.objectives());
        Ok(Self { effort, ..spec })
    }

    /// Sets another range.
    #[must_use]
    pub fn within(self, range: SearchRange) -> Self {
        Self { range, ..self }
    }

    /// Sets another effort.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// Sets how the probes are isolated from each other.
    #[must_use]
    pub fn isolated(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// Sets the identity by which the search is recognised when it is resumed.
    #[must_use]
    pub fn known_as(self, identity: impl Into<String>) -> Self {
        Self { identity: Some(identity.into()), ..self }
    }

    /// Refuses a search whose probes could not decide anything.
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
            return Err(SearchError::GrowthFactor { given: self.effort.growth });
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

    /// Returns the tiers, each with the objectives that must hold in all; one tier without a name
    /// if none is named.
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

    /// Returns the objectives of all tiers, each once.
    pub fn objectives(&self) -> Vec<Objective> {
        let mut objectives = Vec::new();
        for objective in self.tiers().into_iter().flat_map(|tier| tier.objectives) {
            if !objectives.contains(&objective) {
                objectives.push(objective);
            }
        }
        objectives
    }

    /// Returns the confidence for each round, so that all rounds together have the confidence that
    /// was asked for.
    pub fn confidence_of_round(&self) -> f64 {
        1.0 - (1.0 - self.slo.confidence) / f64::from(self.effort.rounds.get())
    }

    /// Returns the number of requests of a round at a load, by the round's zero-based number.
    #[expect(clippy::cast_sign_loss, reason = "counts are above zero")]
    pub fn requests_in_round(&self, value: f64, round: u32) -> usize {
        let times = self.effort.growth.powf(f64::from(round));
        (self.requests(value) as f64 * times).ceil() as usize
    }

    /// Returns the number of requests of the first round at a load.
    #[expect(clippy::cast_sign_loss, reason = "loads and times are above zero")]
    pub fn requests(&self, value: f64) -> usize {
        let Effort { requests, per_place, duration, settling, .. } = &self.effort;
        let least = requests.map_or_else(|| self.needed() / (1.0 - settling), |n| n.get() as f64);
        let for_load = match self.setting {
            SweptSetting::RequestRate => value * duration.as_secs_f64(),
            SweptSetting::MaxConcurrency => value * per_place.get() as f64,
            SweptSetting::Field(_) => 0.0,
        };
        least.max(for_load).ceil() as usize
    }

    fn needed(&self) -> f64 {
        let confidence = self.confidence_of_round();
        let objectives = self.objectives();
        let fewest = objectives.iter().map(|one| one.fewest_requests(confidence));
        let fewest = fewest.max().unwrap_or_default() as f64 * SPARE;
        let has_waits = objectives.iter().any(|one| waiting_limit_ms(one).is_some());
        if has_waits { fewest.max(FEWEST_WITH_WAITS) } else { fewest }
    }

    /// Returns a round at a load. `round` is its zero-based number at this load, and `index` its
    /// zero-based number among all rounds. `nonce` distinguishes the search from others.
    pub fn point(
        &self,
        value: f64,
        round: u32,
        index: u32,
        nonce: u64,
    ) -> Result<Point, SweepError> {
        let (rendered, requests) =
            (self.to_plan_value(value), json!(self.requests_in_round(value, round)));
        let counted = SweptSetting::Field(PlanPath::new("workload.requests"));
        let row = [(&self.setting, &rendered), (&counted, &requests)];
        let NamedPlan { mut plan, .. } = changed(&self.base, &self.base.to_json(), &row)?;
        self.setting.refuse_unknown(&plan)?;
        self.echo(&mut plan, &rendered, requests.clone());
        let settings = vec![(self.setting.short(), rendered.clone())];
        let name = format!("{}={rendered},round={round}", self.setting.short());
        let mut point = Point { name, settings, repeat: round, plan };
        self.isolation.set_apart(index, nonce, &mut point);
        let wrong = |source| SweepError::Plan { name: point.name.clone(), source };
        point.plan.check().map_err(wrong)?;
        Ok(point)
    }

    /// Converts a load to its form in plans.
    #[expect(clippy::cast_sign_loss, reason = "loads are above zero")]
    fn to_plan_value(&self, value: f64) -> Value {
        match self.range.grain {
            Grain::Whole => json!(value as u64),
            Grain::Share(_) => json!(value),
        }
    }

    /// Replaces the values of the command line that a peer's result file repeats by those of the
    /// probe.
    fn echo(&self, plan: &mut BenchPlan, value: &Value, requests: Value) {
        if let Some(echoed) = plan.echo.get_mut(&self.setting.short()) {
            *echoed = value.clone();
        }
        if let Some(echoed) = plan.echo.get_mut("num_prompts") {
            *echoed = requests;
        }
    }
}

/// Returns the limit of an objective on the wait for a first token, in milliseconds.
fn waiting_limit_ms(objective: &Objective) -> Option<f64> {
    match objective.goal {
        Goal::Latency {
            measure: Latency::Queue | Latency::ResponseTtft | Latency::Ttft,
            limit_ms,
            ..
        } => Some(limit_ms),
        _ => None,
    }
}

const LIMITS_LONG: f64 = 30.0;
/// Least number of judged requests of a round if the wait for a first token has a limit. Near a
/// capacity, the waits of consecutive requests are strongly correlated.
const FEWEST_WITH_WAITS: f64 = 800.0;
/// Largest growth of rounds. With more, the second round would take too long.
const MOST_GROWTH: f64 = 10.0;
const USUAL_START: f64 = 8.0;
/// Factor over the least number of requests that can show that an objective holds, so that some of
/// them may miss the limit.
const SPARE: f64 = 1.5;
