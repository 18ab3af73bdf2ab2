use super::*;

fn readings() -> Readings {
    Readings::new(0, Arc::default())
}

/// Returns the names of the new series, and the sample.
fn read(readings: &mut Readings, text: &str) -> (Vec<String>, TelemetrySample) {
    let mut lines = readings.read(&mut text.into(), Stamp::ZERO, 0).unwrap();
    let Some(TelemetryLine::Sample(sample)) = lines.pop() else { panic!("no sample") };
    let names = lines.into_iter().map(|line| match line {
        TelemetryLine::Series(head) => head.name,
        other => panic!("{other:?}"),
    });
    (names.collect(), sample)
}

#[test]
fn only_what_changed_is_reported() {
    let mut readings = readings();
    let (names, sample) = read(
        &mut readings,
        "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_waiting 0\nother 7\n",
    );
    assert_eq!((names.len(), sample.values.len()), (2, 2));
    let (names, sample) = read(
        &mut readings,
        "vllm:num_requests_running{engine=\"0\"} 4\nvllm:num_requests_waiting 0\n",
    );
    assert_eq!((names.len(), sample.values.as_slice()), (0, &[(0, 4.0)][..]));
    let (_, sample) = read(&mut readings, "vllm:num_requests_running{engine=\"0\"} NaN\n");
    assert!(sample.values.is_empty());
}

/// The second text has the lines of the first one, and the third has a new one between them.
#[test]
fn lines_with_new_values_and_new_lines_are_read() {
    let mut readings = readings();
    let text = |one: u32, two: u32| {
        format!("# TYPE a gauge\na{{q=\"1\"}} {one}\n# TYPE b counter\nb_total {two}\n")
    };
    assert_eq!(read(&mut readings, &text(1, 5)).1.values, [(0, 1.0), (1, 5.0)]);
    assert_eq!(read(&mut readings, &text(1, 6)).1.values, [(1, 6.0)]);
    assert!(read(&mut readings, &text(1, 6)).1.values.is_empty());
    let longer = text(2, 7).replace("# TYPE b", "a{q=\"2\"} 3\n# TYPE b");
    let (names, sample) = read(&mut readings, &longer);
    assert_eq!((names, sample.values), (vec!["a".to_owned()], vec![(0, 2.0), (1, 7.0), (2, 3.0)]));
    // Without the new line, and with a value that is none.
    let shorter = text(4, 7).replace("b_total 7", "b_total NaN");
    assert_eq!(read(&mut readings, &shorter).1.values, [(0, 4.0)]);
    assert_eq!(read(&mut readings, &text(4, 8)).1.values, [(1, 8.0)]);
    assert_eq!(readings.read(&mut "<html>busy</html>\n".into(), Stamp::ZERO, 0), None);
    assert_eq!(read(&mut readings, &text(4, 9)).1.values, [(1, 9.0)]);
}

#[test]
fn a_histogram_is_one_series_of_its_buckets() {
    let mut readings = readings();
    let text = "sglang:e2e_request_latency_seconds_bucket{le=\"0.5\",m=\"a\"} 1\n\
                sglang:e2e_request_latency_seconds_bucket{le=\"+Inf\",m=\"a\"} 3\n\
                sglang:e2e_request_latency_seconds_bucket{le=\"1.0\",m=\"a\"} 2\n\
                sglang:e2e_request_latency_seconds_count{m=\"a\"} 3\n\
                sglang:e2e_request_latency_seconds_sum{m=\"a\"} 4.5\n";
    let mut lines = readings.read(&mut text.into(), Stamp::ZERO, 0).unwrap();
    let Some(TelemetryLine::Sample(sample)) = lines.pop() else { panic!("no sample") };
    let TelemetryLine::Series(head) = &lines[0] else { panic!("no series") };
    assert_eq!((head.name.as_str(), head.bounds.as_slice()), ("e2e", &[0.5, 1.0][..]));
    assert_eq!((head.labels.len(), head.unit.as_str()), (1, "s"));
    let reading = HistogramReading::new(vec![1.0, 2.0, 3.0], 4.5);
    assert_eq!(sample.histograms, [(0, reading)]);
}

