//! The page of a comparison.

use servemark_core::RunLog;
use servemark_metrics::{ComparedRun, Comparison, Figure, MetricPolicy};
use servemark_page::{ComparisonPage, RunTrace};
use servemark_report::Side;
use servemark_testkit::browser::{Browser, View};

use crate::synthetic::{HOSTILE, Synthetic};

fn page_text(sides: [&[RunLog]; 2], names: [&str; 2]) -> String {
    let (policy, figures) = (MetricPolicy::native(), Figure::headline());
    let runs = sides.map(|side| -> Vec<ComparedRun> {
        side.iter().map(|log| ComparedRun::of_log(log, &policy, &figures)).collect()
    });
    let traces = sides.map(|side| -> Vec<RunTrace> {
        side.iter().map(|log| RunTrace::of(log, &policy)).collect()
    });
    let named = |place: usize| vec![Side::new(names[place]); sides[place].len()];
    let page = ComparisonPage {
        comparison: &Comparison::of_runs(&runs[0], &runs[1], &figures),
        sides: &[named(0), named(1)],
        traces: &traces,
        version: "0.0.0-test",
    };
    let mut out = Vec::new();
    page.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn run(slowness: f64, seed: u64) -> RunLog {
    Synthetic { requests: 400, slowness, seed, ..Synthetic::SMALL }.log()
}

#[test]
fn two_runs_are_laid_over_each_other_in_every_view() {
    let text =
        page_text([&[run(1.0, 1)], &[run(1.3, 2)]], ["runs/before.jsonl", "runs/after.jsonl"]);
    let mut browser = Browser::start();
    for view in View::all() {
        browser.open(&text, view);
        assert_eq!(browser.text("html[data-drawn] h1"), "before.jsonl → after.jsonl");
        assert_eq!(browser.count(".plot .stage > svg"), 13, "{view:?}");
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(width, view.width, "nothing is wider than the screen");
        browser.keep_picture(&format!("comparison-{}", view.name()));
        assert_eq!(browser.faults(), [""; 0], "{view:?}");
    }
    let bad = browser.text(".verdicts .bad");
    assert!(bad.contains("Mean TPOT (ms) (+"), "{bad}");
    browser.hover("#plot-shift-e2el .stage", 0.5, 0.5);
    assert!(browser.text("#plot-shift-e2el .keys").contains(" %"));
    assert!(browser.text("#plot-shift-ttft .keys").contains(" %"), "one crosshair for all shifts");
    assert!(browser.count("#changes svg.interval.worse") > 0);
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn several_runs_a_side_give_the_interval_of_each_percentile() {
    let text = page_text([&[run(1.0, 1), run(1.0, 3)], &[run(1.2, 2), run(1.2, 4)]], ["a", "b"]);
    assert!(text.contains("2 runs before, 2 runs after"));
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    assert_eq!(browser.count("#plot-shares-ttft path.line"), 4);
    assert_eq!(browser.count("#plot-shift-ttft .keys button"), 2, "the change and its interval");
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn latencies_of_zero_are_drawn_on_a_logarithmic_scale() {
    let text = page_text([&[run(0.0, 1)], &[run(1.0, 2)]], ["a", "b"]);
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    assert!(browser.count("#plot-shares-itl path.line") > 0);
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn names_of_files_run_no_script() {
    let log = run(1.0, 1);
    let text = page_text([std::slice::from_ref(&log), std::slice::from_ref(&log)], [HOSTILE; 2]);
    let mut browser = Browser::start();
    browser.open(&text, View::all()[0]);
    assert_eq!(browser.evaluate("typeof window.hacked"), "undefined");
    assert_eq!((browser.count("script"), browser.count("img")), (2, 0));
    assert_eq!(browser.faults(), [""; 0]);
}
