//! The table of changes, with the interval of each as a bar.

use servemark_metrics::{Change, ChangeInterval, Comparison, FigureScope, Significance};

use crate::html::{Html, escaped};
use crate::number::number;

/// Returns the section of all changes.
pub(super) fn changes(comparison: &Comparison) -> String {
    let mut html = Html::default();
    html.element("h2", "Changes");
    html.element("p class=\"lead\"", "From A to B, with the 99 % interval of each change. Better and worse: by more than chance, with all figures tested at once at 1 %.");
    let reach = reach(comparison);
    let parts =
        [(FigureScope::Run, "Whole run"), (FigureScope::Plateau, "At the load that was asked for")];
    for (part, title) in parts {
        let of_part: Vec<&Change> =
            comparison.changes.iter().filter(|change| change.figure.of == part).collect();
        if !of_part.is_empty() {
            table(&mut html, comparison, title, &of_part, reach);
        }
    }
    html.finish()
}

fn table(html: &mut Html, comparison: &Comparison, title: &str, changes: &[&Change], reach: f64) {
    html.raw("<div class=\"scroll\" tabindex=\"0\"><table class=\"full\">\n")
        .element("caption", title);
    html.raw("<thead><tr>").element("th scope=\"col\" class=\"text\"", "figure");
    for head in ["A", "B", "change", "99 % interval"] {
        html.element("th scope=\"col\"", head);
    }
    html.element("th scope=\"col\" class=\"text\"", &format!("-{reach} % to +{reach} %"));
    html.element("th scope=\"col\" class=\"text\"", "verdict").raw("</tr></thead>\n<tbody>\n");
    for change in changes {
        let significance = comparison.significance_of(change);
        let (class, word) = words(significance);
        html.raw("<tr>").element("th scope=\"row\"", &change.figure.to_string());
        let values = [change.before, change.after];
        let is_count = values.iter().all(|value| value.fract() == 0.0);
        let message = |value: f64| if is_count { format!("{value:.0}") } else { number(value) };
        html.element("td", &message(change.before)).element("td", &message(change.after));
        html.element("td", &percent(change.percent()));
        let interval = change.interval.map(|interval| interval.to_string()).unwrap_or_default();
        html.element("td", &interval);
        html.raw("<td class=\"text\">").raw(&bar(change, class, reach)).raw("</td>");
        html.element(&format!("td class=\"text {class}\""), word).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

fn words(significance: Significance) -> (&'static str, &'static str) {
    match significance {
        Significance::Better => ("better", "better"),
        Significance::Worse => ("worse", "worse"),
        Significance::Same => ("same", "same"),
        Significance::NotJudged => ("same", "not judged"),
        Significance::Unknown => ("same", "unknown"),
    }
}

/// Formats a change in percent with its sign.
pub(super) fn percent(percent: f64) -> String {
    if percent.is_finite() { format!("{percent:+.1} %") } else { "from zero".to_owned() }
}

/// Returns the largest change that the bars reach, in percent: a round number.
fn reach(comparison: &Comparison) -> f64 {
    let ends = comparison.changes.iter().filter_map(|change| change.interval);
    let ends = ends
        .flat_map(|ChangeInterval { low_percent, high_percent, .. }| [low_percent, high_percent]);
    let changes = comparison.changes.iter().map(Change::percent);
    let all = ends.chain(changes).map(f64::abs).filter(|end| *end <= 100.0);
    let largest = all.fold(1.0, f64::max);
    [2.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|reach| largest <= *reach).unwrap_or(100.0)
}

/// Draws the interval of a change around zero.
fn bar(change: &Change, class: &str, reach: f64) -> String {
    let x = |percent: f64| 90.0 + percent.clamp(-reach, reach) / reach * 86.0;
    let at = change.percent();
    let interval = change.interval;
    let label =
        interval.map_or_else(|| percent(at), |interval| format!("{}, {interval}", percent(at)));
    let range = interval.map_or_else(String::new, |interval| {
        let (low, high) = (x(interval.low_percent), x(interval.high_percent));
        format!("<path class=\"range\" d=\"M{low:.1} 7H{high:.1}\"/>")
    });
    let dot = if at.is_finite() {
        format!("<circle cx=\"{:.1}\" cy=\"7\" r=\"3.2\"/>", x(at))
    } else {
        String::new()
    };
    format!(
        "<svg class=\"interval {class}\" viewBox=\"0 0 180 14\" width=\"180\" height=\"14\" \
         role=\"img\" aria-label=\"{}\"><path class=\"zero\" d=\"M90 0V14\"/>{range}{dot}</svg>",
        escaped(&label)
    )
}