#[test]
fn one_quantity_under_the_names_of_two_engines_is_one_series() {
    let mut readings = readings();
    let (names, sample) = read(
        &mut readings,
        "vllm:num_requests_running 3\nsglang:num_running_reqs 3\n\
         vllm:e2e_request_latency_seconds_bucket{le=\"1\"} 2\n\
         sglang:e2e_request_latency_seconds_bucket{le=\"1\"} 2\n",
    );
    assert_eq!((names.len(), sample.values.as_slice()), (2, &[(1, 3.0)][..]));
    assert_eq!(sample.histograms[0].1.counts, [2.0, 0.0]);
}

#[test]
fn a_histogram_stays_one_series_when_other_lines_are_new() {
    let mut readings = readings();
    let text = |count: u32| {
        format!(
            "vllm:request_queue_time_seconds_bucket{{le=\"0.5\"}} 1\n\
             vllm:request_queue_time_seconds_bucket{{le=\"+Inf\"}} {count}\n"
        )
    };
    assert_eq!(read(&mut readings, &text(3)).0, ["queue_time"]);
    let later = format!("{}vllm:num_requests_running 1\n", text(4));
    let (names, sample) = read(&mut readings, &later);
    assert_eq!(names, ["running"]);
    assert_eq!(sample.histograms[0].1.counts, [1.0, 4.0]);
}

#[test]
fn histograms_are_reported_once_a_second_or_when_they_are_wanted() {
    let mut readings = readings();
    let mut counts = |seconds: f64, count: u32| {
        let text = format!(
            "vllm:request_queue_time_seconds_bucket{{le=\"+Inf\"}} {count}\n\
             vllm:num_requests_running {count}\n"
        );
        let at = Stamp::ZERO + Duration::from_secs_f64(seconds);
        let lines = readings.read(&mut text.as_str().into(), at, 0).unwrap();
        let Some(TelemetryLine::Sample(sample)) = lines.last() else { panic!("no sample") };
        assert_eq!(sample.values, [(1, f64::from(count))], "other readings are always reported");
        if count == 4 {
            readings.want_histograms();
        }
        sample.histograms.first().map(|(_, reading)| reading.total())
    };
    assert_eq!(counts(0.0, 1), Some(1.0));
    assert_eq!(counts(0.1, 2), None);
    assert_eq!(counts(0.9, 3), None);
    assert_eq!(counts(1.0, 4), Some(4.0));
    assert_eq!(counts(1.1, 5), Some(5.0), "it was wanted");
    assert_eq!(counts(2.0, 6), None);
    assert_eq!(counts(2.1, 7), Some(7.0));
}

/// Where histograms are most of a text, the lines of gauges are read apart from them. What is
/// reported must add up to the text, however lengths change.
#[test]
fn values_between_large_histograms_are_those_of_each_text() {
    let histogram = |name: &str, count: u64| -> String {
        let bucket = |bound: u64| format!("vllm:{name}_bucket{{le=\"{bound}\"}} {count}\n");
        (0..40).map(bucket).collect()
    };
    // Counts of one to six digits, that rise and fall.
    let count_at = |step: u64| (step * 7919 + 13) % 10_u64.pow(1 + (step % 6) as u32);
    let mut readings = readings();
    let mut latest = BTreeMap::new();
    for step in 0..200_u64 {
        let count = count_at(step);
        let waiting = if step / 3 % 2 == 0 { 5 } else { count };
        let text = format!(
            "{}vllm:num_requests_running {count}\n{}vllm:num_requests_waiting {waiting}\n",
            histogram("request_queue_time_seconds", count),
            histogram("request_prefill_time_seconds", count * 3),
        );
        let at = Stamp::ZERO + Duration::from_millis(100) * step as u32;
        for line in readings.read(&mut text.as_str().into(), at, 0).unwrap() {
            let TelemetryLine::Sample(sample) = line else { continue };
            assert_eq!(sample.histograms.is_empty(), step % 10 > 0, "{step}");
            latest.extend(sample.values);
            let counts = |(id, reading): (usize, HistogramReading)| (id, reading.counts[7]);
            latest.extend(sample.histograms.into_iter().map(counts));
        }
        let in_histograms = count_at(step - step % 10);
        let expected = [in_histograms * 3, in_histograms, count, waiting].map(|count| count as f64);
        let read: Vec<f64> = latest.values().copied().collect();
        assert_eq!(read, expected, "{step}");
    }
}

