//! Energy from readings of power and of energy counters.

use std::collections::BTreeMap;
use std::time::Duration;

use servemark_core::{
    Delta, Finish, Footer, Hardware, Header, Phase, Recorder, RunFacts, RunLog, Sample, SeriesHead,
    SeriesKind, Sink, Stamp, Telemetry, TelemetryLine, TelemetrySample, TelemetrySource, Usage,
};
use servemark_metrics::{Energy, MetricPolicy, Metrics};

/// Stamp of a second of the client's clock. The request is due at second 100.
fn at(seconds: f64) -> Stamp {
    Stamp::ZERO + Duration::from_secs_f64(seconds)
}

/// Returns a run of one request of 10 tokens from second 100 to 110, whose first token comes at
/// second 104.
fn run(hardware: Hardware, telemetry: Telemetry) -> Metrics {
    let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("hi", 7, 10), at(100.0));
    recorder.record_sent(at(100.0));
    recorder.output(at(104.0), Delta::content("a"));
    recorder.at(at(110.0)).usage(Usage::new(Some(7), Some(10)));
    recorder.output(at(110.0), Delta::content("b"));
    let record = recorder.finish(Ok(Finish::default()), at(110.0));
    let mut facts = RunFacts::default();
    facts.hardware = hardware;
    let header = Header::new(0, facts, serde_json::Value::Null);
    let mut footer = Footer::default();
    (footer.began, footer.ended) = (Some(at(100.0)), at(110.0));
    let log = RunLog::new(header, vec![record], Some(footer)).with_telemetry(telemetry);
    Metrics::score(&log, &MetricPolicy::native())
}

/// One series: its source, name, kind, labels, and the readings with their seconds.
type Series<'a> = (usize, &'a str, SeriesKind, &'a [(&'a str, &'a str)], Vec<(f64, f64)>);

