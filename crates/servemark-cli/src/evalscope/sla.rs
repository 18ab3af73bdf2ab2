//! The search for the largest load that holds (`--sla-auto-tune`).

mod criterion;

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_plan::{Grain, SearchRange};

pub use self::criterion::{SlaCriterion, SlaGoal, SlaMetric};
use super::args::{EvalscopeArgs, SlaArgs};
use super::settled::{Settled, Step};
use crate::error::CliError;
use crate::number::{at_least, refused};

/// What is searched for. Closed: evalscope knows two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SlaVariable {
    /// How many requests are in flight.
    Parallel,
    /// How many are sent each second.
    Rate,
}

/// A search for the largest load that holds, or for the best one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SlaSearch {
    /// What is searched for.
    pub variable: SlaVariable,
    /// Criteria that are to hold together; each group is a search of its own.
    pub groups: Vec<Vec<SlaCriterion>>,
    /// How many runs each load is judged by.
    pub runs: u32,
    /// Where is searched.
    pub range: SearchRange,
    multiplier: f64,
    parallel: i64,
    is_open: bool,
}

impl SlaVariable {
    /// Its name, as evalscope writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Rate => "rate",
        }
    }
}

impl SlaSearch {
    /// The search that a command line asks for, if it asks for one.
    pub(super) fn of(args: &EvalscopeArgs, settled: &Settled) -> Result<Option<Self>, CliError> {
        let sla = &args.sla;
        if !sla.sla_auto_tune {
            return Ok(None);
        }
        let groups = groups(sla.sla_params.as_ref())?;
        check_input_only(&groups, settled)?;
        let variable =
            if sla.sla_variable == "rate" { SlaVariable::Rate } else { SlaVariable::Parallel };
        let [lower, upper] = [sla.sla_lower_bound, sla.sla_upper_bound].map(|bound| bound as f64);
        let start = match variable {
            SlaVariable::Parallel => settled.parallel[0] as f64,
            SlaVariable::Rate => settled.rate[0],
        };
        let range = SearchRange::new(start, lower, upper, Grain::Whole);
        Ok(Some(Self {
            variable,
            groups,
            runs: at_least("--sla-num-runs", 1, sla.sla_num_runs)?,
            range: range.map_err(refused("--sla-lower-bound"))?,
            multiplier: sla.sla_number_multiplier.unwrap_or(2.0),
            parallel: sla.sla_fixed_parallel.unwrap_or(sla.sla_upper_bound),
            is_open: args.load.open_loop,
        }))
    }

    /// The load that it begins with.
    #[expect(clippy::cast_sign_loss, reason = "bounds are one or more")]
    pub(super) fn first(&self) -> u32 {
        self.range.start as u32
    }

    /// A run at a load. Python rounds halves to even numbers.
    pub(super) fn step(&self, load: u32) -> Step {
        let number = (f64::from(load) * self.multiplier).round_ties_even().max(1.0) as i64;
        let (parallel, rate) = match self.variable {
            SlaVariable::Parallel => (load.into(), -1.0),
            SlaVariable::Rate => (self.parallel, load.into()),
        };
        Step { number, parallel, rate, is_open: self.is_open }
    }
}

/// What evalscope checks of the flags before anything else of them.
pub(super) fn check(args: &SlaArgs) -> Result<(), CliError> {
    if !args.sla_auto_tune {
        return Ok(());
    }
    let is_empty = match &args.sla_params {
        None | Some(Value::Null) => true,
        Some(Value::Array(groups)) => groups.is_empty(),
        Some(Value::Object(group)) => group.is_empty(),
        Some(_) => false,
    };
    let bounds_fit = args.sla_lower_bound >= 1 && args.sla_upper_bound >= args.sla_lower_bound;
    let multiplier = args.sla_number_multiplier.unwrap_or(2.0);
    CliError::first_broken([
        (is_empty, "--sla-params requires at least one non-empty criterion group"),
        (args.sla_num_runs < 1, "--sla-num-runs must be >= 1"),
        (!bounds_fit, "--sla-lower-bound and --sla-upper-bound must satisfy 1 <= lower <= upper"),
        (
            args.sla_fixed_parallel.is_some_and(|limit| limit < 1),
            "--sla-fixed-parallel must be >= 1",
        ),
        (
            !multiplier.is_finite() || multiplier <= 0.0,
            "--sla-number-multiplier must be finite and > 0",
        ),
    ])
}

/// The groups of criteria: an object is one, a list has several.
fn groups(params: Option<&Value>) -> Result<Vec<Vec<SlaCriterion>>, CliError> {
    let bad = || CliError::Together("--sla-params must contain only non-empty criterion groups");
    let records: Vec<&JsonObject> = match params {
        Some(Value::Object(group)) => vec![group],
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

/// Of what only reads, few numbers are known.
fn check_input_only(groups: &[Vec<SlaCriterion>], settled: &Settled) -> Result<(), CliError> {
    if settled.api.generates() {
        return Ok(());
    }
    let unknown = groups.iter().flatten().find(|criterion| !criterion.metric.is_of_inputs());
    unknown.map_or(Ok(()), |criterion| {
        let (api, name) = (settled.api, criterion.metric.name);
        Err(CliError::Peer(format!("Metrics unavailable for {api}: {name}")))
    })
}
