//! evalscope's search for the largest load that meets the criteria.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use servemark::plan::{Bracket, largest, peak};
use servemark::report::{
    EvalscopeProbe, EvalscopeRun, EvalscopeSelection, evalscope_search_json, write_evalscope_search,
};
use servemark::{ExecuteError, ExitCode, RunContext};
use servemark_cli::{Consumed, EvalscopeRuns, SlaCriterion, SlaGoal, SlaSearch};

use super::{Reported, make_folders, report, run_one, summarize};
use crate::documents::RunsDocument;
use crate::rewrite::{self, Rewrite};
use crate::screen;

/// Runs a search and reports the loads tried and the selections. An interrupted search reports what
/// it has.
pub(super) fn search(
    requested: &EvalscopeRuns,
    search: &SlaSearch,
    context: &RunContext,
) -> anyhow::Result<ExitCode> {
    let mut tuner = Tuner::new(requested, search, context);
    let searched = tuner.search();
    if !tuner.probes.is_empty() {
        rewrite::both(&searched, tuner.print_report())?;
    }
    searched
}

/// Runs the loads of a search and stores their results.
struct Tuner<'a> {
    requested: &'a EvalscopeRuns,
    search: &'a SlaSearch,
    context: &'a RunContext,
    used: Consumed,
    probes: Vec<EvalscopeProbe>,
    selections: Vec<EvalscopeSelection>,
    /// Mean of the runs at each load.
    means: Vec<EvalscopeRun>,
    logs: Vec<Option<PathBuf>>,
    document: RunsDocument,
    worst: ExitCode,
}

impl<'a> Tuner<'a> {
    fn new(requested: &'a EvalscopeRuns, search: &'a SlaSearch, context: &'a RunContext) -> Self {
        Self {
            requested,
            search,
            context,
            used: Consumed::default(),
            probes: Vec::new(),
            selections: Vec::new(),
            means: Vec::new(),
            logs: Vec::new(),
            document: RunsDocument::new(requested.first.prints_document()),
            worst: ExitCode::Ok,
        }
    }

    /// Makes a selection for each group of criteria, or for the metric to optimize.
    fn search(&mut self) -> anyhow::Result<ExitCode> {
        let groups = &self.search.groups;
        let best = groups[0].first().filter(|criterion| criterion.goal.is_best());
        let only = best.map(|criterion| self.best(criterion)).transpose()?;
        self.selections.extend(only);
        for group in groups.iter().filter(|_| best.is_none()) {
            let selection = self.largest(group)?;
            self.selections.push(selection);
        }
        // That no load meets the criteria is a result, as in evalscope; the table of selections
        // shows it.
        Ok(self.worst)
    }

    /// Prints the report of all loads and of the search.
    fn print_report(mut self) -> anyhow::Result<()> {
        let document = self.write(Rewrite::Whole);
        let reported = report(self.requested, &self.means);
        let tables =
            screen::text(|out| write_evalscope_search(&self.probes, &self.selections, out))?;
        screen::print(&format!("\nSLA Auto-tune Summary:\n{tables}"));
        let selections = self.selections.iter().map(selected).collect();
        self.document.print_with(Map::from_iter([("selections".to_owned(), selections)]));
        let written = rewrite::both(&document, reported).and(document);
        rewrite::with_logs(written, self.logs.iter().map(Option::as_deref), "--as evalscope")
    }

    /// Writes the loads that were tried, with the criteria that each meets.
    fn write(&mut self, rewrite: Rewrite) -> anyhow::Result<()> {
        let groups = &self.search.groups;
        for probe in &mut self.probes {
            probe.groups = groups.iter().map(|group| meets_criteria(probe, group)).collect();
        }
        let path = self.requested.folder.join("sla_summary.json");
        let document = evalscope_search_json(self.search.variable.as_str(), &self.probes);
        rewrite.file(&path, "the search", &document)
    }

    /// Finds the largest load at which all criteria of a group hold.
    fn largest(&mut self, group: &[SlaCriterion]) -> anyhow::Result<EvalscopeSelection> {
        let range = self.search.range;
        let Bracket { holds: found, .. } =
            largest(&range, |load| anyhow::Ok(meets_criteria(self.probe(load)?, group)))?;
        let reason = match found {
            Some(_) => "Satisfied at the selected tested pressure".to_owned(),
            None => format!("Failed at lower bound ({})", range.lower),
        };
        let criteria = group.iter().map(name_and_text).collect();
        Ok(EvalscopeSelection::new(criteria, found.map(whole), reason))
    }

