//! evalscope's report of a search for the largest load that meets the criteria: two tables and a
//! summary.

use std::io;

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_pyjson::{Style, Text, to_string};

use crate::boxes::{Align, Boxed, Frame};

/// The runs at one load of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvalscopeProbe {
    /// Load of the runs: the value of the search's variable.
    pub load: u32,
    /// `benchmark_summary.json` and `benchmark_percentile.json` of each run.
    runs: Vec<(JsonObject, Vec<JsonObject>)>,
    /// Whether each group of criteria holds.
    pub groups: Vec<bool>,
    /// Reasons for which the runs count as failed.
    pub reasons: Vec<String>,
}

/// The load that a search selected for a set of criteria.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalscopeSelection {
    /// Criteria: the name of a metric and its required value.
    pub criteria: Vec<(String, String)>,
    /// Selected load; `None` if no load meets the criteria.
    pub load: Option<u32>,
    /// Reason for the selection, or for selecting none.
    pub reason: String,
}

impl EvalscopeProbe {
    /// Returns the probe of a load from the summaries and percentiles of its runs, with a reason
    /// for each run in which requests failed.
    pub fn new(load: u32, runs: Vec<(JsonObject, Vec<JsonObject>)>) -> Self {
        let mut probe = Self { load, runs, ..Self::default() };
        let counts = probe.runs.iter().map(|(summary, _)| counts(summary)).enumerate();
        let short = counts.filter(|(_, (good, all))| good != all || *all == 0);
        probe.reasons = short
            .map(|(run, (good, all))| format!("run {}: {good}/{all} requests succeeded", run + 1))
            .collect();
        probe
    }

    /// Returns whether there are requests and all of them succeeded.
    pub fn is_whole(&self) -> bool {
        let (good, all) = self.requests();
        good == all && all > 0
    }