fn telemetry(sources: &[&str], series: &[Series<'_>]) -> Telemetry {
    let mut telemetry = Telemetry::default();
    for (index, name) in sources.iter().enumerate() {
        telemetry.add(TelemetryLine::Source(TelemetrySource::new(index, *name)));
    }
    for (id, (source, name, kind, labels, _)) in series.iter().enumerate() {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let unit = if *kind == COUNTER { "J" } else { "W" };
        let head = SeriesHead::new(id, *source, *name, *kind).with_unit(unit).with_labels(labels);
        telemetry.add(TelemetryLine::Series(head));
    }
    for (id, (source, _, _, _, readings)) in series.iter().enumerate() {
        for (seconds, value) in readings {
            let mut sample = TelemetrySample::new(*source, at(*seconds), 0);
            sample.values = vec![(id, *value)];
            telemetry.add(TelemetryLine::Sample(sample));
        }
    }
    telemetry
}

/// Returns a reading each second from 98 to 112.
fn each_second(value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (98..=112).map(|second| (f64::from(second), value(f64::from(second)))).collect()
}

const GAUGE: SeriesKind = SeriesKind::Gauge;
const COUNTER: SeriesKind = SeriesKind::Counter;

fn energy(telemetry: Telemetry) -> Energy {
    run(Hardware::default(), telemetry).energy.unwrap()
}

#[test]
fn power_is_integrated_over_the_measurement_and_divided_among_its_phases() {
    let power = each_second(|second| if second < 100.0 { 50.0 } else { 300.0 });
    let energy = energy(telemetry(&["gpus"], &[(0, "gpu_power", GAUGE, &[("gpu", "0")], power)]));
    assert!((energy.joules - 3000.0).abs() < 1e-6, "{energy:?}");
    assert!((energy.mean_watts - 300.0).abs() < 1e-9);
    assert_eq!(energy.joules_per_output_token.map(f64::round), Some(300.0));
    assert_eq!(energy.joules_per_request.map(f64::round), Some(3000.0));
    let phases = energy.phases;
    assert!((phases.prefill_joules - 1200.0).abs() < 1e-6, "{phases:?}");
    assert!((phases.decode_joules - 1800.0).abs() < 1e-6, "{phases:?}");
    assert!(phases.idle_joules.abs() < 1e-6);
    assert!(energy.valid && energy.reasons.is_empty(), "{energy:?}");
}

#[test]
fn a_counter_checks_the_power_and_replaces_it_where_there_is_none() {
    let counter = || each_second(|second| (second - 90.0) * 200.0);
    let alone = energy(telemetry(&["gpus"], &[(0, "gpu_energy", COUNTER, &[], counter())]));
    assert!((alone.joules - 2000.0).abs() < 1e-6 && alone.valid, "{alone:?}");
    let power = (0, "gpu_power", GAUGE, &[][..], each_second(|_| 300.0));
    let both = telemetry(&["gpus"], &[power, (0, "gpu_energy", COUNTER, &[], counter())]);
    let both = energy(both);
    assert_eq!(both.counter_joules.map(f64::round), Some(2000.0));
    assert!(!both.valid && both.devices == 1, "{both:?}");
    let reason = "GPU of gpus: its energy counter says 2000.0 J, its power 3000.0 J";
    assert_eq!(both.reasons, [reason]);
}

/// Readings that lie between two readings of the counter do not repeat its value.
#[test]
fn a_counter_that_is_read_less_often_than_the_power_checks_it() {
    let mut telemetry = telemetry(
        &["gpus"],
        &[(0, "gpu_power", GAUGE, &[], Vec::new()), (0, "gpu_energy", COUNTER, &[], Vec::new())],
    );
    for tenth in 980..=1120 {
        let seconds = f64::from(tenth) / 10.0;
        let mut sample = TelemetrySample::new(0, at(seconds), 0);
        sample.values = vec![(0, 200.0)];
        if [980, 999, 1050, 1101, 1120].contains(&tenth) {
            sample.values.push((1, seconds * 200.0));
        }
        telemetry.add(TelemetryLine::Sample(sample));
    }
    let metrics = run(Hardware::default(), telemetry);
    let energy = metrics.energy.unwrap();
    assert_eq!(energy.counter_joules.map(f64::round), Some(2000.0));
    assert!(energy.valid, "{energy:?}");
}

#[test]
fn a_counter_that_starts_again_is_counted_on() {
    let counter = each_second(|second| {
        if second < 105.0 { 5000.0 + second * 100.0 } else { (second - 104.0) * 100.0 }
    });
    let energy = energy(telemetry(&["gpus"], &[(0, "gpu_energy", COUNTER, &[], counter)]));
    assert!((energy.joules - 1000.0).abs() < 1e-6, "{energy:?}");
}

/// Returns the series of a GPU that always takes 100 W.
fn steady<'a>(source: usize, labels: &'a [(&'a str, &'a str)]) -> Series<'a> {
    (source, "gpu_power", GAUGE, labels, each_second(|_| 100.0))
}

#[test]
fn a_gpu_that_two_sources_report_is_taken_once() {
    let labels = [("UUID", "GPU-1"), ("gpu", "0")];
    let other = [("uuid", "GPU-1")];
    let same = energy(telemetry(&["a", "b"], &[steady(0, &labels), steady(1, &other)]));
    assert_eq!((same.devices, same.joules.round()), (1, 1000.0));
    let two = [("uuid", "GPU-2")];
    let different = energy(telemetry(&["a", "b"], &[steady(0, &labels), steady(1, &two)]));
    assert_eq!((different.devices, different.joules.round()), (2, 2000.0));
}

#[test]
fn gaps_missing_devices_and_few_readings_make_it_invalid() {
    let of = |readings| telemetry(&["gpus"], &[(0, "gpu_power", GAUGE, &[], readings)]);
    let reasons = |readings| energy(of(readings)).reasons.concat();
    let without = |from: f64, to: f64| {
        each_second(|_| 1.0).into_iter().filter(|(at, _)| !(from..=to).contains(at)).collect()
    };
    assert!(reasons(without(103.0, 106.0)).contains("no reading from second 2.0 to 7.0"));
    assert!(reasons(without(90.0, 104.0)).contains("the first reading is from second 5.0"));
    assert!(reasons(without(106.0, 120.0)).contains("the last reading is from second 5.0 of 10.0"));
    assert!(reasons(vec![(99.0, 1.0), (111.0, 1.0)]).contains("0 readings in 10.0 s"));
    let hardware = Hardware { gpus: Some(8), price_per_gpu_hour: None };
    let one_of_eight = run(hardware, of(each_second(|_| 1.0))).energy.unwrap();
    assert_eq!(one_of_eight.reasons, ["8 GPUs are said to serve, and 1 were read"]);
    assert_eq!(run(Hardware::default(), Telemetry::default()).energy, None);
}

