//! What is changed of a plan from point to point.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_schedule::ArrivalSpec;

use super::{NamedPlan, PlanPath, SweepError, bare};
use crate::BenchPlan;

/// One side of a grid: axes that move together.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Side {
    axes: Vec<Axis>,
}

/// Something of a plan, and the values that it takes in their order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    knob: Knob,
    values: Vec<Value>,
}

/// Something of a plan that can be changed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum Knob {
    /// Any field, by its path.
    Field(PlanPath),
    /// How many requests may be in flight; `inf` for no limit.
    MaxConcurrency,
    /// How many requests arrive in a second, by whatever process the plan has; `inf` for all at
    /// once.
    RequestRate,
}

impl Side {
    /// One axis alone.
    pub fn of(axis: Axis) -> Self {
        Self { axes: vec![axis] }
    }

    /// Axes of equally many values: the first values of all, then the second ones.
    pub fn together(axes: impl IntoIterator<Item = Axis>) -> Self {
        Self { axes: axes.into_iter().collect() }
    }

    /// How many steps the side has.
    fn steps(&self) -> Result<usize, SweepError> {
        let mut lengths = self.axes.iter().map(|axis| axis.values.len());
        let first = lengths.next().unwrap_or_default();
        match lengths.find(|length| *length != first) {
            None => Ok(first),
            Some(other) => Err(SweepError::Uneven { first, other }),
        }
    }
}

impl Axis {
    /// A knob by its name and the values that it takes. The names are `max_concurrency`,
    /// `request_rate`, or the path of a field.
    pub fn new<T: Into<Value>>(
        knob: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Result<Self, SweepError> {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        if values.is_empty() {
            return Err(SweepError::NoValues { knob: knob.to_owned() });
        }
        Ok(Self { knob: knob.to_owned().into(), values })
    }
}

impl From<String> for Knob {
    fn from(name: String) -> Self {
        match name.replace('-', "_").as_str() {
            "max_concurrency" => Self::MaxConcurrency,
            "rate" | "request_rate" => Self::RequestRate,
            _ => Self::Field(PlanPath::new(&name)),
        }
    }
}

impl From<Knob> for String {
    fn from(knob: Knob) -> Self {
        match knob {
            Knob::Field(path) => path.to_string(),
            Knob::MaxConcurrency => "max_concurrency".to_owned(),
            Knob::RequestRate => "request_rate".to_owned(),
        }
    }
}

impl Knob {
    /// What becomes of which field.
    fn edit(&self, plan: &BenchPlan, value: &Value) -> Result<(PlanPath, Value), SweepError> {
        match self {
            Self::Field(path) => Ok((path.clone(), value.clone())),
            Self::MaxConcurrency => {
                let limit = if value == "inf" { Value::Null } else { value.clone() };
                Ok((PlanPath::new("load.max_concurrency"), limit))
            }
            Self::RequestRate => Ok((PlanPath::new("load.arrivals"), rate(plan, value)?)),
        }
    }

    /// Refuses a path that leads nowhere in a plan that was set along it: such a field is lost.
    pub(crate) fn refuse_unknown(&self, plan: &BenchPlan) -> Result<(), SweepError> {
        let Self::Field(path) = self else { return Ok(()) };
        let document = plan.to_json();
        path.find(&document).map(drop).ok_or_else(|| path.unknown(&document))
    }

    /// Its value in a plan, if that is a number there.
    pub(crate) fn value_in(&self, plan: &BenchPlan) -> Option<f64> {
        match self {
            Self::Field(path) => path.find(&plan.to_json())?.as_f64(),
            Self::MaxConcurrency => plan.load.max_concurrency.map(|limit| limit.get() as f64),
            Self::RequestRate => plan.load.arrivals.mean_rate(),
        }
    }

