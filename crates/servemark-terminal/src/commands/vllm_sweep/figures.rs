//! `plot` and `plot_pareto`: plots of the results below a folder as PNG files, each with an SVG
//! file beside it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use servemark::ExitCode;
use servemark::core::JsonObject;
use servemark::report::Records;
use servemark::report::chart::Figure;
use servemark_cli::vllm::sweep::{ParetoSweep, PlotSweep, file_name};
use servemark_pyjson::standard;

use super::experiment::print_line;
use crate::documents;

/// Plots one result over another.
pub(super) fn plot(plot: &PlotSweep) -> anyhow::Result<ExitCode> {
    let records = results(&plot.folder)?;
    fs::create_dir_all(&plot.figures)
        .with_context(|| format!("cannot make {}", plot.figures.display()))?;
    let mut files = Vec::new();
    for relation in plot.spec.figures(&records)? {
        let path = plot.figures.join(file_name(&format!("{}.png", relation.name(&plot.name))));
        let (rows, columns) = relation.panels()?;
        print_line("[BEGIN FIGURE]");
        print_line(&format!("Group: {}", group_literal(relation.group())));
        print_line(&format!("Grid: {rows} rows x {columns} cols"));
        print_line(&format!("Output file: {}", path.display()));
        let figure = if plot.dry_run { None } else { relation.figure()? };
        match &figure {
            Some(figure) => save(figure, &path, plot.dots_per_inch)?,
            None if plot.dry_run => {}
            None => print_line("No data to plot: the filters leave no run."),
        }
        print_line("[END FIGURE]");
        files.extend((plot.dry_run || figure.is_some()).then_some(path));
    }
    documents::print_files(plot.json, &files, !plot.dry_run);
    Ok(ExitCode::Ok)
}

/// Plots the Pareto frontier of throughput per user and throughput per GPU.
pub(super) fn plot_pareto(plot: &ParetoSweep) -> anyhow::Result<ExitCode> {
    let pareto = plot.spec.prepare(&results(&plot.folder)?)?;
    if pareto.skipped() > 0 {
        print_line(&format!(
            "Skipped {} runs without a user count (`max_concurrency` or \
             `max_concurrent_requests`).",
            pareto.skipped()
        ));
    }
    let points = pareto.records().rows().len();
    if points == 0 {
        bail!(
            "No data points with both throughput and user count available to plot Pareto frontier."
        );
    }
    let folder = plot.folder.join("pareto");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("PARETO.png");
    print_line("[BEGIN FIGURE]");
    print_line("Group: {}");
    print_line(&format!("Output file: {}", path.display()));
    if !plot.dry_run {
        save(&pareto.figure(&plot.spec), &path, PARETO_DOTS)?;
        let best = pareto.frontier().len();
        print_line(&format!("Plotted {points} points; Pareto frontier size: {best}."));
    }
    print_line("[END FIGURE]");
    documents::print_files(plot.json, &[path], !plot.dry_run);
    Ok(ExitCode::Ok)
}

fn save(figure: &Figure, path: &Path, dots_per_inch: u32) -> anyhow::Result<()> {
    let cannot = |path: &Path| format!("cannot write {}", path.display());
    fs::write(path, figure.png(dots_per_inch)?).with_context(|| cannot(path))?;
    let drawing = path.with_extension("svg");
    fs::write(&drawing, figure.svg()?).with_context(|| cannot(&drawing))
}

/// Reads the results of all combinations below a folder.
fn results(folder: &Path) -> anyhow::Result<Records> {
    if !folder.exists() {
        bail!("No parameter sweep results under {}", folder.display());
    }
    let mut files = Vec::new();
    summaries(folder, &mut files)?;
    let mut rows: Vec<JsonObject> = Vec::new();
    for file in files {
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let list: Vec<JsonObject> = serde_json::from_str(&standard(&text))
            .with_context(|| format!("{} is no list of results", file.display()))?;
        rows.extend(list);
    }
    if rows.is_empty() {
        bail!("Did not find any parameter sweep results under {}", folder.display());
    }
    Ok(Records::new(rows))
}

/// Collects every summary, folder by folder in the order of names.
fn summaries(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            summaries(&path, files)?;
        } else if path.file_name().is_some_and(|name| name == "summary.json") {
            files.push(path);
        }
    }
    Ok(())
}

fn group_literal(group: &[(String, String)]) -> String {
    let pairs = group.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    servemark_pyjson::literal(&Value::Object(pairs.collect()))
}

/// Default resolution of the peer's plotting library, in dots per inch.
const PARETO_DOTS: u32 = 100;