#[test]
fn a_gauge_between_large_histograms_that_is_new_is_found_within_a_second() {
    let mut readings = readings();
    let comment = format!("# HELP a {}\n", "long ".repeat(100));
    let mut read = |ms: u64, text: String| -> Vec<(usize, f64)> {
        let at = Stamp::ZERO + Duration::from_millis(ms);
        let mut lines = readings.read(&mut text.as_str().into(), at, 0).unwrap();
        let Some(TelemetryLine::Sample(sample)) = lines.pop() else { panic!("no sample") };
        sample.values
    };
    let text = format!("{comment}vllm:num_requests_running 1\n");
    let longer = format!("{text}{comment}vllm:num_requests_waiting 2\n");
    assert_eq!(read(0, text.clone()), [(0, 1.0)]);
    assert_eq!(read(100, longer.clone()), []);
    assert_eq!(read(1000, longer.clone()), [(1, 2.0)]);
    assert_eq!(read(1100, longer.replace(" 2", " 3")), [(1, 3.0)]);
    // Lines that are missing are noticed at once.
    assert_eq!(read(1200, text.replace(" 1", " 4")), [(0, 4.0)]);
}

#[test]
fn units_become_ours_and_labels_select() {
    let mut readings = readings();
    let (names, sample) = read(
        &mut readings,
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 2\n\
         nv_trt_llm_request_metrics{request_type=\"waiting\"} 5\n\
         nv_trt_llm_request_metrics{request_type=\"max\"} 9\n",
    );
    let mut reported: Vec<_> =
        names.iter().map(String::as_str).zip(sample.values.iter().map(|it| it.1)).collect();
    reported.sort_by_key(|(name, _)| *name);
    let memory = 2.0 * 1024.0 * 1024.0;
    assert_eq!(reported, [("gpu_memory_used", memory), ("gpu_use", 0.5), ("waiting", 5.0)]);
}

#[test]
fn an_unknown_exporter_keeps_its_own_names() {
    let mut readings = readings();
    let (names, sample) = read(
        &mut readings,
        "# TYPE depth gauge\ndepth{q=\"a\"} 1\ndepth{q=\"b\"} 2\n# TYPE done counter\n\
         done_total 3\ndone_created 1.7e9\n# TYPE t histogram\nt_bucket{le=\"1\"} 2\n",
    );
    assert_eq!(names, ["depth", "depth", "done_total"]);
    assert_eq!(sample.values, [(0, 1.0), (1, 2.0), (2, 3.0)]);
}

#[test]
fn labels_that_cannot_be_read_take_no_position() {
    let mut readings = readings();
    let (names, sample) =
        read(&mut readings, "# TYPE a gauge\n# TYPE b gauge\na{q=\"x\\} 1\nb 2\n");
    assert_eq!((names, sample.values), (vec!["b".to_owned()], vec![(0, 2.0)]));
}

#[test]
fn a_text_without_metrics_is_none() {
    let page = "<html>\n<body>not found</body>\n</html>";
    assert_eq!(readings().read(&mut page.into(), Stamp::ZERO, 0), None);
    assert_eq!(readings().read(&mut "".into(), Stamp::ZERO, 0), None);
}

/// A server that starts may answer with a page first.
#[test]
fn a_text_without_metrics_does_not_decide_the_names() {
    let mut readings = readings();
    assert_eq!(readings.read(&mut "<html>starting</html>".into(), Stamp::ZERO, 0), None);
    let (names, _) =
        read(&mut readings, "# TYPE other gauge\nother 1\nvllm:num_requests_running 2\n");
    assert_eq!(names, ["running"]);
}

/// A text that ends early has other lines than the one before and than the one after it.
#[test]
fn a_text_that_ends_early_disturbs_no_later_one() {
    let mut readings = readings();
    let text = |running: u32| {
        format!("vllm:num_requests_running {running}\nvllm:num_requests_waiting {running}\n")
    };
    assert_eq!(read(&mut readings, &text(1)).1.values, [(0, 1.0), (1, 1.0)]);
    assert_eq!(read(&mut readings, &text(1000)[..35]).1.values, [(0, 1000.0)]);
    assert_eq!(readings.read(&mut "".into(), Stamp::ZERO, 0), None);
    assert_eq!(read(&mut readings, &text(5)).1.values, [(0, 5.0), (1, 5.0)]);
}

#[test]
fn labels_without_end_do_not_fill_the_memory() {
    let mut readings = readings();
    let lines: Vec<String> =
        (0..5000).map(|user| format!("vllm:num_requests_running{{user=\"{user}\"}} 1\n")).collect();
    let (names, _) = read(&mut readings, &lines.concat());
    assert_eq!(names.len(), MOST_SERIES);
}

/// A line that is gone, or whose value is no number, is no reading that has not changed.
#[test]
fn a_series_without_a_value_is_absent_until_it_has_one() {
    let mut readings = readings();
    let both = |gpu: &str| {
        format!(
            "DCGM_FI_DEV_POWER_USAGE{{gpu=\"0\"}} 300\nDCGM_FI_DEV_POWER_USAGE{{gpu=\"1\"}} {gpu}\n"
        )
    };
    let one = both("0").lines().next().unwrap().to_owned() + "\n";
    let mut sample = |text: &str| {
        let sample = read(&mut readings, text).1;
        (sample.values, sample.absent)
    };
    assert_eq!(sample(&both("200")), (vec![(0, 300.0), (1, 200.0)], vec![]));
    assert_eq!(sample(&one), (vec![], vec![1]));
    assert_eq!(sample(&one), (vec![], vec![]));
    assert_eq!(sample(&both("200")), (vec![(1, 200.0)], vec![]), "its old value is new again");
    assert_eq!(sample(&both("NaN")), (vec![], vec![1]));
    assert_eq!(sample(&one), (vec![], vec![]));
    assert_eq!(sample(&both("NaN")), (vec![], vec![]));
    assert_eq!(sample(&both("200")), (vec![(1, 200.0)], vec![]));
}

/// An engine may show its own metrics only after its first request.
#[test]
fn known_metrics_that_come_later_have_their_common_names() {
    let mut readings = readings();
    let text = "# TYPE process_open_fds gauge\nprocess_open_fds 7\n";
    assert_eq!(read(&mut readings, text).0, ["process_open_fds"]);
    let later = format!("# TYPE other gauge\nother 1\nvllm:num_requests_running 2\n{text}");
    let (names, sample) = read(&mut readings, &later);
    assert_eq!(names, ["other", "running"]);
    assert_eq!(sample.values, [(1, 1.0), (2, 2.0)]);
}

/// As the format has it, a metric without a declared kind is untyped.
#[test]
fn metrics_without_a_kind_are_read() {
    let mut readings = readings();
    let text = "# TYPE t summary\nt{quantile=\"0.5\"} 1\nt_sum 2\nt_count 3\nt_gsum 2\ndepth{q=\"a\"} 4\n\
                served_total 5\n{\"json\": 1} 6\n{a=\"1\"} 7\n<b>8</b> 9\n";
    let mut lines = readings.read(&mut text.into(), Stamp::ZERO, 0).unwrap();
    lines.pop();
    let kind_of = |line: TelemetryLine| match line {
        TelemetryLine::Series(head) => (head.name, head.kind),
        other => panic!("{other:?}"),
    };
    let expected = [("depth", SeriesKind::Gauge), ("served_total", SeriesKind::Counter)];
    let kinds: Vec<_> = lines.into_iter().map(kind_of).collect();
    assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
}
