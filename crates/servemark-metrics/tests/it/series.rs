//! Series from the raw readings of a log.

use std::time::Duration;

use servemark_core::{
    Delta, Finish, Footer, Header, HistogramReading, Phase, Recorder, RunFacts, RunLog, Sample,
    SeriesHead, SeriesKind, Sink, Stamp, Telemetry, TelemetryLine, TelemetrySample,
    TelemetrySource, Usage,
};
use servemark_metrics::{CountedTwice, HistogramSummary, RunSeries, Series, SeriesSummary};

const SOURCE: &str = "http://server/metrics";

/// Seconds of the client's clock. The first request is due at second 10.
fn at(seconds: f64) -> Stamp {
    Stamp::ZERO + Duration::from_secs_f64(seconds)
}

fn telemetry(heads: &[(&str, SeriesKind, &str)], samples: Vec<TelemetrySample>) -> Telemetry {
    let mut telemetry = Telemetry::default();
    telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, SOURCE)));
    for (id, (name, kind, unit)) in heads.iter().enumerate() {
        let head = SeriesHead::new(id, 0, *name, *kind).with_unit(*unit);
        let head = head.with_bounds(if *kind == SeriesKind::Histogram {
            vec![0.1, 0.2]
        } else {
            Vec::new()
        });
        telemetry.add(TelemetryLine::Series(head));
    }
    for sample in samples {
        telemetry.add(TelemetryLine::Sample(sample));
    }
    telemetry
}

fn values(seconds: f64, values: &[(usize, f64)]) -> TelemetrySample {
    let mut sample = TelemetrySample::new(0, at(seconds), 0);
    sample.values = values.to_vec();
    sample
}

/// Two requests with 7 prompt tokens and 5 output tokens each, from second 10 to 14.
fn log(telemetry: Telemetry) -> RunLog {
    let records = (0..2).map(|index| {
        let due = at(10.0 + index as f64);
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("hi", 7, 5), due);
        recorder.record_sent(due);
        recorder.output(at(13.0), Delta::content("a"));
        recorder.at(at(14.0)).usage(Usage::new(Some(7), Some(5)));
        recorder.output(at(14.0), Delta::content("b"));
        recorder.finish(Ok(Finish::default()), at(14.0))
    });
    let mut footer = Footer::default();
    (footer.began, footer.ended) = (Some(at(10.0)), at(14.0));
    let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
    RunLog::new(header, records.collect(), Some(footer)).with_telemetry(telemetry)
}

#[track_caller]
fn points(series: &[Series], name: &str) -> Vec<(f64, f64)> {
    series.iter().find(|series| series.name == name).unwrap().points.clone()
}

#[test]
fn the_axis_begins_at_the_first_due_time_and_unchanged_values_go_on() {
    let telemetry = telemetry(
        &[("running", SeriesKind::Gauge, "")],
        vec![
            values(9.0, &[(0, 0.0)]),
            values(11.0, &[(0, 2.0)]),
            values(12.0, &[]),
            values(15.0, &[(0, 0.0)]),
        ],
    );
    let log = log(telemetry);
    let all = RunSeries::of(&log);
    assert_eq!(points(&all.series, "running"), [(-1.0, 0.0), (1.0, 2.0), (2.0, 2.0), (5.0, 0.0)]);
    let summary = &SeriesSummary::of(&log, &all)[0];
    assert_eq!((summary.mean, summary.min, summary.max), (2.0, 2.0, 2.0), "only the measurement");
}

#[test]
fn counters_become_rates_and_count_from_zero_after_a_restart() {
    let telemetry = telemetry(
        &[("generated_tokens", SeriesKind::Counter, "tokens")],
        vec![
            values(10.0, &[(0, 100.0)]),
            values(11.0, &[(0, 150.0)]),
            values(13.0, &[(0, 30.0)]),
            TelemetrySample::gap(0, at(13.5), "refused"),
            values(14.0, &[(0, 80.0)]),
            values(15.0, &[]),
        ],
    );
    let all = RunSeries::of(&log(telemetry));
    assert_eq!(points(&all.series, "generated_tokens"), [(1.0, 50.0), (3.0, 15.0), (5.0, 0.0)]);
    assert_eq!(all.series[0].unit, "tokens/s");
    let gap = &all.gaps[0];
    assert_eq!((gap.from_s, gap.to_s, gap.reason.as_str()), (3.5, Some(4.0), "refused"));
}

#[test]
fn a_series_that_is_absent_has_no_points_and_no_increase() {
    let mut lost = values(12.0, &[(1, 60.0)]);
    lost.absent = vec![0, 1];
    let telemetry = telemetry(
        &[("waiting", SeriesKind::Gauge, ""), ("generated_tokens", SeriesKind::Counter, "tokens")],
        vec![
            values(10.0, &[(0, 50.0), (1, 10.0)]),
            values(11.0, &[(1, 20.0)]),
            lost,
            values(13.0, &[]),
            values(14.0, &[(0, 50.0), (1, 90.0)]),
            values(15.0, &[(1, 95.0)]),
        ],
    );
    let all = RunSeries::of(&log(telemetry));
    assert_eq!(
        points(&all.series, "waiting"),
        [(0.0, 50.0), (1.0, 50.0), (4.0, 50.0), (5.0, 50.0)]
    );
    assert_eq!(points(&all.series, "generated_tokens"), [(1.0, 10.0), (5.0, 5.0)]);
}

