//! The pages of a sweep and of a search.

use serde_json::{Value, json};
use servemark_core::{
    Header, RunLog, SeriesHead, SeriesKind, Stamp, Telemetry, TelemetryLine, TelemetrySample,
    TelemetrySource,
};
use servemark_metrics::{Audit, Figure, Judgement, MetricPolicy, Metrics, Objective, RunSpread};
use servemark_page::{RepeatsPage, write_search, write_sweep};
use servemark_report::{SloReport, SloRow, SloTierAnswer, SweepReport, SweepRow};
use servemark_testkit::browser::{Browser, View};

use crate::synthetic::{HOSTILE, Synthetic};

/// A point with everything that a row borrows.
struct Point {
    load: f64,
    name: String,
    settings: Vec<(String, Value)>,
    metrics: Metrics,
    audit: Audit,
    judgements: Vec<Judgement>,
}

impl Point {
    fn of(per_s: f64) -> Self {
        // Latency rises with the load.
        let slowness = 1.0 / (1.0 - per_s / 50.0);
        Self::of_log(per_s, &Synthetic { requests: 200, per_s, slowness, ..Synthetic::SMALL }.log())
    }

    fn of_log(per_s: f64, log: &RunLog) -> Self {
        let (policy, audit) = (MetricPolicy::native(), Audit::of(log));
        let objectives = Objective::list("e2el:p90<700ms,success>=90%").unwrap();
        let load = vec![("request_rate".to_owned(), json!(per_s))];
        Self {
            load: per_s,
            name: format!("request_rate={per_s}"),
            settings: load,
            metrics: Metrics::score(log, &policy),
            judgements: servemark_metrics::gate(log, &audit, &objectives, &policy, 0.95),
            audit,
        }
    }

    fn row(&self) -> SweepRow<'_> {
        SweepRow::new(&self.name, &self.settings, &self.metrics, &self.audit)
    }
}

fn points() -> Vec<Point> {
    [5.0, 10.0, 20.0, 30.0, 40.0].map(Point::of).into()
}

fn swept(points: &[Point]) -> String {
    let mut out = Vec::new();
    let report = SweepReport::of(points.iter().map(Point::row));
    write_sweep(&report, "0.0.0-test", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns a point whose run was on two GPUs, of which the power is known, at a price.
fn priced(per_s: f64) -> Point {
    let log = Synthetic { requests: 200, per_s, ..Synthetic::SMALL }.log();
    let mut header: Header = log.header().clone();
    header.facts.hardware.gpus = Some(2);
    header.facts.hardware.price_per_gpu_hour = Some(2.5);
    let mut telemetry = Telemetry::default();
    telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "gpus")));
    for id in 0..2 {
        let labels = [("gpu".to_owned(), id.to_string())].into();
        let head = SeriesHead::new(id, 0, "gpu_power", SeriesKind::Gauge).with_labels(labels);
        telemetry.add(TelemetryLine::Series(head));
    }
    for second in 0..200 {
        let at = Stamp::from_nanos(second * 1_000_000_000);
        let mut sample = TelemetrySample::new(0, at, 0);
        sample.values = vec![(0, 300.0 + per_s), (1, 280.0 + per_s)];
        telemetry.add(TelemetryLine::Sample(sample));
    }
    let log = RunLog::new(header, log.records().to_vec(), log.footer().cloned());
    Point::of_log(per_s, &log.with_telemetry(telemetry))
}

