//! Opens every HTML page of Servemark in a real browser: plots are drawn, and the page makes no
//! network request.

use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::core::NoProgress;
use servemark::metrics::Objective;
use servemark::page::GridFormat;
use servemark::plan::{
    AisbenchFiles, Axis, BenchPlan, Grain, SearchRange, ServerSpec, Side, SloSearchSpec, SloSpec,
    SweepSpec, VllmFiles,
};
use servemark::schedule::ArrivalSpec;
use servemark::{RunContext, Scores, SloSearch, Sweep, SweepOutcome, execute};
use servemark_testkit::browser::{Browser, View, open_page};

use crate::runs;

fn context() -> RunContext {
    RunContext::new(Arc::new(NoProgress))
}

/// A server with eight slots, in which an answer of eight tokens takes 5.5 ms.
fn base() -> BenchPlan {
    let mut base = runs::plan(BackendName::Sglang, &[]);
    if let ServerSpec::Simulated(mock) = &mut base.server {
        mock.places = NonZeroUsize::new(8);
        mock.jitter = Duration::from_millis(1);
    }
    base.workload.requests = 200;
    base
}

fn page_text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut page = Vec::new();
    write(&mut page).unwrap();
    String::from_utf8(page).unwrap()
}

#[test]
fn a_sweeps_page_has_its_curves() {
    let axis = Axis::new("max_concurrency", [1, 2, 4, 8, 16, 32]).unwrap();
    let (spec, context) = (SweepSpec::grid(base(), [Side::of(axis)]), context());
    let mut outcome = SweepOutcome::default();
    for done in Sweep::open(&spec, None::<&Path>, &context).unwrap() {
        outcome.add(done.unwrap().score());
    }
    let mut browser = Browser::start();
    browser.open(&page_text(|out| outcome.write(GridFormat::Html, out)), View::all()[2]);
    // TTFT, TPOT and E2E over the throughput, and the frontier.
    assert_eq!(browser.count(".plot .stage > svg"), 4);
    // The latency of requests is known at each point. On a busy machine all tokens of an answer may
    // come in one packet; the speed of a user is not known then.
    assert!(browser.count("#plot-over-e2el .stage circle") >= 6);
    assert_eq!(browser.count("#points tbody tr"), 6);
    for words in ["Time to first token", "Pareto frontier"] {
        assert!(browser.text("#curves").contains(words), "{words}");
    }
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn a_searchs_page_has_its_objectives_and_their_limits() {
    let slo = SloSpec::new(Objective::list("e2el:p90<20ms,ttft:p90<15ms").unwrap());
    let range = SearchRange::new(4.0, 1.0, 64.0, Grain::Whole).unwrap();
    let spec = SloSearchSpec::new(base(), "max_concurrency", slo).unwrap().within(range);
    let mut effort = spec.effort.clone();
    effort.requests = NonZeroUsize::new(100);
    effort.rounds = NonZeroU32::MIN;
    let (spec, context) = (spec.with_effort(effort), context());
    let mut search = SloSearch::open(&spec, None, &context).unwrap();
    search.by_ref().for_each(|round| drop(round.unwrap()));
    let answer = search.answer();
    let mut browser = Browser::start();
    browser.open(&page_text(|out| answer.write(GridFormat::Html, out)), View::all()[2]);
    assert_eq!(browser.count("#objectives .stage > svg"), 2, "one for each objective");
    assert_eq!(browser.count("#points tbody tr"), answer.trials.len() as u64);
    assert!(browser.text("#objectives").contains("e2el:p90<20ms"));
    assert!(browser.text("#summary").contains("95 % confidence"));
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn a_timeline_draws_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    let plan = base();
    let run = execute(&plan, &context()).unwrap();
    let files = VllmFiles {
        folder: Some(folder.path().to_owned()),
        timeline: Some([1.0, 2.0]),
        ..VllmFiles::default()
    };
    let saved = Scores::of_run(&run, &plan.scoring).save_vllm(&files).unwrap();
    let page = fs::read_to_string(saved.timeline.unwrap()).unwrap();
    let opened = open_page("timeline", &page);
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    opened.assert_sound(1);
}

#[test]
fn aisbenchs_pages_draw_lives_and_rates() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = base();
    plan.load.arrivals = ArrivalSpec::at_rate(400.0).unwrap();
    let run = execute(&plan, &context()).unwrap();
    let scores = Scores::of_run(&run, &plan.scoring);
    let saved = scores.save_aisbench(&AisbenchFiles::new(folder.path()), None).unwrap();
    let plot = fs::read_to_string(saved.plot.unwrap()).unwrap();
    let opened = open_page("aisbench_plot", &plot);
    opened.assert_sound(2);
    assert_eq!(opened.count("<span><i style"), 3, "TTFT, decode and concurrency have a colour");
    let rates = fs::read_to_string(saved.rps_distribution).unwrap();
    let opened = open_page("aisbench_rps", &rates);
    opened.assert_sound(2);
    for words in ["Target Rate: 400.00", "as planned", "as sent", "moving average", "Intervals"] {
        assert!(opened.dom.contains(words), "{words}");
    }
}

#[test]
fn a_page_that_asks_the_network_or_whose_script_fails_is_found_out() {
    let page = "<html><head></head><body><img src=\"http://example.invalid/a.png\">\
                <script>nothere();</script></body></html>";
    let opened = open_page("unsound", page);
    assert_eq!(opened.console.len(), 2, "{:#?}", opened.console);
    assert!(opened.console[0].contains("Content Security Policy"), "{:#?}", opened.console);
}
