//! evalscope's page: it has the content of evalscope's own page and is self-contained.

use serde_json::json;
use servemark_report::{EvalscopeStyle, EvalscopeSweep};
use servemark_testkit::browser::open_page;

use crate::evalscope_golden::Golden;

fn page(golden: &Golden) -> String {
    let (runs, subject) = (golden.runs(), golden.subject());
    let args = json!({"api": "openai", "parallel": 3, "max_tokens": 2048, "min_tokens": null});
    let mut out = Vec::new();
    let sweep = EvalscopeSweep::of(&runs, &subject);
    sweep.write_page(args.as_object().unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn pair(name: &str, value: &str) -> String {
    format!("<dt>{name}</dt><dd>{value}</dd>")
}

fn cells(name: &str, cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| format!("<{name}>{cell}</{name}>"));
    format!("<tr>{}</tr>", cells.collect::<String>())
}

/// Text that a page must contain.
fn expected(golden: &Golden) -> Vec<String> {
    let page = &golden.left.page;
    let pairs = page.info.iter().chain(&page.best).map(|(name, value)| pair(name, value));
    let items = page.items.iter().flatten().map(|item| pair(&item.key, &item.value));
    let rows = page.rows.iter().map(|row| cells("td", row));
    let names = page.names.iter().map(|name| format!("<h3>{name}</h3>"));
    let advice = page.advice.iter().map(|sentence| format!("<li>{sentence}</li>"));
    let heads = [cells("th", &page.columns)];
    pairs.chain(items).chain(heads).chain(rows).chain(names).chain(advice).collect()
}

#[test]
fn the_page_says_what_evalscopes_says() {
    let goldens = Golden::all(EvalscopeStyle::Newest);
    assert_eq!(goldens.len(), 22, "a case was added or lost");
    for golden in goldens {
        let page = page(&golden);
        let expected = expected(&golden);
        assert!(expected.len() > 15);
        for part in expected {
            assert!(page.contains(&part), "{} has no {part}", golden.name);
        }
        let advice = page.matches("<li>").count();
        assert_eq!(advice, golden.left.page.advice.len(), "{}", golden.name);
    }
}

#[test]
fn the_page_needs_no_network_and_has_its_plots() {
    for name in ["sweep", "embeddings", "failed"] {
        let golden = Golden::from_name(EvalscopeStyle::Newest, name);
        let opened = open_page(&format!("evalscope_{name}"), &page(&golden));
        // Figures of latencies, of throughputs, and two per run; a failed run has no percentiles.
        let of_runs = if name == "failed" { 1 } else { 2 * golden.left.runs.len() };
        opened.assert_sound(2 + of_runs);
        let of_points = opened.count("<circle");
        assert!(of_points > 2, "{name}: {of_points}");
        assert_eq!(opened.count(&pair("max_tokens", "2048")), 1);
        assert_eq!(opened.count("min_tokens"), 0);
    }
}
