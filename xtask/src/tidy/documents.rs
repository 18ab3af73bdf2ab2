//! Checks what documents and workflows name: pages, files, headings, tasks, the oldest compiler.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::COMMANDS;
use crate::markdown;
use crate::metadata::{Package, files, root};

/// Returns the names in documents and workflows that nothing has, and pages that the site lacks.
pub(super) fn faults(packages: &[Package]) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    let root = root();
    for path in texts(&root)? {
        let text = std::fs::read_to_string(&path)?;
        let name = path.strip_prefix(&root).unwrap_or(&path).to_owned();
        let unknown = unknown_tasks(&text).into_iter();
        faults.extend(unknown.map(|task| format!("{}: no task {task}", name.display())));
        if name.extension().is_some_and(|extension| extension == "md") {
            let dead = dead_names(&root, &name, &text).into_iter();
            faults.extend(dead.map(|target| format!("{}: no {target}", name.display())));
        }
    }
    let pages = files(&root.join("docs"), "md")?;
    let pages = pages.iter().filter_map(|page| page.strip_prefix(root.join("docs")).ok());
    let summary = std::fs::read_to_string(root.join("docs/SUMMARY.md"))?;
    faults.extend(unlisted(&summary, pages));
    let oldest = packages.first().and_then(|package| package.manifest["rust_version"].as_str());
    let oldest = oldest.context("the manifest names no oldest compiler")?;
    for document in ["README.md", "docs/install.md"] {
        let text = std::fs::read_to_string(root.join(document))?;
        if !text.contains(&format!("{oldest} or later")) {
            faults.push(format!("{document}: the oldest compiler is {oldest}"));
        }
    }
    Ok(faults)
}

/// Returns the paths of the documents, workflows and scripts that name tasks and files.
fn texts(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = files(&root.join("docs"), "md")?;
    for extension in ["md", "yml"] {
        paths.extend(files(&root.join(".github"), extension)?);
    }
    let others =
        [".ci/run", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "justfile"];
    paths.extend(others.map(|name| root.join(name)));
    Ok(paths)
}

/// Returns the names after `cargo xtask` that are no task.
fn unknown_tasks(text: &str) -> Vec<&str> {
    let names = text.split("cargo xtask ").skip(1).map(|rest| {
        let end = rest.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
        &rest[..end.unwrap_or(rest.len())]
    });
    names.filter(|name| COMMANDS.iter().all(|(known, _)| known != name)).collect()
}

/// Returns what a document links to, includes or names in backticks, and what is not there.
fn dead_names(root: &Path, document: &Path, text: &str) -> Vec<String> {
    let folder = root.join(document.parent().unwrap_or(Path::new("")));
    let prose = without_blocks(text);
    let mut dead = Vec::new();
    for target in between(&prose, "](", ")").filter(|target| !target.contains("://")) {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = if path.is_empty() { root.join(document) } else { folder.join(path) };
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if !path.exists() || !(heading.is_empty() || has_heading(&text, heading)) {
            dead.push(target.to_owned());
        }
    }
    for target in between(text, "{{#include ", "}}") {
        let (path, part) = target.split_once(':').unwrap_or((target, ""));
        let text = std::fs::read_to_string(folder.join(path));
        if !text.is_ok_and(|text| text.contains(&format!("ANCHOR: {part}")) || part.is_empty()) {
            dead.push(target.to_owned());
        }
    }
    let spans = prose.split('`').skip(1).step_by(2);
    for name in spans.filter(|span| span.starts_with("docs/") && !span.contains(['*', ' ', '…']))
    {
        if !root.join(name).exists() {
            dead.push(name.to_owned());
        }
    }
    dead
}

/// Returns a document without its blocks of code.
fn without_blocks(text: &str) -> String {
    let lines = markdown::with_code(text.split_inclusive('\n'));
    lines.filter(|(_, is_code)| !is_code).map(|(line, _)| line).collect()
}

/// Returns the texts between a beginning and the end that follows it.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0))
}

/// Returns whether a document has a heading with this name in a link: lower case, with dashes.
fn has_heading(text: &str, name: &str) -> bool {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|heading| heading.trim_start_matches('#').trim().to_lowercase()).any(|heading| {
        let heading = heading.replace(' ', "-");
        let is_kept = |sign: &char| sign.is_alphanumeric() || "-_".contains(*sign);
        heading.chars().filter(is_kept).eq(name.chars())
    })
}

/// Returns the pages that the list of the site's pages lacks, or has twice.
fn unlisted<'a>(summary: &str, pages: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let pages = pages.filter(|page| *page != Path::new("SUMMARY.md"));
    let count = |page: &Path| summary.matches(&format!("]({})", page.display())).count();
    let wrong = pages.filter(|page| count(page) != 1);
    wrong.map(|page| format!("docs/SUMMARY.md does not list {} once", page.display())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_does_not_exist_is_found() {
        assert_eq!(unknown_tasks("run: cargo xtask tidy\n`cargo xtask ship`, x"), ["ship"]);
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(dead_names(&root(), Path::new("docs/plans.md"), text), expected, "{text}");
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        check("[a](metrics.md), [b](examples/rate.toml), [c](https://a/b#c)", &[]);
        check("[a](metric.md)", &["metric.md"]);
        check("[a](scale.md#many-machines)", &[]);
        check("[a](scale.md#one-machine)", &["scale.md#one-machine"]);
        check("```\n[a](metric.md)\n```\n", &[]);
    }

    #[test]
    fn included_parts_and_named_paths_exist() {
        check("{{#include ../README.md:quick-start}}\n{{#include ../CONTRIBUTING.md}}", &[]);
        check("{{#include ../README.md:slow-start}}", &["../README.md:slow-start"]);
        check("`docs/metrics.md`, `docs/compat/`, `docs/compat/*.md`", &[]);
        check("`docs/metric.md`", &["docs/metric.md"]);
    }

    #[test]
    fn each_page_is_listed_once() {
        let pages = ["a.md", "b/c.md", "d.md", "SUMMARY.md"].map(Path::new);
        let summary = "- [A](a.md)\n- [D](d.md)\n- [D](d.md)\n";
        let faults = unlisted(summary, pages.into_iter());
        let expected =
            ["b/c.md", "d.md"].map(|page| format!("docs/SUMMARY.md does not list {page} once"));
        assert_eq!(faults, expected);
    }
}