#[test]
fn cost_is_the_price_of_all_gpus_for_the_duration() {
    let hardware = Hardware { gpus: Some(2), price_per_gpu_hour: Some(3.6) };
    let cost = run(hardware, Telemetry::default()).cost.unwrap();
    // 2 GPUs for 10 s cost 0.02, for 10 output tokens and 17 in all.
    let near = |value: Option<f64>, expected: f64| {
        assert!((value.unwrap() - expected).abs() < 1e-9 * expected, "{cost:?}");
    };
    near(cost.per_million_output_tokens, 2000.0);
    near(cost.per_million_tokens, 0.02 / 17.0 * 1e6);
    near(cost.per_thousand_requests, 20.0);
    near(cost.output_tokens_per_s_per_gpu, 0.5);
    let without_price = Hardware { price_per_gpu_hour: None, ..hardware };
    let cost = run(without_price, Telemetry::default()).cost.unwrap();
    assert_eq!((cost.gpus, cost.per_million_tokens), (2, None));
    assert_eq!(run(Hardware::default(), Telemetry::default()).cost, None);
}

/// A GPU that is no longer among the readings did not go on with its last power.
#[test]
fn a_gpu_that_is_lost_makes_it_invalid() {
    let of = |absent: &[usize]| {
        let mut telemetry =
            telemetry(&["gpus"], &[steady(0, &[("gpu", "0")]), steady(0, &[("gpu", "1")])]);
        telemetry.samples.clear();
        for second in 98..=112 {
            let mut sample = TelemetrySample::new(0, at(f64::from(second)), 0);
            if second == 98 {
                sample.values = vec![(0, 300.0), (1, 200.0)];
            }
            if second == 105 {
                sample.absent = absent.to_vec();
            }
            telemetry.add(TelemetryLine::Sample(sample));
        }
        energy(telemetry)
    };
    let both = of(&[]);
    assert_eq!((both.joules.round(), both.valid), (5000.0, true), "{both:?}");
    let lost = of(&[1]);
    assert_eq!(lost.reasons, ["GPU 1 of gpus: the last reading is from second 4.0 of 10.0"]);
}

/// An exporter adds labels to a GPU, such as that of the container that uses it.
#[test]
fn a_gpu_whose_labels_change_is_one_gpu() {
    let before = [("UUID", "GPU-1")];
    let after = [("UUID", "GPU-1"), ("pod", "server")];
    let mut telemetry = telemetry(&["gpus"], &[steady(0, &before), steady(0, &after)]);
    telemetry.samples.clear();
    for second in 98..=112 {
        let mut sample = TelemetrySample::new(0, at(f64::from(second)), 0);
        match second {
            98 => sample.values = vec![(0, 200.0)],
            105 => (sample.values, sample.absent) = (vec![(1, 600.0)], vec![0]),
            _ => {}
        }
        telemetry.add(TelemetryLine::Sample(sample));
    }
    let energy = energy(telemetry);
    // 4 s at 200 W, 1 s from 200 to 600 W, 5 s at 600 W.
    assert_eq!((energy.joules.round(), energy.devices), (4200.0, 1));
    assert!(energy.valid, "{energy:?}");
}

#[test]
fn negative_power_makes_it_invalid() {
    let power = each_second(|second| if second > 105.0 { -5.0 } else { 300.0 });
    let energy = energy(telemetry(&["gpus"], &[(0, "gpu_power", GAUGE, &[("gpu", "0")], power)]));
    assert_eq!(energy.reasons, ["GPU 0 of gpus: a reading of its power is negative"]);
}
