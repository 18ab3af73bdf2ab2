//! The page of a run: what it says, that it is stable, and that it works in a browser.

use std::time::Duration;

use servemark_core::{
    Header, RankClock, RankMachine, RankMember, Ranks, RequestRecord, RunFacts, RunLog, SeriesHead,
    SeriesKind, ServerTimes, Telemetry, TelemetryLine, TelemetrySample, TelemetrySource,
};
use servemark_metrics::{Audit, MetricPolicy, Metrics, Objective};
use servemark_page::{RunPage, SeriesLayer, SeriesPanel};
use servemark_report::{Report, ReportFormat};
use servemark_testkit::browser::{Browser, View};

use crate::synthetic::{HOSTILE, Synthetic};

fn page(log: &RunLog) -> String {
    page_text(log, &RunPage::default())
}

fn page_text(log: &RunLog, page: &RunPage<'_>) -> String {
    let metrics = Metrics::score(log, &MetricPolicy::native());
    let audit = Audit::of(log);
    let mut out = Vec::new();
    page.write(&Report::new(log, &metrics, &audit), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Leaves out style and script, which are files of their own, and the policy, which has their
/// hashes.
fn without_assets(page: &str) -> String {
    let mut rest = page;
    let mut kept = String::new();
    for (open, close) in
        [("<meta http-equiv", ">"), ("<style>", "</style>"), ("<script>", "</script>")]
    {
        let (before, after) = rest.split_once(open).unwrap();
        kept.push_str(before);
        rest = after.split_once(close).unwrap().1;
    }
    kept + rest
}

#[test]
fn a_page_is_the_same_bytes_for_the_same_log() {
    let log = Synthetic { requests: 40, ..Synthetic::SMALL }.log();
    let text = page(&log);
    assert_eq!(text, page(&log));
    insta::assert_snapshot!(without_assets(&text));
}

#[test]
fn a_run_of_several_ranks_has_a_table_of_them() {
    let log = Synthetic { requests: 40, ..Synthetic::SMALL }.log();
    let member = |rank: usize| RankMember {
        rank,
        machine: RankMachine {
            host: format!("{HOSTILE}-{rank}"),
            cores: 8,
            open_files: Some(20_000),
        },
        planned: 20,
        recorded: 20,
        clock_before: Some(RankClock { offset_ns: -5_000_012_000, bound_ns: 15_000 }),
        start_late_ns: Some(31_000),
        verdict: Some(if rank == 1 { "suspect" } else { "clean" }.to_owned()),
        ..RankMember::default()
    };
    let mut header = log.header().clone();
    header.ranks = Some(Ranks { run: "run".to_owned(), members: vec![member(0), member(1)] });
    let text = page(&RunLog::new(header, log.records().to_vec(), log.footer().cloned()));
    let table = text.split_once("<caption>Each rank</caption>").unwrap().1;
    let (_, row) = table.split_once("<th scope=\"row\">rank 1</th>").unwrap();
    let row = row.split_once("</tr>").unwrap().0;
    let cells = ["8", "20000", "20/20", "50.0 %", "-5.000012 s", "0.015 ms", "0.031 ms", "suspect"];
    for cell in cells {
        assert!(row.contains(&format!("<td>{cell}</td>")), "{cell}: {row}");
    }
    assert!(!row.contains("<script>"), "{row}");
    assert!(text.contains(": suspect"), "the worst rank is named");
}

#[test]
fn a_page_of_many_requests_stays_small_and_keeps_its_extremes() {
    let log = Synthetic { requests: 30_000, tokens: 4, per_s: 900.0, ..Synthetic::SMALL }.log();
    let text = page(&log);
    assert!(text.len() < 400_000, "{} bytes", text.len());
    assert!(text.contains(" of 30,000 requests: of each part of the run the slowest"));
}

/// Takes minutes without optimisation, so it runs only on demand.
#[test]
fn a_page_of_a_million_requests_stays_small_and_is_drawn_at_once() {
    if std::env::var_os("RUN_SLOW_TESTS").is_none() {
        return;
    }
    let log = Synthetic { requests: 1_000_000, tokens: 4, per_s: 900.0, ..Synthetic::SMALL }.log();
    let text = page(&log);
    assert!(text.len() < 400_000, "{} bytes", text.len());
    let mut browser = Browser::start();
    for view in View::all() {
        browser.open(&text, view);
        let drawn = browser.evaluate("performance.getEntriesByName('drawn')[0].startTime");
        println!("{view:?}: {} bytes, drawn after {drawn} ms", text.len());
        assert_eq!(browser.faults(), [""; 0]);
    }
}

#[test]
fn a_log_without_requests_has_a_page_without_plots() {
    let log =
        RunLog::new(Header::new(0, RunFacts::default(), serde_json::Value::Null), Vec::new(), None);
    let mut browser = Browser::start();
    browser.open(&page(&log), View::all()[2]);
    assert_eq!(browser.faults(), [""; 0]);
    assert_eq!(browser.count("svg"), 0);
    assert!(browser.text(".verdicts").contains("killed"));
}

#[test]
fn a_page_works_on_a_phone_and_on_a_desk_in_both_themes() {
    let text = page(&Synthetic::SMALL.log());
    let mut browser = Browser::start();
    for view in View::all() {
        browser.open(&text, view);
        assert_eq!(browser.text("html[data-drawn] h1"), "some/model-7B at http://127.0.0.1:8000");
        assert_eq!(browser.count(".plot .stage > svg"), 10, "{view:?}");
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(width, view.width, "nothing is wider than the screen");
        let dark = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        let is_dark = dark != "rgb(255, 255, 255)";
        assert_eq!(is_dark, view.name().ends_with("dark"), "{dark}");
        browser.keep_picture(&format!("run-{}", view.name()));
        browser.click("#theme");
        let other = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert_ne!(dark, other, "the button switches the theme");
        browser.evaluate("delete localStorage.servemarkTheme");
        assert_eq!(browser.faults(), [""; 0], "{view:?}");
    }
}

#[test]
fn one_crosshair_and_one_zoom_serve_all_plots_over_time() {
    let text = page(&Synthetic::SMALL.log());
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    browser.hover("#panel-ttft .stage", 0.5, 0.5);
    let crosses = "[...document.querySelectorAll('#time .cross')].filter(line => line.getAttribute('visibility') === 'visible').map(line => line.getAttribute('x1'))";
    let rendered = browser.evaluate(crosses);
    assert_eq!(rendered.as_array().map(Vec::len), Some(8), "{rendered}");
    assert!(browser.text("#time-tools output").starts_with("at "));
    assert!(browser.text("#panel-ttft .keys").contains(" ms"));

    let before = browser.text("#panel-tokens .stage svg");
    browser.drag("#panel-ttft .stage", 0.4, 0.6);
    assert_ne!(browser.text("#panel-tokens .stage svg"), before, "all plots are zoomed");
    assert_eq!(
        browser.evaluate("document.querySelector('#time-tools button[disabled]')"),
        serde_json::Value::Null
    );
    browser.press("#panel-tokens .stage", "Escape");
    assert_eq!(browser.text("#panel-tokens .stage svg"), before, "and all are back");

    browser.press("#panel-itl .stage", "ArrowRight");
    let value = "document.querySelector('#panel-itl .stage').getAttribute('aria-valuetext')";
    let read = browser.evaluate(value);
    assert!(
        read.as_str().unwrap().contains("median"),
        "a screen reader hears the values: {read:?}"
    );
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn requests_are_chosen_by_pointer_and_by_keys() {
    let text = page(&Synthetic::SMALL.log());
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    browser.press("#panel-requests .stage", "ArrowDown");
    assert!(browser.text("#panel-requests .readout").starts_with("request 0 (warm-up)"));
    for _ in 0..3 {
        browser.press("#panel-requests .stage", "ArrowDown");
    }
    let chosen = browser.text("#panel-requests .readout");
    assert!(chosen.starts_with("request 0 · due at 0"), "{chosen}");
    assert!(chosen.contains("TTFT") && chosen.contains("100 tokens in, 24 out"), "{chosen}");
    browser.hover("#panel-requests .stage", 0.5, 0.1);
    assert_ne!(browser.text("#panel-requests .readout"), chosen);
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn distributions_have_tabs_scales_and_tables() {
    let text = page(&Synthetic::SMALL.log());
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    assert_eq!(browser.count("[role=tab]"), 4);
    browser.click("#tab-1");
    assert_eq!(browser.evaluate("document.querySelector('#cdf-0').offsetWidth"), 0);
    let path = "document.querySelector('#cdf-1 path.line').getAttribute('d')";
    let even = browser.evaluate(path);
    browser.click("#cdf-1 .side button[value=tail]");
    assert_ne!(browser.evaluate(path), even);
    browser.click("#histogram-1 .side button:last-child");
    assert_eq!(browser.count("#histogram-1 table tbody tr"), 41);
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn words_of_a_server_run_no_script_and_load_nothing() {
    let log = Synthetic::SMALL.log();
    let hostile = SeriesPanel {
        title: HOSTILE.to_owned(),
        unit: HOSTILE.to_owned(),
        about: HOSTILE.to_owned(),
        layers: vec![SeriesLayer { name: HOSTILE.to_owned(), points: vec![(1.0, Some(2.0))] }],
    };
    let text = page_text(&log, &RunPage::default().with_panels(vec![hostile]).with_source(HOSTILE));
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    assert_eq!(browser.evaluate("typeof window.hacked"), "undefined");
    assert_eq!(browser.count("img"), 0);
    assert_eq!(browser.count("script"), 2);
    assert!(browser.text("#failures").contains("</script><script>window.hacked=1"));
    assert!(browser.text("#panel-series-0 h3").contains("</script>"));
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn panels_from_elsewhere_share_the_time_axis() {
    let log = Synthetic::SMALL.log();
    let points = (0..100).map(|step| (f64::from(step) / 10.0, (step != 50).then_some(3.0)));
    let layer = SeriesLayer { name: "running".to_owned(), points: points.collect() };
    let panel = SeriesPanel {
        title: "Server".to_owned(),
        unit: "requests".to_owned(),
        about: "Requests that the server runs.".to_owned(),
        layers: vec![layer],
    };
    let text = page_text(&log, &RunPage::default().with_panels(vec![panel]));
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    browser.hover("#panel-ttft .stage", 0.5, 0.5);
    assert_eq!(browser.text("#panel-series-0 .keys"), "running3 requests");
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn objectives_stand_at_the_head() {
    let log = Synthetic::SMALL.log();
    let (policy, audit) = (MetricPolicy::native(), Audit::of(&log));
    let objectives = Objective::list("ttft:p50<1ms").unwrap();
    let judgements = servemark_metrics::gate(&log, &audit, &objectives, &policy, 0.95);
    let text = page_text(&log, &RunPage::default().with_judgements(&judgements));
    assert!(text.contains("<li class=\"bad\"><b>objective</b>"), "{}", &text[..4000]);
}

#[test]
fn a_page_can_be_printed() {
    let text = page(&Synthetic::SMALL.log());
    let mut browser = Browser::start();
    let view = View::all()[3];
    browser.open(&text, view);
    let printed = browser.printed();
    assert!(printed.starts_with(b"%PDF"), "a document");
    if let Some(folder) = std::env::var_os("SERVEMARK_SCREENSHOTS") {
        std::fs::write(std::path::Path::new(&folder).join("run.pdf"), printed).unwrap();
    }
    let theme = browser.evaluate("document.documentElement.dataset.theme || 'none'");
    assert_eq!(theme, "none", "the theme is back");
    assert_eq!(browser.faults(), [""; 0]);
}

/// A run whose server reports its own times and is read once a second.
fn run_with_server_times() -> RunLog {
    let log = Synthetic::SMALL.log();
    let mut telemetry = Telemetry::default();
    telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "http://server/metrics")));
    let heads = [("running", ""), ("waiting", ""), ("kv_use", ""), ("gpu_power", "W")];
    for (id, (name, unit)) in heads.into_iter().enumerate() {
        let head = SeriesHead::new(id, 0, name, SeriesKind::Gauge).with_unit(unit);
        telemetry.add(TelemetryLine::Series(head));
    }
    let due = log.measured().map(|record| record.scheduled).min().unwrap();
    for second in 0..8 {
        let mut sample = TelemetrySample::new(0, due + Duration::from_secs(second), 0);
        sample.values = vec![(0, 4.0), (1, 2.0), (2, 0.25), (3, 300.0)];
        telemetry.add(TelemetryLine::Sample(sample));
    }
    let times = |record: &RequestRecord| {
        let mut record = record.clone();
        let mut times = ServerTimes::default();
        (times.queue_ms, times.prefill_ms) = (Some(3.0), Some(5.0));
        record.server_times = Some(Box::new(times));
        record
    };
    let records = log.records().iter().map(times).collect();
    RunLog::new(log.header().clone(), records, log.footer().cloned()).with_telemetry(telemetry)
}

#[test]
fn the_servers_series_and_parts_share_the_time_axis() {
    let text = page_text(&run_with_server_times(), &RunPage::default());
    let mut browser = Browser::start();
    browser.open(&text, View::all()[2]);
    browser.hover("#panel-ttft .stage", 0.5, 0.5);
    assert_eq!(browser.text("#panel-server-requests .keys"), "running4 requestswaiting2 requests");
    assert_eq!(browser.text("#panel-server-cache .keys"), "KV cache use25 %");
    assert_eq!(browser.text("#panel-gpu-power .keys"), "power300 W");
    let parts = browser.text("#panel-anatomy .keys");
    assert!(parts.contains("prefill5 ms") && parts.contains("server queue3 ms"), "{parts}");
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn a_run_without_series_and_parts_has_no_such_panels() {
    let text = page_text(&Synthetic::SMALL.log(), &RunPage::default());
    for id in ["panel-server-requests", "panel-gpu-power", "panel-anatomy"] {
        assert!(!text.contains(id), "{id}");
    }
}
