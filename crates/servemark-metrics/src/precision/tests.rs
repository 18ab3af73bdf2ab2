use servemark_core::{Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts};
use servemark_core::{EarlyStop, RunLog, Sample, Sink, Stamp};
use servemark_rng::NumpyRandom;

use super::*;

/// Returns a request that is sent at `at` milliseconds, has its first token after `ttft`
/// milliseconds and ends after `latency` milliseconds.
fn record(index: usize, at: f64, ttft: f64, latency: f64) -> RequestRecord {
    let stamp = |ms: f64| Stamp::from_nanos(crate::statistics::whole(ms * 1e6) as u64);
    let sample = Sample::new("", 1, 1);
    let mut recorder = Recorder::new(index, Phase::Measure, &sample, stamp(at));
    recorder.record_sent(stamp(at));
    recorder.at(stamp(at + ttft)).delta(Delta::content("a"));
    recorder.finish(Ok(Finish::default()), stamp(at + latency))
}

fn records(count: usize, deviation: f64) -> Vec<RequestRecord> {
    let mut random = NumpyRandom::seeded(5);
    let record = |index| {
        let ttft = 100.0 + random.normal(0.0, deviation);
        record(index, 10.0 * index as f64, ttft, ttft)
    };
    (0..count).map(record).collect()
}

fn facts(requests: usize) -> RunFacts {
    let mut facts = RunFacts::default();
    facts.requests = requests;
    facts
}

fn watch(targets: &str, planned: usize) -> PrecisionWatch {
    PrecisionWatch::new(&Precision::list(targets).unwrap(), 0.95, &facts(planned), 0)
}

fn stop_of(mut watch: PrecisionWatch, records: &[RequestRecord]) -> Option<EarlyStop> {
    records.iter().find_map(|record| {
        watch.add(record);
        watch.look()
    })
}

#[test]
fn a_run_ends_at_the_first_look_that_is_narrow_enough() {
    let records = records(2000, 20.0);
    let stop = stop_of(watch("ttft:mean+-2%", 2000), &records).unwrap();
    // With one look, 385 requests would suffice: (1.96 x 20 / 2)^2.
    assert!((500..=1200).contains(&stop.requests), "{stop:?}");
    assert_eq!(Looks::new(FIRST_LOOK, 2000).number(stop.requests), stop.look);
    // An absolute tolerance, and one that is met at once.
    let absolute = stop_of(watch("ttft:mean+-2ms", 2000), &records).unwrap();
    assert!(absolute.requests.abs_diff(stop.requests) <= 200);
    assert_eq!(stop_of(watch("ttft:mean+-90%", 2000), &records).unwrap().requests, FIRST_LOOK);
    assert_eq!(stop_of(watch("ttft:mean+-0.1%", 2000), &records), None);
    assert_eq!(stop_of(watch("ttft:mean+-90%,ttft:p50+-0.1%", 2000), &records), None);
}

#[test]
fn fewer_requests_than_the_first_look_takes_end_no_run() {
    let records = records(45, 0.001);
    assert_eq!(stop_of(watch("ttft:mean+-90%", 2000), &records), None);
}

#[test]
fn requests_behind_one_that_is_on_its_way_do_not_count() {
    let mut all = records(400, 20.0);
    all.remove(30);
    // Only 30 requests come before the missing one, whatever came after it.
    assert_eq!(stop_of(watch("ttft:mean+-6%", 2000), &all), None);
    assert!(stop_of(watch("ttft:mean+-6%", 2000), &records(400, 20.0)).is_some());
}

#[test]
fn a_log_says_what_the_look_that_ended_the_run_said() {
    let targets = Precision::list("ttft:mean+-2%,ttft:p50+-0.1%").unwrap();
    let header = |requests| Header::new(0, facts(requests), serde_json::Value::Null);
    let of_log = |footer| {
        let log = RunLog::new(header(2000), records(1000, 20.0), Some(footer));
        KnownEnough::of_log(&log, &targets, 0.95)
    };
    let [mean, median] = &of_log(Footer::default())[..] else { panic!("there are two") };
    assert!(mean.is_known && !median.is_known, "{mean}; {median}");
    assert_eq!(mean.estimate.unwrap().samples, 1000);
    let words = median.to_string();
    assert!(words.starts_with("ttft:p50+-0.1% is undecided: "), "{words}");
    assert!(words.ends_with(" times longer"), "{words}");
    let mut stopped = Footer::default();
    stopped.early_stop = Some(EarlyStop::new(15, 600));
    let [mean, _] = &of_log(stopped)[..] else { panic!("there are two") };
    assert!(mean.is_known);
    assert_eq!(mean.estimate.unwrap().samples, 600);
    assert!(mean.to_string().contains("with 95 % confidence over "), "{mean}");
}
