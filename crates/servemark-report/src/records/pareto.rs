//! What a user gets over what a GPU gives, and the runs that no other one beats at both.

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_pyjson::repr;

use super::{Records, RecordsError, number, shown};
use crate::chart::{Axis, Curve, Figure, Mark, Panel};
use crate::frontier;

/// Where runs tell how many users and GPUs they had.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ParetoSpec {
    /// The key of the number of users; without one, or where it is zero, the request rate, and
    /// without that the most requests that were in flight.
    pub users: Option<String>,
    /// The key of the number of GPUs; without one, or where it is zero, the product of the sizes
    /// of tensor, pipeline and data parallelism.
    pub gpus: Option<String>,
    /// What is written beside the best runs.
    pub label_by: Vec<String>,
}

/// Runs with what a user and a GPU have of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    records: Records,
    skipped: usize,
}

impl ParetoSpec {
    /// Works out what a user and a GPU have of each run. Runs without users are left out.
    pub fn prepare(&self, records: &Records) -> Result<Pareto, RecordsError> {
        let (mut rows, mut skipped) = (Vec::new(), 0);
        for run in &records.rows {
            let tokens = numeric(run, &["output_throughput"])?
                .ok_or_else(|| RecordsError::no_metric("output_throughput", run))?;
            let Some(users) = self.users(run)? else {
                skipped += 1;
                continue;
            };
            let gpus = self.gpus(run)?;
            let mut row = run.clone();
            for (key, value) in [
                (PER_USER, tokens / users),
                (PER_GPU, tokens / gpus),
                ("user_count_estimate", users),
                ("gpu_count", gpus),
            ] {
                row.insert(key.to_owned(), exact(value));
            }
            rows.push(row);
        }
        Ok(Pareto { records: Records::new(rows), skipped })
    }

    fn users(&self, run: &JsonObject) -> Result<Option<f64>, RecordsError> {
        let asked = self.users.as_deref();
        let wanted: Vec<&str> = asked.into_iter().chain(["request_rate"]).collect();
        match numeric(run, &wanted)?.filter(|users| *users != 0.0) {
            Some(users) => Ok(Some(users)),
            None => Ok(numeric(run, &["max_concurrent_requests"])?.filter(|users| *users != 0.0)),
        }
    }

    fn gpus(&self, run: &JsonObject) -> Result<f64, RecordsError> {
        let asked: Vec<&str> = self.gpus.as_deref().into_iter().collect();
        if let Some(gpus) = numeric(run, &asked)?.filter(|gpus| *gpus != 0.0) {
            return Ok(gpus);
        }
        let mut world = 1.0;
        for names in SIZES {
            world *= numeric(run, &names)?.filter(|size| *size != 0.0).unwrap_or(1.0);
        }
        Ok(world)
    }
}

impl Pareto {
    /// The runs, each with what a user and a GPU have of it.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// How many runs were left out.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// The runs that no other one beats at both, by what a user has of them.
    pub fn frontier(&self) -> Vec<usize> {
        let sides: Vec<(f64, f64)> = self.records.rows.iter().map(sides).collect();
        let mut best = frontier(&sides, |sides| *sides);
        best.sort_by(|one, other| sides[*one].0.total_cmp(&sides[*other].0));
        best
    }

    /// The figure, with some values beside the best runs.
    pub fn figure(&self, spec: &ParetoSpec) -> Figure {
        let mark = |run: &JsonObject| {
            let (x, y) = sides(run);
            Mark::at(x, y)
        };
        let all = self.records.rows.iter().map(mark).collect();
        let best = self.frontier().into_iter().map(|index| {
            let run = &self.records.rows[index];
            mark(run).labelled(self.label(run, spec))
        });
        let curves =
            vec![Curve::dots("All runs", all), Curve::line("Pareto frontier", 0, best.collect())];
        let (x, y) = (Axis::even("Tokens/s/user"), Axis::even("Tokens/s/GPU"));
        Figure::new(vec![vec![Panel::new("", x, y, curves)]])
    }

    fn label(&self, run: &JsonObject, spec: &ParetoSpec) -> String {
        let columns = self.records.columns();
        let known = spec.label_by.iter().filter(|key| columns.contains(&key.as_str()));
        let pair = |key: &String| {
            let text = self.records.kind(key).text(run.get(key).filter(|value| !value.is_null()));
            format!("{key}={}", text.unwrap_or_else(|| "nan".to_owned()))
        };
        known.map(pair).collect::<Vec<_>>().join("\n")
    }
}

fn sides(run: &JsonObject) -> (f64, f64) {
    let side = |key| run.get(key).and_then(number).unwrap_or_default();
    (side(PER_USER), side(PER_GPU))
}

/// The number of the first key that a run has, however its words are parted.
fn numeric(run: &JsonObject, keys: &[&str]) -> Result<Option<f64>, RecordsError> {
    let spelled = |key: &&str| [(*key).to_owned(), key.replace('_', "-"), key.replace('-', "_")];
    let mut found = keys.iter().flat_map(spelled).filter_map(|key| Some((run.get(&key)?, key)));
    let Some((value, key)) = found.next().filter(|(value, _)| !value.is_null()) else {
        return Ok(None);
    };
    let read = number(value).or_else(|| value.as_str()?.trim().parse().ok());
    let wrong = || RecordsError::NotANumber { key, value: shown(value) };
    read.map(Some).ok_or_else(wrong)
}

/// JSON has no infinities: they are text, as vLLM writes them.
fn exact(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(repr(value)) }
}

const PER_USER: &str = "tokens_per_user";
const PER_GPU: &str = "tokens_per_gpu";
const SIZES: [[&str; 2]; 3] = [
    ["tensor_parallel_size", "tp"],
    ["pipeline_parallel_size", "pp"],
    ["data_parallel_size", "dp"],
];
