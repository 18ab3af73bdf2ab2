use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::{RunContext, Selftest, SelftestSpec, execute, selftest};

use crate::listener::Listener;
use crate::runs::plan;

#[test]
fn a_machine_is_tested_and_its_figures_are_kept() {
    let listener = Arc::new(Listener::default());
    let found = quick(&listener, 4);
    assert_eq!(listener.count_events("Measuring the"), 4);
    assert_eq!((found.accuracy.streams, found.paced.streams), (4, 4));
    for cost in [found.paced, found.flood, found.requests] {
        assert!(cost.count >= 64 && cost.cpu_us > 0.0 && cost.per_second > 0.0, "{cost:?}");
    }
    let reading = &found.accuracy.audit.reading;
    assert!(reading.arrival_clock.is_some() && reading.pieces_per_read() >= Some(1.0));
    let table = found.to_string();
    assert!(
        table.contains("with 4 streams, p99 TTFT") && table.contains("arrival clock"),
        "{table}"
    );
    let document: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    assert_eq!(document["accuracy"]["streams"], 4);
    let capacity = &document["capacity"];
    assert_eq!(capacity["streams"], capacity["limits"][0]["streams"]);
    assert!(table.contains("streams that this machine carries"), "{table}");
    // The number of cores of the machine, not of the pinned client.
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(document["host"]["cores"], cores);

    let cache = tempfile::tempdir().unwrap();
    let file = found.keep(cache.path()).unwrap();
    let figures = &json(&file)["figures"];
    assert_eq!(figures["requests_per_second"], found.requests.per_core_and_second());
}

#[test]
fn a_plan_that_is_too_much_is_warned_of_and_run() {
    let cache = tempfile::tempdir().unwrap();
    let file = quick(&Arc::default(), 1).keep(cache.path()).unwrap();
    let mut kept = json(&file);
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.workload.requests = 5;
    // A load of five streams with fifty tokens per second is small except for a machine with a
    // very low capacity.
    for (figure, warnings) in [(1e6, 0), (300.0, 1)] {
        let listener = Arc::new(Listener::default());
        let mut context = RunContext::new(listener.clone());
        context.cache = Some(cache.path().to_owned());
        kept["figures"]["chunks_per_second"] = figure.into();
        fs::write(&file, kept.to_string()).unwrap();
        let run = execute(&plan, &context).unwrap();
        assert_eq!(run.log.measured().count(), 5);
        let words = "250 output chunks/s and 0 requests/s needs 83 % of one core";
        assert_eq!(listener.count_events(words), warnings, "{listener:?}");
    }
}

/// Runs the smallest possible self-test.
fn quick(listener: &Arc<Listener>, streams: usize) -> Selftest {
    let mut spec = SelftestSpec::default();
    (spec.streams, spec.duration) = (streams, Duration::from_millis(100));
    selftest(&spec, &RunContext::new(listener.clone())).unwrap()
}

fn json(file: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}