/// A sample with a reading of the first series, a histogram.
fn counts(seconds: f64, counts: [f64; 3], sum: f64) -> TelemetrySample {
    let mut sample = TelemetrySample::new(0, at(seconds), 0);
    sample.histograms = vec![(0, HistogramReading::new(counts.to_vec(), sum))];
    sample
}

#[test]
fn histograms_become_quantiles_of_what_was_added() {
    let telemetry = telemetry(
        &[("ttft", SeriesKind::Histogram, "s")],
        vec![
            counts(9.0, [50.0, 50.0, 50.0], 2.5),
            counts(11.0, [50.0, 150.0, 150.0], 17.5),
            counts(14.0, [50.0, 150.0, 152.0], 19.5),
        ],
    );
    let log = log(telemetry);
    let all = RunSeries::of(&log);
    let median = &all.series[0];
    assert_eq!(median.labels["quantile"], "0.5");
    assert!((median.points[0].1 - 0.15).abs() < 1e-9, "{median:?}");
    assert_eq!(median.points[1], (4.0, 0.2), "above the highest bound");
    let whole = &HistogramSummary::of(&log)[0];
    assert_eq!((whole.name.as_str(), whole.count), ("ttft", 102.0));
    assert!(
        (whole.p50 - 0.151).abs() < 1e-9 && (whole.mean - 17.0 / 102.0).abs() < 1e-9,
        "{whole:?}"
    );
}

/// SGLang shows a histogram from its first value on.
#[test]
fn a_histogram_that_appears_during_the_run_counts_from_zero() {
    let heads = [("ttft", SeriesKind::Histogram, "s")];
    let later = [counts(11.0, [0.0, 8.0, 8.0], 1.2), counts(14.0, [0.0, 10.0, 10.0], 1.5)];
    let first = |first: &[TelemetrySample]| {
        let samples = [first, &later].concat();
        HistogramSummary::of(&log(telemetry(&heads, samples)))[0].count
    };
    let gap = TelemetrySample::gap(0, at(9.0), "refused");
    assert_eq!((first(&[values(9.0, &[])]), first(&[]), first(&[gap])), (10.0, 2.0, 2.0));
}

#[test]
fn ratios_are_formed_where_a_server_reports_only_their_parts() {
    let telemetry = telemetry(
        &[
            ("prefix_hits", SeriesKind::Counter, "tokens"),
            ("prefix_queries", SeriesKind::Counter, "tokens"),
        ],
        vec![
            values(10.0, &[(0, 0.0), (1, 0.0)]),
            values(11.0, &[(0, 30.0), (1, 40.0)]),
            values(12.0, &[]),
        ],
    );
    let all = RunSeries::of(&log(telemetry));
    assert_eq!(points(&all.series, "prefix_hit_rate"), [(1.0, 0.75)]);
}

#[test]
fn what_a_server_counted_is_held_against_what_we_counted() {
    let heads = [
        ("requests", SeriesKind::Counter, ""),
        ("prompt_tokens", SeriesKind::Counter, "tokens"),
        ("generated_tokens", SeriesKind::Counter, "tokens"),
    ];
    let after = [(0, 12.0), (1, 114.0), (2, 1011.0)];
    let samples = vec![values(9.0, &[(0, 10.0), (1, 100.0), (2, 1000.0)]), values(15.0, &after)];
    let counted = CountedTwice::of(&log(telemetry(&heads, samples.clone())));
    let actual: Vec<_> =
        counted.iter().map(|it| (it.name, it.server, it.ours, it.agrees())).collect();
    let expected = [
        ("requests", 2.0, 2.0, true),
        ("prompt_tokens", 14.0, 14.0, true),
        ("generated_tokens", 11.0, 10.0, false),
    ];
    assert_eq!(actual, expected);
    // The increase of a counter whose server restarted meanwhile is unknown.
    let mut restarted = samples;
    restarted.insert(1, values(12.0, &[(0, 0.0), (1, 0.0), (2, 0.0)]));
    assert!(CountedTwice::of(&log(telemetry(&heads, restarted))).is_empty());
    // The server may have counted before the end if it was asked before.
    let mut asked_early = values(14.5, &after);
    asked_early.took_ns = 1_000_000_000;
    let samples = vec![values(9.0, &[(0, 10.0)]), asked_early];
    assert!(CountedTwice::of(&log(telemetry(&heads, samples))).is_empty());
    // Without a reading after the end the counts are not complete.
    let early = vec![values(9.0, &[(0, 10.0)]), values(13.0, &[(0, 12.0)])];
    assert!(CountedTwice::of(&log(telemetry(&heads, early))).is_empty());
}

#[test]
fn lines_that_refer_to_nothing_are_dropped() {
    let mut telemetry = telemetry(&[("running", SeriesKind::Gauge, "")], Vec::new());
    telemetry.add(TelemetryLine::Series(SeriesHead::new(7, 0, "waiting", SeriesKind::Gauge)));
    let mut sample = TelemetrySample::new(3, at(11.0), 0);
    sample.values = vec![(0, 1.0)];
    telemetry.add(TelemetryLine::Sample(sample));
    telemetry.add(TelemetryLine::Sample(values(12.0, &[(9, 1.0), (0, 3.0)])));
    let all = RunSeries::of(&log(telemetry));
    assert_eq!(points(&all.series, "running"), [(2.0, 3.0)]);
    assert_eq!(all.series.len(), 1);
}
