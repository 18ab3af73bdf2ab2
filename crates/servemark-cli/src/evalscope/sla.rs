//! The search for the largest load that meets its criteria (`--sla-auto-tune`).

mod criterion;

use std::collections::BTreeSet;

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_plan::{Grain, SearchRange};

pub use self::criterion::{SlaCriterion, SlaGoal, SlaMetric};
use super::args::{EvalscopeArgs, SlaArgs};
use super::resolved::{ResolvedArgs, Step};
use crate::error::CliError;
use crate::number::{at_least, refused};

/// Load that a search varies. Closed enum: evalscope knows two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SlaVariable {
    /// Number of requests in flight.
    Parallel,
    /// Number of requests that are sent each second.
    Rate,
}

/// A search for the largest load that meets its criteria, or for the load that is best by one
/// metric.
#[derive(Clone, Debug, PartialEq)]
pub struct SlaSearch {
    /// Load that the search varies.
    pub variable: SlaVariable,
    /// Groups of criteria. Those of one group have to be met together; each group is a search of
    /// its own.
    pub groups: Vec<Vec<SlaCriterion>>,
    /// Number of runs by which each load is judged.
    pub runs: u32,
    /// Loads at which the search begins and between which it stays.
    pub range: SearchRange,
    multiplier: f64,
    parallel: i64,
    is_open: bool,
}

impl SlaVariable {
    /// Returns the name of the variable, as evalscope writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Rate => "rate",
        }
    }
}

impl SlaSearch {
    /// Returns the search of a command line; `None` without `--sla-auto-tune`.
    pub(super) fn of(
        args: &EvalscopeArgs,
        resolved: &ResolvedArgs,
    ) -> Result<Option<Self>, CliError> {
        let sla = &args.sla;
        if !sla.sla_auto_tune {
            return Ok(None);
        }
        let groups = groups(sla.sla_params.as_ref())?;
        check_input_only(&groups, resolved)?;
        let variable =
            if sla.sla_variable == "rate" { SlaVariable::Rate } else { SlaVariable::Parallel };
        let [lower, upper] = [sla.sla_lower_bound, sla.sla_upper_bound].map(|bound| bound as f64);
        let start = match variable {
            SlaVariable::Parallel => resolved.parallel[0] as f64,
            SlaVariable::Rate => resolved.rate[0],
        };
        let range = SearchRange::new(start, lower, upper, Grain::Whole);
        Ok(Some(Self {
            variable,
            groups,
            runs: at_least(SlaArgs::SLA_NUM_RUNS, 1, sla.sla_num_runs)?,
            range: range.map_err(refused(SlaArgs::SLA_LOWER_BOUND))?,
            multiplier: sla.sla_number_multiplier.unwrap_or(2.0),
            parallel: sla.sla_fixed_parallel.unwrap_or(sla.sla_upper_bound),
            is_open: args.load.open_loop,
        }))
    }

    /// Returns the load with which the search begins.
    #[expect(clippy::cast_sign_loss, reason = "bounds are one or more")]
    pub(super) fn first(&self) -> u32 {
        self.range.start as u32
    }

    /// Returns the run at a load. Its number of requests is rounded like Python's `round`, halves
    /// to even numbers.
    pub(super) fn step(&self, load: u32) -> Step {
        let number = (f64::from(load) * self.multiplier).round_ties_even().max(1.0) as i64;
        let (parallel, rate) = match self.variable {
            SlaVariable::Parallel => (load.into(), -1.0),
            SlaVariable::Rate => (self.parallel, load.into()),
        };
        Step { number, parallel, rate, is_open: self.is_open }
    }
}

/// Parses the groups of criteria.
fn groups(params: Option<&Value>) -> Result<Vec<Vec<SlaCriterion>>, CliError> {
    let bad = || CliError::Together("--sla-params must contain only non-empty criterion groups");
    let records: Vec<&JsonObject> = match params {
        Some(Value::Array(groups)) => groups
            .iter()
            .map(|group| group.as_object().ok_or_else(bad))
            .collect::<Result<_, _>>()?,
        _ => return Err(bad()),
    };
    if records.iter().any(|group| group.is_empty()) {
        return Err(bad());
    }
    let group = |group: &JsonObject| group.iter().map(criterion::read).collect();
    let groups: Vec<Vec<SlaCriterion>> =
        records.into_iter().map(group).collect::<Result<_, CliError>>()?;
    let is_best = groups.iter().flatten().any(|criterion| criterion.goal.is_best());
    if is_best && (groups.len() > 1 || groups[0].len() > 1) {
        return Err(CliError::Together(
            "max/min requires exactly one SLA group containing one metric",
        ));
    }
    Ok(groups)
}

/// Refuses metrics that do not exist for APIs that generate nothing.
fn check_input_only(groups: &[Vec<SlaCriterion>], resolved: &ResolvedArgs) -> Result<(), CliError> {
    if resolved.api.generates() {
        return Ok(());
    }
    let unknown = groups.iter().flatten().filter(|criterion| !criterion.metric.is_of_inputs());
    let names: BTreeSet<&str> = unknown.map(|criterion| criterion.metric.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    Err(CliError::Peer(format!("Metrics unavailable for {}: {names}", resolved.api)))
}