#[test]
fn what_a_gpu_gives_and_takes_is_drawn_over_the_speed_of_a_user() {
    let points = [5.0, 10.0, 20.0].map(priced);
    assert!(points[0].metrics.energy.as_ref().is_some_and(|energy| energy.valid));
    let mut browser = Browser::start();
    browser.open(&swept(&points), View::all()[2]);
    for plot in ["trade", "trade-gpu", "trade-cost", "trade-energy"] {
        assert_eq!(browser.count(&format!("#plot-{plot} .stage circle")), 3, "{plot}");
    }
    for words in
        ["One GPU over one user", "cost of a million output tokens", "joules per output token"]
    {
        assert!(browser.text("#curves").contains(words), "{words}");
    }
    for words in ["Lowest cost", "Least energy", "Most output of a GPU"] {
        assert!(browser.text("#summary").contains(words), "{words}");
    }
    let heads = browser.text("#points thead");
    for head in ["output tokens/s/GPU", "cost per 1M output tokens", "J per output token"] {
        assert!(heads.contains(head), "{heads}");
    }
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn a_sweep_shows_every_point_with_its_intervals_in_every_view() {
    let text = swept(&points());
    let mut browser = Browser::start();
    for view in View::all() {
        browser.open(&text, view);
        assert_eq!(browser.text("html[data-drawn] h1"), "request_rate");
        assert_eq!(browser.count(".plot .stage > svg"), 4, "{view:?}");
        assert_eq!(browser.count("#plot-trade .stage circle"), 5);
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(width, view.width, "nothing is wider than the screen");
        browser.keep_picture(&format!("sweep-{}", view.name()));
        assert_eq!(browser.faults(), [""; 0], "{view:?}");
    }
    assert_eq!(browser.count("#points tbody tr"), 5);
    let names = browser.text("#plot-trade .stage");
    for name in ["5.0", "40.0"] {
        assert!(names.contains(name), "points are labelled: {names}");
    }
    let before = browser.text("#plot-over-tpot .stage svg");
    browser.drag("#plot-over-ttft .stage", 0.3, 0.6);
    assert_ne!(browser.text("#plot-over-tpot .stage svg"), before, "one zoom for one axis");
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn a_search_shows_its_answer_and_each_objective() {
    let points = points();
    let rows: Vec<SloRow<'_>> = points
        .iter()
        .map(|point| SloRow {
            value: point.load,
            verdict: "holds",
            verdicts: vec!["holds"],
            rounds: 1,
            requests: 200,
            judgements: &point.judgements,
            growth: None,
            point: point.row(),
        })
        .collect();
    let tier = SloTierAnswer {
        name: "",
        holds: Some(20.0),
        undecided: None,
        fails: Some(30.0),
        not_offered: None,
        capacity: None,
    };
    let answer = format!("The largest request_rate that holds is 20.\n{HOSTILE}");
    let report = SloReport::new("request_rate", answer, [tier], rows);
    let mut out = Vec::new();
    write_search(&report, "0.0.0-test", &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut browser = Browser::start();
    for view in View::all() {
        browser.open(&text, view);
        assert_eq!(browser.count(".plot .stage > svg"), 6, "{view:?}");
        assert_eq!(browser.count("#plot-objective-0 path[stroke-dasharray]"), 1, "the limit");
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(width, view.width, "nothing is wider than the screen");
        browser.keep_picture(&format!("search-{}", view.name()));
        assert_eq!(browser.faults(), [""; 0], "{view:?}");
    }
    assert_eq!(browser.evaluate("typeof window.hacked"), "undefined");
    assert!(browser.text(".verdicts .good").contains("The largest request_rate"));
}

#[test]
fn repeated_runs_show_the_spread_of_each_figure_and_every_run() {
    let runs = [10.0, 11.0, 12.0].map(Point::of);
    let of = |figure: Figure| {
        let values: Vec<f64> = runs.iter().filter_map(|run| figure.read(&run.metrics)).collect();
        RunSpread::of(figure, &values)
    };
    let spreads: Vec<RunSpread> = Figure::headline().into_iter().filter_map(of).collect();
    let page = RepeatsPage {
        title: HOSTILE,
        runs: &SweepReport::of(runs.iter().map(Point::row)),
        spreads: &spreads,
        version: "0.0.0-test",
    };
    let mut out = Vec::new();
    page.write(&mut out).unwrap();
    let mut browser = Browser::start();
    for view in View::all() {
        browser.open(&String::from_utf8(out.clone()).unwrap(), view);
        assert_eq!(browser.count("#plot-ttft_ms-p50 .stage circle"), 3, "{view:?}");
        assert_eq!(browser.count("#plot-ttft_ms-p50 path[stroke-dasharray]"), 1, "the mean");
        // The runs take most of the height, however far from zero they are.
        let tops = "[...document.querySelectorAll('#plot-ttft_ms-p50 .stage circle')]\
                    .map(circle => circle.getBoundingClientRect().top)";
        let height = "document.querySelector('#plot-ttft_ms-p50 .stage svg').clientHeight";
        let part = browser.evaluate(&format!(
            "(tops => (Math.max(...tops) - Math.min(...tops)) / {height})({tops})"
        ));
        assert!(part.as_f64().unwrap() > 0.25, "{part} of the height in {view:?}");
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(width, view.width, "nothing is wider than the screen");
        browser.keep_picture(&format!("repeats-{}", view.name()));
        assert_eq!(browser.faults(), [""; 0], "{view:?}");
    }
    assert_eq!(browser.evaluate("typeof window.hacked"), "undefined");
    assert_eq!(browser.count("#points tbody tr"), 3);
    assert_eq!(browser.count("#spread tbody tr"), spreads.len() as u64);
    let median = spreads.iter().find(|spread| spread.figure.path() == "ttft_ms.p50").unwrap();
    let percent = format!("{:.2}", median.percent);
    assert!(browser.text("#summary .figures").contains(&percent[..3]), "{percent}");
}

#[test]
fn settings_are_text_and_no_markup() {
    let mut points = vec![Point::of(10.0)];
    points[0].settings = vec![(HOSTILE.to_owned(), json!(HOSTILE))];
    let text = swept(&points);
    assert!(!text.contains("<img"), "{text}");
    let mut browser = Browser::start();
    browser.open(&text, View::all()[0]);
    assert_eq!(browser.evaluate("typeof window.hacked"), "undefined");
    assert_eq!((browser.count("script"), browser.count("img")), (2, 0));
    assert_eq!(browser.faults(), [""; 0]);
}
