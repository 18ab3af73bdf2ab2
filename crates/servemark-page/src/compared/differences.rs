//! Facts of the compared runs, side by side, and the differences of their plans.

use std::collections::BTreeSet;

use servemark_report::Side;

use crate::html::Html;
use crate::number::ABSENT;
use crate::trace::RunTrace;

/// Writes the facts of the runs on either side.
pub(super) fn facts(html: &mut Html, sides: &[Vec<Side>; 2], traces: &[Vec<RunTrace>; 2]) {
    let mut rows: Vec<(String, [String; 2])> = Vec::new();
    let of = |side: &[Side], value: fn(&Side) -> Option<&str>| {
        let values: Vec<&str> = side.iter().filter_map(value).collect();
        if values.is_empty() { ABSENT.to_owned() } else { values.join(", ") }
    };
    let both = |value: fn(&Side) -> Option<&str>| sides.each_ref().map(|side| of(side, value));
    rows.push(("result".to_owned(), both(|side| Some(&side.source))));
    if let [Some(before), Some(after)] = traces.each_ref().map(|side| side.first()) {
        for (name, value) in &before.facts {
            let other = after.facts.iter().find(|(other, _)| other == name);
            let other = other.map_or_else(|| ABSENT.to_owned(), |(_, value)| value.clone());
            rows.push((name.clone(), [value.clone(), other]));
        }
    } else {
        rows.push(("model".to_owned(), both(|side| side.model.as_deref())));
        rows.push(("date".to_owned(), both(|side| side.date.as_deref())));
    }
    side_by_side(html, "", rows);
}

/// Returns the settings in which the plans of the first runs differ; absent if there are no plans.
pub(super) fn plans(traces: &[Vec<RunTrace>; 2]) -> Option<String> {
    let [before, after] = traces.each_ref().map(|side| side.first().map(|trace| &trace.plan));
    let (before, after) = (before?, after?);
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let value = |plan: &std::collections::BTreeMap<String, String>, path: &String| {
        plan.get(path).cloned().unwrap_or_else(|| ABSENT.to_owned())
    };
    let rows =
        paths.into_iter().map(|path| (path.clone(), [value(before, path), value(after, path)]));
    let rows: Vec<_> = rows
        .filter(|(path, [before, after])| before != after && !path.starts_with("output."))
        .take(MOST_ROWS)
        .collect();
    let mut html = Html::default();
    html.element("h2", "Plans");
    if rows.is_empty() {
        html.element(
            "p class=\"lead\"",
            "Both runs have the same plan, apart from where they write.",
        );
    } else {
        html.element("p class=\"lead\"", "Settings in which the plans of the two runs differ.");
        side_by_side(&mut html, "setting", rows);
    }
    Some(html.finish())
}

fn side_by_side(html: &mut Html, head: &str, rows: Vec<(String, [String; 2])>) {
    html.raw("<div class=\"scroll\" tabindex=\"0\"><table class=\"full\">\n<thead><tr>");
    for head in [head, "A, before", "B, after"] {
        html.element("th scope=\"col\" class=\"text\"", head);
    }
    html.raw("</tr></thead>\n<tbody>\n");
    for (name, [before, after]) in rows {
        let class = if before == after { "td class=\"text soft\"" } else { "td class=\"text\"" };
        html.raw("<tr>").element("th scope=\"row\"", &name);
        html.element(class, &before).element(class, &after).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

/// Largest number of settings that are listed.
const MOST_ROWS: usize = 100;