    /// Finds the load with the best value of a metric; the smallest one if several are equal.
    fn best(&mut self, criterion: &SlaCriterion) -> anyhow::Result<EvalscopeSelection> {
        let range = self.search.range;
        peak(&range, |load| anyhow::Ok(score(self.probe(load)?, criterion)))?;
        let scores =
            self.probes.iter().filter_map(|probe| Some((score(probe, criterion)?, probe.load)));
        let best =
            scores.min_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        let name = criterion.metric.name;
        let reason = match best {
            Some((score, _)) => format!("Best observed {name}: {}", short_number(score.abs())),
            None => "No run passed the 100% success gate with the required metric".to_owned(),
        };
        let criteria = vec![name_and_text(criterion)];
        Ok(EvalscopeSelection::new(criteria, best.map(|(_, load)| load), reason))
    }

    /// Returns the results at a load; runs it if there are none yet.
    fn probe(&mut self, load: f64) -> anyhow::Result<&EvalscopeProbe> {
        let load = whole(load);
        let known = self.probes.iter().position(|probe| probe.load == load);
        let place = match known {
            Some(place) => place,
            None => self.try_out(load)?,
        };
        Ok(&self.probes[place])
    }

    /// Runs a load. Returns its index among the probes.
    fn try_out(&mut self, load: u32) -> anyhow::Result<usize> {
        let (runs, used) = self.requested.probe(self.search, load, &self.used)?;
        make_folders(&runs)?;
        let mut done = Vec::new();
        for run in servemark::Sweep::open(&runs, None, self.context)? {
            let run = run?;
            let (reported, code) = run_one(self.requested, &run, &mut self.document)?;
            self.logs.push(run.run.run_log);
            done.push(reported);
            self.worst = self.worst.max(code?);
        }
        if done.len() < self.search.runs as usize {
            return Err(ExecuteError::Interrupted.into());
        }
        self.used = used;
        let documents = done.iter().map(Reported::documents).collect::<anyhow::Result<_>>()?;
        self.probes.push(EvalscopeProbe::new(load, documents));
        let runs: Vec<EvalscopeRun> = done.into_iter().map(|reported| reported.run).collect();
        self.means.extend(EvalscopeRun::mean(&runs));
        self.write(Rewrite::SoFar)?;
        summarize(self.requested, &self.means, Rewrite::SoFar)?;
        Ok(self.probes.len() - 1)
    }
}

/// Returns whether all criteria hold at a load and no request of its runs failed.
fn meets_criteria(probe: &EvalscopeProbe, group: &[SlaCriterion]) -> bool {
    let holds = |criterion: &SlaCriterion| {
        value(probe, criterion).is_some_and(|value| criterion.goal.is_met(value))
    };
    probe.is_whole() && group.iter().all(holds)
}

/// Returns a score that is larger for a better metric; `None` if a request failed.
fn score(probe: &EvalscopeProbe, criterion: &SlaCriterion) -> Option<f64> {
    let value = value(probe, criterion).filter(|_| probe.is_whole())?;
    Some(if criterion.goal == SlaGoal::Min { -value } else { value })
}

fn value(probe: &EvalscopeProbe, criterion: &SlaCriterion) -> Option<f64> {
    probe.mean(criterion.metric.field, criterion.metric.percentile)
}

/// Returns a selection as an entry of the document.
fn selected(selection: &EvalscopeSelection) -> Value {
    let criteria: Vec<String> =
        selection.criteria.iter().map(|(name, text)| format!("{name} {text}")).collect();
    json!({"criteria": criteria, "load": selection.load, "reason": selection.reason})
}

fn name_and_text(criterion: &SlaCriterion) -> (String, String) {
    (criterion.metric.name.to_owned(), criterion.text())
}

/// Formats a number with at most four decimals, without trailing zeros.
fn short_number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[expect(clippy::cast_sign_loss, reason = "a load is one or more")]
fn whole(load: f64) -> u32 {
    load as u32
}
