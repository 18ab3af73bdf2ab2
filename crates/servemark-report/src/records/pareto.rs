//! The Pareto frontier of throughput per user and throughput per GPU.

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_pyjson::repr;

use super::{Records, RecordsError, number, python_str};
use crate::chart::{Axis, Curve, Figure, Mark, Panel};
use crate::frontier;

/// The keys of a run that hold its number of users and of GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParetoSpec {
    /// Key of the number of users. Without it, or if its value is zero, the request rate is used,
    /// and then the peak number of requests in flight.
    pub users: Option<String>,
    /// Key of the number of GPUs. Without it, or if its value is zero, the product of tensor,
    /// pipeline and data parallelism is used.
    pub gpus: Option<String>,
    /// Keys whose values are written beside the runs on the frontier.
    pub label_by: Vec<String>,
}

/// Runs with their throughput per user and per GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    records: Records,
    skipped: usize,
}

impl ParetoSpec {
    /// Computes the throughput per user and per GPU of each run. Runs without a number of users are
    /// left out.
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
    /// Returns the runs, with throughput per user and per GPU added.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Returns the number of runs that were left out.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Returns the indices of the runs on the Pareto frontier, sorted by throughput per user.
    pub fn frontier(&self) -> Vec<usize> {
        let sides: Vec<(f64, f64)> = self.records.rows.iter().map(sides).collect();
        let mut best = frontier(&sides, |sides| *sides);
        best.sort_by(|one, other| sides[*one].0.total_cmp(&sides[*other].0));
        best
    }

    /// Returns the figure, with the labels of `spec` beside the runs on the frontier.
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

/// Returns the number under the first key that a run has; each key is also tried with `-` for `_`
/// and the reverse.
fn numeric(run: &JsonObject, keys: &[&str]) -> Result<Option<f64>, RecordsError> {
    let spelled = |key: &&str| [(*key).to_owned(), key.replace('_', "-"), key.replace('-', "_")];
    let mut found = keys.iter().flat_map(spelled).filter_map(|key| Some((run.get(&key)?, key)));
    let Some((value, key)) = found.next().filter(|(value, _)| !value.is_null()) else {
        return Ok(None);
    };
    let read = number(value).or_else(|| value.as_str()?.trim().parse().ok());
    let wrong = || RecordsError::NotANumber { key, value: python_str(value) };
    read.map(Some).ok_or_else(wrong)
}

/// Returns a number as JSON. Infinities, which JSON lacks, become text, as in vLLM's files.
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
