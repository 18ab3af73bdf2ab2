//! Comparison of two servers measured in turn, and repeated runs against one server.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use serde_json::json;
use servemark::core::IfDamaged;
use servemark::metrics::{Figure, MetricPolicy};
use servemark::report::{comparison_json, write_changes};
use servemark::{
    Ab, AbServers, ExitCode, NoiseStore, PointRunner, RunContext, compare_for_page, replace_file,
};
use servemark_cli::AbRuns;

use crate::{context, documents, failures, results_folder, screen};

/// Measures two servers in turn and compares them.
pub(crate) fn ab(runs: &AbRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = context::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let folder = results_folder::create(&runs.folder)?;
    let (ab, ended) = make_runs(runs, &folder, &context)?;
    let [before, after] = ab.run_logs();
    if before.is_empty() {
        return ended.map(|()| ab.exit_code());
    }
    let policy = MetricPolicy::native();
    let sides = [&before[..], &after];
    let compared = compare_for_page(sides, &Figure::compared(), &policy, IfDamaged::Refuse)?;
    let known = ab.estimates();
    let mut document = comparison_json(&compared.comparison, &compared.sides, &[]);
    document["schema"] = json!("servemark/ab/1");
    document["until"] = json!(known);
    let document = format!("{document:#}\n");
    if runs.json {
        screen::print_document(&document);
    }
    let (comparison, columns) = (&compared.comparison, screen::columns());
    let table = screen::text(|out| write_changes(comparison, &compared.sides, columns, out))?;
    screen::print(&table);
    for known in &known {
        let mark = if known.is_known { "" } else { "error: --until: " };
        screen::eprint_line(&format!("{mark}{known}"));
    }
    let mut page = Vec::new();
    compared.write_page(&mut page)?;
    replace_file(&folder.join("report.html"), &page)?;
    documents::keep(&folder, &document)?;
    results_folder::announce(Some(&folder));
    ended?;
    let is_judged = compared.comparison.is_judged;
    if !is_judged {
        screen::eprint_line(
            "error: changes are not judged, because the client of a run was suspect or client-limited; \
             servemark compare --force --before … --after … judges these run logs",
        );
    }
    Ok(if is_judged { ab.exit_code() } else { ab.exit_code().max(ExitCode::Undecided) })
}

/// Measures one server several times and stores the spread of the results.
pub(crate) fn noise(runs: &AbRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = context::prepare(&runs.first)? else { return Ok(ExitCode::Ok) };
    let folder = results_folder::create(&runs.folder)?;
    let (ab, ended) = make_runs(runs, &folder, &context)?;
    let spreads = ab.spreads();
    let Some(header) = ab.header().filter(|_| !spreads.is_empty()) else {
        return ended.map(|()| ab.exit_code());
    };
    let document = json!({"schema": "servemark/noise/1", "spreads": spreads});
    let document = format!("{document:#}\n");
    if runs.json {
        screen::print_document(&document);
    }
    let mut table = format!("{:<34} {:>12} {:>12}\n", "Between runs", "mean", "spread");
    for spread in &spreads {
        let figure = spread.figure.to_string();
        let _ = writeln!(table, "{figure:<34} {:>12.3} {:>10.2} %", spread.mean, spread.percent);
    }
    screen::print(&table);
    let mut page = Vec::new();
    ab.write_repeats(&mut page)?;
    replace_file(&folder.join("report.html"), &page)?;
    documents::keep(&folder, &document)?;
    results_folder::announce(Some(&folder));
    ended?;
    if ab.exit_code() == ExitCode::Ok
        && let Some(path) = &runs.store
    {
        let store = NoiseStore::at(path);
        let kept = store.keep(header, &spreads);
        kept.with_context(|| format!("cannot keep the spread in {}", path.display()))?;
        screen::eprint_line(&format!("Saved in {}", path.display()));
    }
    Ok(ab.exit_code())
}

/// Makes the missing runs and prints the result of each. If a run fails, the runs before it are
/// returned with its error.
fn make_runs<'a>(
    runs: &AbRuns,
    folder: &Path,
    context: &'a RunContext,
) -> anyhow::Result<(Ab<PointRunner<'a>>, anyhow::Result<()>)> {
    let servers = match (&runs.spec.urls[..], &runs.commands) {
        ([a, b], [a_command, b_command]) if a_command.is_some() || b_command.is_some() => {
            let with = [(a, a_command), (b, b_command)];
            Some(AbServers::new(with.map(|(url, command)| (url.clone(), command.clone()))))
        }
        _ => None,
    };
    let mut ab = Ab::open(&runs.spec, folder, context, servers)?;
    let sides = runs.spec.urls.len();
    while let Some(run) = ab.next() {
        let run = match run {
            Ok(run) => run,
            Err(error) => return Ok((ab, Err(error.into()))),
        };
        screen::eprint_line(&run.to_string());
        failures::note_metrics(&run.metrics);
        // The estimates after the last round are printed with the result.
        let is_between = ab.runs().len().is_multiple_of(2) && !ab.is_over();
        if sides == 2 && is_between && ab.runs().len() > 2 {
            ab.estimates().iter().for_each(|known| screen::eprint_line(&known.to_string()));
        }
    }
    Ok((ab, Ok(())))
}