    /// The shortest name that says what it is.
    pub fn short(&self) -> String {
        match self {
            Self::Field(path) => path.last().to_owned(),
            other => other.clone().into(),
        }
    }
}

/// The plan's arrivals at another rate.
fn rate(plan: &BenchPlan, value: &Value) -> Result<Value, SweepError> {
    let wrong = |why: String| SweepError::Value {
        knob: "request_rate".to_owned(),
        value: bare(value),
        why,
    };
    let infinite = (value == "inf").then_some(f64::INFINITY);
    let rate = infinite.or_else(|| value.as_f64());
    let rate = rate.ok_or_else(|| wrong("expected a number or inf".to_owned()))?;
    let arrivals = &plan.load.arrivals;
    if arrivals.is_trace() || matches!(arrivals, ArrivalSpec::Ramp { .. }) {
        return Err(wrong("the plan's arrivals have no rate to change".to_owned()));
    }
    let arrivals = arrivals.with_rate(rate).map_err(|error| wrong(error.to_string()))?;
    Ok(json!(arrivals))
}

/// Every side's settings with all of the next side's.
pub(super) fn cross(base: &BenchPlan, sides: &[Side]) -> Result<Vec<NamedPlan>, SweepError> {
    let steps = sides.iter().map(Side::settings).collect::<Result<Vec<_>, SweepError>>()?;
    let rows = crossed(&steps);
    let document = base.to_json();
    refuse_unknown(base, &document, sides)?;
    rows.iter().map(|row| changed(base, &document, row)).collect()
}

pub(crate) type Setting<'a> = (&'a Knob, &'a Value);

/// A row for every combination of the sides' steps, the last side's changing first. A step is a
/// list of settings, and a row has those of a step of each side.
pub fn crossed<T: Clone>(sides: &[Vec<Vec<T>>]) -> Vec<Vec<T>> {
    sides.iter().fold(vec![Vec::new()], |rows, steps| {
        let pairs = rows.iter().flat_map(|row| steps.iter().map(move |step| (row, step)));
        pairs.map(|(row, step)| [row.as_slice(), step].concat()).collect()
    })
}

impl Side {
    /// The settings of each of its steps.
    fn settings(&self) -> Result<Vec<Vec<Setting<'_>>>, SweepError> {
        let at = |step: usize| self.axes.iter().map(move |axis| (&axis.knob, &axis.values[step]));
        Ok((0..self.steps()?).map(|step| at(step).collect()).collect())
    }
}

/// A field of a plan is one that is in it, or that stays in it when it is set. One that is left
/// out where it says nothing new stays with one value or another.
fn refuse_unknown(base: &BenchPlan, document: &Value, sides: &[Side]) -> Result<(), SweepError> {
    for Axis { knob, values } in sides.iter().flat_map(|side| &side.axes) {
        let Knob::Field(path) = knob else { continue };
        let stays = |value| {
            let set = changed(base, document, &[(knob, value)]);
            set.is_ok_and(|named| path.find(&named.plan.to_json()).is_some())
        };
        if path.find(document).is_none() && !values.iter().any(stays) {
            return Err(path.unknown(document));
        }
    }
    Ok(())
}

/// A plan with other settings.
pub(crate) fn changed(
    base: &BenchPlan,
    document: &Value,
    row: &[Setting<'_>],
) -> Result<NamedPlan, SweepError> {
    let mut document = document.clone();
    for (knob, value) in row {
        let (path, new) = knob.edit(base, value)?;
        path.set(&mut document, new)?;
    }
    let plan = serde_json::from_value(document).map_err(|error| {
        let pairs = row.iter().map(|(knob, value)| format!("{}={}", knob.short(), bare(value)));
        SweepError::Unreadable {
            settings: pairs.collect::<Vec<_>>().join(","),
            source: Arc::new(error),
        }
    })?;
    Ok(NamedPlan::new(names(row), plan))
}

/// Short names, unless two of them were the same.
fn names(row: &[Setting<'_>]) -> Vec<(String, Value)> {
    let is_shared = |name: &str| row.iter().filter(|(knob, _)| knob.short() == name).count() > 1;
    let name = |knob: &Knob| {
        let short = knob.short();
        if is_shared(&short) { knob.clone().into() } else { short }
    };
    row.iter().map(|(knob, value)| (name(knob), (*value).clone())).collect()
}
