//! Settings of a plan that change from point to point.

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

/// A setting of a plan, and the values that it takes in order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    #[serde(rename = "knob")]
    setting: SweptSetting,
    values: Vec<Value>,
}

/// A setting of a plan that can be changed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "String", into = "String")]
pub enum SweptSetting {
    /// Any field, by its path.
    Field(PlanPath),
    /// Largest number of requests in flight; `inf` for no limit.
    MaxConcurrency,
    /// Number of requests that arrive per second, by the plan's arrival process; `inf` for all at
    /// once.
    RequestRate,
}

impl Side {
    /// Creates a side of one axis.
    pub fn of(axis: Axis) -> Self {
        Self { axes: vec![axis] }
    }

    /// Creates a side of axes with equally many values: the first values of all axes, then the
    /// second ones.
    pub fn together(axes: impl IntoIterator<Item = Axis>) -> Self {
        Self { axes: axes.into_iter().collect() }
    }

    /// Returns the number of steps of the side.
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
    /// Creates an axis from the name of a setting and its values. The name is `max_concurrency`,
    /// `request_rate`, or the path of a field.
    pub fn new<T: Into<Value>>(
        setting: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Result<Self, SweepError> {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        if values.is_empty() {
            return Err(SweepError::NoValues { setting: setting.to_owned() });
        }
        Ok(Self { setting: setting.to_owned().into(), values })
    }
}

impl From<String> for SweptSetting {
    fn from(name: String) -> Self {
        match name.replace('-', "_").as_str() {
            "max_concurrency" => Self::MaxConcurrency,
            "rate" | "request_rate" => Self::RequestRate,
            _ => Self::Field(PlanPath::new(&name)),
        }
    }
}

impl From<SweptSetting> for String {
    fn from(setting: SweptSetting) -> Self {
        match setting {
            SweptSetting::Field(path) => path.to_string(),
            SweptSetting::MaxConcurrency => "max_concurrency".to_owned(),
            SweptSetting::RequestRate => "request_rate".to_owned(),
        }
    }
}

impl SweptSetting {
    /// Returns the field that the setting changes, and its new value.
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

    /// Refuses a field that is missing from `plan` although it was set: reading the plan dropped
    /// it.
    pub(crate) fn refuse_unknown(&self, plan: &BenchPlan) -> Result<(), SweepError> {
        let Self::Field(path) = self else { return Ok(()) };
        let document = plan.to_json();
        path.find(&document).map(drop).ok_or_else(|| path.unknown(&document))
    }

    /// Returns the setting's value in a plan, if it is a number.
    pub(crate) fn value_in(&self, plan: &BenchPlan) -> Option<f64> {
        match self {
            Self::Field(path) => path.find(&plan.to_json())?.as_f64(),
            Self::MaxConcurrency => plan.load.max_concurrency.map(|limit| limit.get() as f64),
            Self::RequestRate => plan.load.arrivals.mean_rate(),
        }
    }

    /// Returns the shortest name that identifies the setting.
    pub fn short(&self) -> String {
        match self {
            Self::Field(path) => path.last().to_owned(),
            other => other.clone().into(),
        }
    }
}

/// Returns the plan's arrivals at another rate.
fn rate(plan: &BenchPlan, value: &Value) -> Result<Value, SweepError> {
    let wrong = |why: String| SweepError::Value {
        setting: "request_rate".to_owned(),
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

/// Returns plans for all combinations of the sides' settings.
pub(super) fn cross(base: &BenchPlan, sides: &[Side]) -> Result<Vec<NamedPlan>, SweepError> {
    let steps = sides.iter().map(Side::settings).collect::<Result<Vec<_>, SweepError>>()?;
    let rows = crossed(&steps);
    let document = base.to_json();
    refuse_unknown(base, &document, sides)?;
    rows.iter().map(|row| changed(base, &document, row)).collect()
}

pub(crate) type Setting<'a> = (&'a SweptSetting, &'a Value);

/// Returns a row for every combination of the sides' steps; the last side changes fastest. A step
/// is a list of settings, and a row contains the settings of one step of each side.
pub fn crossed<T: Clone>(sides: &[Vec<Vec<T>>]) -> Vec<Vec<T>> {
    sides.iter().fold(vec![Vec::new()], |rows, steps| {
        let pairs = rows.iter().flat_map(|row| steps.iter().map(move |step| (row, step)));
        pairs.map(|(row, step)| [row.as_slice(), step].concat()).collect()
    })
}

impl Side {
    /// Returns the settings of each step of the side.
    fn settings(&self) -> Result<Vec<Vec<Setting<'_>>>, SweepError> {
        let at =
            |step: usize| self.axes.iter().map(move |axis| (&axis.setting, &axis.values[step]));
        Ok((0..self.steps()?).map(|step| at(step).collect()).collect())
    }
}

/// Refuses axes whose path names no field of the plan. A field exists if the document contains it,
/// or keeps it when it is set: a field that the document omits at its default appears at some other
/// value.
fn refuse_unknown(base: &BenchPlan, document: &Value, sides: &[Side]) -> Result<(), SweepError> {
    for Axis { setting, values } in sides.iter().flat_map(|side| &side.axes) {
        let SweptSetting::Field(path) = setting else { continue };
        let stays = |value| {
            let set = changed(base, document, &[(setting, value)]);
            set.is_ok_and(|named| path.find(&named.plan.to_json()).is_some())
        };
        if path.find(document).is_none() && !values.iter().any(stays) {
            return Err(path.unknown(document));
        }
    }
    Ok(())
}

/// Returns a plan with other settings.
pub(crate) fn changed(
    base: &BenchPlan,
    document: &Value,
    row: &[Setting<'_>],
) -> Result<NamedPlan, SweepError> {
    let mut document = document.clone();
    for (setting, value) in row {
        let (path, new) = setting.edit(base, value)?;
        path.set(&mut document, new)?;
    }
    let plan = BenchPlan::from_json(document).map_err(|error| {
        let pairs =
            row.iter().map(|(setting, value)| format!("{}={}", setting.short(), bare(value)));
        SweepError::Unreadable {
            settings: pairs.collect::<Vec<_>>().join(","),
            source: Arc::new(error),
        }
    })?;
    Ok(NamedPlan::new(names(row), plan))
}

/// Returns the settings with short names, or with full names where short ones would be equal.
fn names(row: &[Setting<'_>]) -> Vec<(String, Value)> {
    let is_shared =
        |name: &str| row.iter().filter(|(setting, _)| setting.short() == name).count() > 1;
    let name = |setting: &SweptSetting| {
        let short = setting.short();
        if is_shared(&short) { setting.clone().into() } else { short }
    };
    row.iter().map(|(setting, value)| (name(setting), (*value).clone())).collect()
}