    /// Returns the mean over the runs of a field of the summary, or of a percentile; `None` if a
    /// run lacks it.
    pub fn mean(&self, field: &str, percentile: Option<&str>) -> Option<f64> {
        let values = self.runs.iter().map(|run| number(run, field, percentile));
        let values = values.collect::<Option<Vec<f64>>>()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Returns the number of successful requests and of all requests.
    fn requests(&self) -> (u64, u64) {
        let counts = self.runs.iter().map(|(summary, _)| counts(summary));
        counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    }

    /// Returns the means of all numbers of the summaries, except that counts are summed, and the
    /// means of the percentiles.
    fn json(&self) -> Value {
        let Some((summary, _)) = self.runs.first() else { return Value::Null };
        let of = |key: &String| {
            let values = self.runs.iter().filter_map(|(run, _)| run.get(key)?.as_f64());
            let sum: f64 = values.sum();
            let is_count = COUNTS.contains(&key.as_str());
            (
                key.clone(),
                if is_count { json!(sum as i64) } else { json!(sum / self.runs.len() as f64) },
            )
        };
        let numbers = summary.iter().filter(|(_, value)| value.is_number());
        let metrics: JsonObject = numbers.map(|(key, _)| of(key)).collect();
        json!({"metrics": metrics, "percentiles": self.columns()})
    }

    /// Returns the means of the percentiles, as a list per metric.
    fn columns(&self) -> JsonObject {
        let Some((_, rows)) = self.runs.first() else { return JsonObject::new() };
        let keys = rows.first().into_iter().flat_map(JsonObject::keys);
        let column = |key: &String| {
            let cell = |row: usize| match rows[row].get(key) {
                Some(label @ Value::String(_)) => label.clone(),
                _ => self.cell(row, key).map_or(Value::Null, Value::from),
            };
            (key.clone(), (0..rows.len()).map(cell).collect())
        };
        keys.map(column).collect()
    }

    fn cell(&self, row: usize, key: &str) -> Option<f64> {
        let values = self.runs.iter().map(|(_, rows)| rows.get(row)?.get(key)?.as_f64());
        let values = values.collect::<Option<Vec<f64>>>()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    fn row(&self) -> Vec<String> {
        let (good, all) = self.requests();
        let held = (1..).zip(&self.groups);
        let groups =
            held.map(|(group, holds)| format!("{group}:{}", if *holds { "PASS" } else { "FAIL" }));
        let status = if self.reasons.is_empty() { "VALID" } else { "FAILED" };
        vec![
            self.load.to_string(),
            format!("{good}/{all}"),
            status.to_owned(),
            or_dash(&groups.collect::<Vec<_>>()),
            or_dash(&self.reasons),
        ]
    }
}

impl EvalscopeSelection {
    /// Returns the selection of a load, or of none, by the given criteria.
    pub fn new(
        criteria: Vec<(String, String)>,
        load: Option<u32>,
        reason: impl Into<String>,
    ) -> Self {
        Self { criteria, load, reason: reason.into() }
    }

    fn row(&self) -> Vec<String> {
        let criteria = self.criteria.iter().map(|(name, goal)| format!("{name} {goal}"));
        vec![
            criteria.collect::<Vec<_>>().join(", "),
            self.load.map_or_else(|| "None".to_owned(), |load| load.to_string()),
            if self.load.is_some() { "best_observed" } else { "none" }.to_owned(),
            self.reason.clone(),
        ]
    }
}

/// Writes the table of loads that were tried and the table of selections.
pub fn write_evalscope_search(
    probes: &[EvalscopeProbe],
    selections: &[EvalscopeSelection],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let left = |head| (head, Align::Left);
    let mut tried = Boxed::new([
        ("Pressure", Align::Right),
        left("Succeeded/Total"),
        left("Run status"),
        left("Groups"),
        left("Reason"),
    ]);
    for probe in probes {
        tried.row(probe.row());
    }
    let are_numbers = selections.iter().all(|selection| selection.load.is_some());
    let side = if are_numbers { Align::Right } else { Align::Left };
    let mut chosen =
        Boxed::new([left("Criteria"), ("Selected", side), left("Status"), left("Reason")]);
    for selection in selections {
        chosen.row(selection.row());
    }
    writeln!(out, "Probes:")?;
    tried.write(&Frame::OUTLINE_GRID, out)?;
    writeln!(out, "\nSelections:")?;
    chosen.write(&Frame::OUTLINE_GRID, out)
}

/// Returns `sla_summary.json`: the means at each load, in the order in which loads were tried.
pub fn evalscope_search_json(variable: &str, probes: &[EvalscopeProbe]) -> String {
    let entry = |probe: &EvalscopeProbe| (format!("{variable}_{}", probe.load), probe.json());
    let all: JsonObject = probes.iter().map(entry).collect();
    to_string(&Value::Object(all), Style::new(Text::Ascii, Some(4))).unwrap_or_default()
}

fn or_dash(items: &[String]) -> String {
    if items.is_empty() { "-".to_owned() } else { items.join(", ") }
}

fn counts(summary: &JsonObject) -> (u64, u64) {
    let of = |key: &str| summary.get(key).and_then(Value::as_u64).unwrap_or_default();
    (of("Success Requests"), of("Total Requests"))
}

fn number(
    (summary, rows): &(JsonObject, Vec<JsonObject>),
    field: &str,
    percentile: Option<&str>,
) -> Option<f64> {
    let Some(percentile) = percentile else { return summary.get(field)?.as_f64() };
    let row =
        rows.iter().find(|row| row.get("Percentiles").is_some_and(|label| label == percentile));
    row?.get(field)?.as_f64()
}

const COUNTS: [&str; 5] = [
    "Total Requests",
    "Success Requests",
    "Failed Requests",
    "Stream Requests",
    "Non-Stream Requests",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn run(good: u64, all: u64, ttft: f64) -> (JsonObject, Vec<JsonObject>) {
        let summary =
            json!({"Total Requests": all, "Success Requests": good, "Avg TTFT (ms)": ttft});
        let rows = json!([{"Percentiles": "99%", "TTFT (ms)": ttft * 2.0}]);
        (serde_json::from_value(summary).unwrap(), serde_json::from_value(rows).unwrap())
    }

    fn selection(criteria: &[&str; 2], load: Option<u32>, reason: &str) -> EvalscopeSelection {
        let [name, goal] = criteria.map(str::to_owned);
        EvalscopeSelection::new(vec![(name, goal)], load, reason)
    }

    fn search_text(probes: &[EvalscopeProbe], selections: &[EvalscopeSelection]) -> String {
        let mut out = Vec::new();
        write_evalscope_search(probes, selections, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Expected tables are recorded from tabulate 0.10.
    #[test]
    fn tables_are_the_peers() {
        let mut good = EvalscopeProbe::new(4, vec![run(8, 8, 10.0)]);
        good.groups = vec![true];
        let mut bad = EvalscopeProbe::new(8, vec![run(15, 16, 10.0)]);
        bad.groups = vec![false];
        let chosen = "Satisfied at the selected tested pressure";
        let selections = [selection(&["avg_ttft", "<= 40 ms"], Some(4), chosen)];
        let expected = "\
Probes:
┌────────────┬───────────────────┬──────────────┬──────────┬─────────────────────────────────┐
│   Pressure │ Succeeded/Total   │ Run status   │ Groups   │ Reason                          │
├────────────┼───────────────────┼──────────────┼──────────┼─────────────────────────────────┤
│          4 │ 8/8               │ VALID        │ 1:PASS   │ -                               │
├────────────┼───────────────────┼──────────────┼──────────┼─────────────────────────────────┤
│          8 │ 15/16             │ FAILED       │ 1:FAIL   │ run 1: 15/16 requests succeeded │
└────────────┴───────────────────┴──────────────┴──────────┴─────────────────────────────────┘

Selections:
┌───────────────────┬────────────┬───────────────┬───────────────────────────────────────────┐
│ Criteria          │   Selected │ Status        │ Reason                                    │
├───────────────────┼────────────┼───────────────┼───────────────────────────────────────────┤
│ avg_ttft <= 40 ms │          4 │ best_observed │ Satisfied at the selected tested pressure │
└───────────────────┴────────────┴───────────────┴───────────────────────────────────────────┘
";
        assert_eq!(search_text(&[good, bad], &selections), expected);
    }

    #[test]
    fn means_are_over_runs_and_counts_are_summed() {
        let probe = EvalscopeProbe::new(2, vec![run(4, 4, 10.0), run(4, 4, 20.0)]);
        assert_eq!(probe.mean("Avg TTFT (ms)", None), Some(15.0));
        assert_eq!(probe.mean("TTFT (ms)", Some("99%")), Some(30.0));
        assert_eq!(probe.mean("Avg TPOT (ms)", None), None);
        assert!(probe.is_whole());
        let json: Value =
            serde_json::from_str(&evalscope_search_json("parallel", &[probe])).unwrap();
        let expected = json!({"parallel_2": {
            "metrics": {"Total Requests": 8, "Success Requests": 8, "Avg TTFT (ms)": 15.0},
            "percentiles": {"Percentiles": ["99%"], "TTFT (ms)": [30.0]},
        }});
        assert_eq!(json, expected);
    }
}
