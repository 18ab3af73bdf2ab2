//! The sampler, with servers that behave and servers that do not.

use std::fmt::Write;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use servemark_client::{Credentials, MetricsUrl, Target, TargetSpec};
use servemark_core::{MonotonicClock, Telemetry, TelemetryLine};
use servemark_mock::{ImitatedEngine, MockServer, MockSpec};
use servemark_telemetry::{DeviceReader, ReadingOccasion, Sampler, SamplerSource, SamplerSpec};
use servemark_testkit::{ExporterAnswer, ScriptedExporter as Exporter};

use crate::recorded::text;

/// A running sampler, with the lines and the problems that it has reported.
struct Sampling {
    sampler: Sampler,
    lines: Receiver<TelemetryLine>,
    telemetry: Telemetry,
    problems: Arc<Mutex<Vec<String>>>,
}

impl Sampling {
    fn start(sources: Vec<SamplerSource>) -> Self {
        Self::with(Duration::from_millis(50), sources)
    }

    fn with(interval: Duration, sources: Vec<SamplerSource>) -> Self {
        let (tx, lines) = channel();
        let problems: Arc<Mutex<Vec<String>>> = Arc::default();
        let reported = Arc::clone(&problems);
        let sampler = Sampler::start(
            SamplerSpec::new(sources, interval),
            MonotonicClock::start(),
            Arc::new(move |line| drop(tx.send(line))),
            Arc::new(move |source, why| reported.lock().unwrap().push(format!("{source}: {why}"))),
        );
        Self { sampler: sampler.unwrap(), lines, telemetry: Telemetry::default(), problems }
    }

    /// Waits for the next sample that `is_wanted`, and adds all lines up to it.
    fn until(&mut self, is_wanted: impl Fn(&Telemetry) -> bool) {
        while !is_wanted(&self.telemetry) {
            self.telemetry.add(self.lines.recv().unwrap());
        }
    }

    fn ask_now(&mut self) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build().unwrap();
        runtime.block_on(self.sampler.ask_now());
    }

    fn finish(self) -> (Telemetry, Vec<String>) {
        let mut telemetry = self.telemetry;
        self.sampler.finish().unwrap();
        self.lines.iter().for_each(|line| telemetry.add(line));
        let problems = self.problems.lock().unwrap().clone();
        (telemetry, problems)
    }
}

fn source(url: &str) -> SamplerSource {
    SamplerSource::at(&url.parse::<MetricsUrl>().unwrap()).unwrap()
}

fn names(telemetry: &Telemetry) -> Vec<&str> {
    telemetry.series.iter().map(|head| head.name.as_str()).collect()
}

fn gaps(telemetry: &Telemetry) -> Vec<&str> {
    telemetry.samples.iter().filter_map(|sample| sample.error.as_deref()).collect()
}

#[test]
fn the_simulators_own_metrics_are_read() {
    let server = MockServer::start(MockSpec::default()).unwrap();
    let target = TargetSpec::new(server.base_url().parse().unwrap());
    let target = Target::new(&target, Credentials::new()).unwrap();
    let mut sampling = Sampling::start(vec![SamplerSource::of_server(&target)]);
    sampling.until(|telemetry| telemetry.samples.len() > 2);
    let (telemetry, problems) = sampling.finish();
    assert_eq!(telemetry.sources[0].name, format!("{}/metrics", server.base_url()));
    for name in ["running", "waiting", "generated_tokens", "requests", "ttft", "e2e"] {
        assert!(names(&telemetry).contains(&name), "{name}");
    }
    assert!(problems.is_empty() && gaps(&telemetry).is_empty());
    assert!(telemetry.samples.is_sorted_by_key(|sample| sample.at));
    // Nothing changes on an idle server, so the later samples are empty.
    assert!(!telemetry.samples[0].values.is_empty() && telemetry.samples[1].values.is_empty());
}

#[test]
fn all_sources_can_be_asked_at_once_between_their_usual_questions() {
    let exporter = Exporter::start(|number| {
        ExporterAnswer::Text(format!("vllm:num_requests_running {number}\n"))
    });
    let mut sampling =
        Sampling::with(Duration::from_secs(3600), vec![source(&exporter.url("/metrics"))]);
    for _ in 0..3 {
        sampling.ask_now();
    }
    let (telemetry, _) = sampling.finish();
    let values: Vec<f64> = telemetry.samples.iter().map(|sample| sample.values[0].1).collect();
    assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0], "the first, the three and the last");
}

/// Starts an exporter of a histogram that counts the requests, and that fails once.
fn queue_times(failing: usize) -> Exporter {
    Exporter::start(move |number| {
        if number == failing {
            return ExporterAnswer::Status(503);
        }
        let name = "vllm:request_queue_time_seconds_bucket";
        ExporterAnswer::Text(format!("{name}{{le=\"+Inf\"}} {number}\n"))
    })
}

#[test]
fn histograms_are_read_at_both_ends_on_order_and_after_a_gap() {
    let exporter = queue_times(3);
    let mut sampling =
        Sampling::with(Duration::from_secs(3600), vec![source(&exporter.url("/metrics"))]);
    for _ in 0..4 {
        sampling.ask_now();
    }
    let (telemetry, _) = sampling.finish();
    let counts: Vec<f64> =
        telemetry.samples.iter().filter_map(|it| Some(it.histograms.first()?.1.total())).collect();
    assert_eq!(counts, [0.0, 1.0, 2.0, 4.0, 5.0]);

    let exporter = queue_times(2);
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics"))]);
    sampling.until(|telemetry| telemetry.samples.len() > 4);
    let has_histograms =
        sampling.telemetry.samples.iter().map(|sample| !sample.histograms.is_empty());
    assert_eq!(has_histograms.collect::<Vec<_>>(), [true, false, false, true, false]);
}

#[test]
fn a_source_that_fails_leaves_a_gap_and_is_told_of_once() {
    let exporter = Exporter::start(|number| match number {
        2 => ExporterAnswer::Status(404),
        3 => ExporterAnswer::Hangup,
        4 => ExporterAnswer::Text("<html>busy</html>".to_owned()),
        _ => ExporterAnswer::Text(format!("vllm:num_requests_running {number}\n")),
    });
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics"))]);
    let read =
        |telemetry: &Telemetry| telemetry.samples.iter().filter(|it| it.error.is_none()).count();
    sampling.until(|telemetry| read(telemetry) > 3);
    let (telemetry, problems) = sampling.finish();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let gaps = gaps(&telemetry);
    assert!(gaps[0].contains("404"), "{gaps:?}");
    assert!(gaps.contains(&"the answer has no line of a metric"), "{gaps:?}");
    assert_eq!(names(&telemetry), ["running"]);
}

#[test]
fn a_source_that_is_not_there_delays_no_other() {
    let exporter =
        Exporter::start(|_| ExporterAnswer::Text("vllm:num_requests_running 1\n".to_owned()));
    // Nothing listens any more at the address of a listener that is gone.
    let addr = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = format!("http://{addr}/metrics");
    let mut sampling = Sampling::start(vec![source(&silent), source(&exporter.url("/metrics"))]);
    let of = |telemetry: &Telemetry| telemetry.samples.iter().filter(|it| it.source == 1).count();
    sampling.until(|telemetry| of(telemetry) > 4);
    let (telemetry, problems) = sampling.finish();
    assert_eq!(problems.len(), 1);
    assert_eq!(gaps(&telemetry).len(), 1, "one gap that never ends");
}

/// A reading is given up after two seconds, and the caller does not wait for that.
#[test]
fn a_source_that_does_not_answer_delays_nothing_that_follows() {
    let exporter = Exporter::start(|_| ExporterAnswer::Silence);
    let mut sampling =
        Sampling::with(Duration::from_secs(3600), vec![source(&exporter.url("/metrics"))]);
    sampling.ask_now();
    let early: Vec<TelemetryLine> = sampling.lines.try_iter().collect();
    assert!(matches!(early.as_slice(), [] | [TelemetryLine::Source(_)]), "{early:?}");
    for line in early {
        sampling.telemetry.add(line);
    }
    let (telemetry, problems) = sampling.finish();
    assert_eq!((gaps(&telemetry).len(), problems.len()), (1, 1), "{problems:?}");
    assert!(gaps(&telemetry)[0].contains("time-out"), "{:?}", gaps(&telemetry));
}

/// The second answer is missing on the open connection, the third one on a new one.
#[test]
fn a_source_that_falls_silent_is_read_again_when_it_answers() {
    let exporter = Exporter::start(|number| match number {
        1 | 2 => ExporterAnswer::Silence,
        _ => ExporterAnswer::Text(format!("vllm:num_requests_running {number}\n")),
    });
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics"))]);
    sampling.until(|telemetry| telemetry.samples.iter().any(|it| it.values == [(0, 3.0)]));
    let (telemetry, problems) = sampling.finish();
    assert_eq!(gaps(&telemetry), ["the total time-out of 2s passed"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn a_source_that_fails_is_not_asked_again_at_the_end() {
    let exporter = Exporter::start(|_| ExporterAnswer::Status(404));
    let mut sampling =
        Sampling::with(Duration::from_secs(3600), vec![source(&exporter.url("/a/metrics?key=k"))]);
    sampling.until(|telemetry| !telemetry.samples.is_empty());
    let (telemetry, _) = sampling.finish();
    assert_eq!(exporter.heads().len(), 1);
    let gap = "the server answered 404 for /a/metrics; what it says is left out";
    assert!(gaps(&telemetry)[0].starts_with(gap), "{:?}", gaps(&telemetry));
}

#[test]
fn an_answer_without_end_is_a_gap() {
    let exporter = Exporter::start(|_| ExporterAnswer::Endless);
    let mut sampling =
        Sampling::with(Duration::from_secs(3600), vec![source(&exporter.url("/metrics"))]);
    sampling.until(|telemetry| !telemetry.samples.is_empty());
    let (telemetry, _) = sampling.finish();
    // A busy machine may not get that far in two seconds.
    let reason = gaps(&telemetry)[0];
    assert!(reason == "the answer has 16 MiB or more" || reason.contains("time-out"), "{reason}");
}

#[test]
fn a_restarted_server_counts_from_zero_and_a_long_text_is_read() {
    let long = |value: usize| {
        let mut text = String::from("# TYPE noise gauge\n");
        for line in 0..40_000 {
            let _ = writeln!(text, "noise{{line=\"{line}\",filling=\"{:x<20}\"}} 1.0", "");
        }
        format!("{text}vllm:generation_tokens_total {value}\n")
    };
    let exporter =
        Exporter::start(move |number| ExporterAnswer::Text(long([500, 900, 20][number.min(2)])));
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics"))]);
    sampling.until(|telemetry| telemetry.samples.iter().any(|it| it.values == [(0, 20.0)]));
    let (telemetry, problems) = sampling.finish();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(names(&telemetry), ["generated_tokens"]);
}

#[test]
fn secrets_of_an_address_are_sent_and_never_told() {
    let exporter = Exporter::start(|_| ExporterAnswer::Status(403));
    let url = exporter.url("/metrics?token=hush-hush").replace("http://", "http://me:s3cr3t@");
    let mut sampling = Sampling::start(vec![source(&url)]);
    sampling.until(|telemetry| !telemetry.samples.is_empty());
    let (telemetry, problems) = sampling.finish();
    let head = exporter.heads().remove(0);
    assert!(head.starts_with("GET /metrics?token=hush-hush HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("authorization: basic bwu6cznjcjn0\r\n"), "{head}");
    let message = format!("{telemetry:?} {problems:?}");
    assert!(!message.contains("hush") && !message.contains("s3cr3t"), "{message}");
}

/// Servers repeat the address on their error pages, escaped, decoded or in other forms.
#[test]
fn secrets_that_a_server_repeats_in_any_form_are_never_told() {
    let page = "<p>/metrics?user=us3r&amp;token=hush%20hush</p> /metrics?user=us3r&token=hush hush \
                hush+hush us3r Authorization: Basic bWU6czNjcjN0 me:s3cr3t s3cr3t";
    for status in [401, 404, 500] {
        let exporter = Exporter::start(move |_| ExporterAnswer::Refusal(status, page.to_owned()));
        let url = exporter.url("/metrics?user=us3r&token=hush%20hush#part");
        let url = url.replace("http://", "http://me:s3cr3t@");
        let mut sampling = Sampling::start(vec![source(&url)]);
        sampling.until(|telemetry| !telemetry.samples.is_empty());
        let (telemetry, problems) = sampling.finish();
        let message = format!("{telemetry:?} {problems:?}");
        assert!(message.contains(&format!("the server answered {status} for /metrics;")));
        for secret in ["hush", "us3r", "s3cr3t", "bWU6", "Basic"] {
            assert!(!message.contains(secret), "{secret} is in {message}");
        }
    }
}

/// Without secrets the server's own words help.
#[test]
fn what_a_server_says_is_told_if_the_address_has_no_secrets() {
    let exporter = Exporter::start(|_| ExporterAnswer::Refusal(404, "no such page".to_owned()));
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics"))]);
    sampling.until(|telemetry| !telemetry.samples.is_empty());
    let (telemetry, _) = sampling.finish();
    assert!(gaps(&telemetry)[0].contains("404 for /metrics: no such page"), "{telemetry:?}");
}

#[test]
fn names_of_one_address_are_one_source() {
    let of_server = |base: &str| {
        let target = TargetSpec::new(base.parse().unwrap());
        SamplerSource::of_server(&Target::new(&target, Credentials::new()).unwrap())
    };
    let server = of_server("http://127.0.0.1:8000");
    for url in ["http://localhost:8000/metrics", "http://[::1]:8000/metrics/"] {
        assert!(server.is_same(&source(url)) && source(url).is_same(&server), "{url}");
    }
    for url in [
        "http://localhost:8001/metrics",
        "http://localhost:8000/other",
        "http://localhost:8000/metrics?a=b",
        "http://gpu0:8000/metrics",
    ] {
        assert!(!server.is_same(&source(url)), "{url}");
    }
    let devices = || SamplerSource::of_devices(Box::new(OneGpu { readings: 0 }));
    assert!(devices().is_same(&devices()) && !devices().is_same(&server));
}

#[test]
fn sglangs_preemptions_are_read() {
    let spec = MockSpec { engine: Some(ImitatedEngine::Sglang), ..MockSpec::default() };
    let server = MockServer::start(spec).unwrap();
    let url = format!("{}/metrics", server.base_url());
    let mut sampling = Sampling::start(vec![source(&url)]);
    sampling.until(|telemetry| !telemetry.samples.is_empty());
    let (telemetry, _) = sampling.finish();
    assert!(names(&telemetry).contains(&"preemptions"), "{:?}", names(&telemetry));
}

/// Returns a text of a real vLLM, whole or with the lines that are read alone, which all vary with
/// `number`.
fn vllm(number: usize, is_whole: bool) -> String {
    let text = text("vllm-0.32.0.metrics.txt");
    let is_read = |line: &&str| {
        let name = line.split(['{', ' ']).next().unwrap();
        ["vllm:num_requests_running", "vllm:e2e_request_latency_seconds_bucket"].contains(&name)
    };
    let mut varied = String::new();
    for line in text.lines().filter(|line| is_whole || is_read(line)) {
        match line.rsplit_once(' ').filter(|_| is_read(&line)) {
            Some((key, _)) => writeln!(varied, "{key} {number}").unwrap(),
            // Names that the vocabulary does not know.
            None => writeln!(varied, "{}", line.replace("vllm:", "other:")).unwrap(),
        }
    }
    varied
}

/// Reads from an exporter that gives these answers after a whole text, until it has given `count`.
/// Returns what was read, which numbers the running requests had, and which requests had a query.
#[track_caller]
fn filtered(
    count: usize,
    script: impl Fn(usize) -> ExporterAnswer + Send + Sync + 'static,
) -> (Telemetry, Vec<f64>, Vec<bool>) {
    let exporter = Exporter::start(move |number| match number {
        0 => ExporterAnswer::Text(vllm(0, true)),
        _ => script(number),
    });
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics?a=b"))]);
    sampling.until(|telemetry| telemetry.samples.len() >= count);
    let (telemetry, problems) = sampling.finish();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(names(&telemetry), ["e2e", "running"], "{:?}", telemetry.series);
    let heads = exporter.heads();
    let (plain, asking) =
        ("GET /metrics?a=b HTTP/1.1\r\n", "GET /metrics/?a=b&name%5B%5D=vllm:e2e");
    assert!(heads.iter().all(|head| head.starts_with(plain) || head.starts_with(asking)));
    let running = telemetry.samples.iter().filter_map(|it| Some(it.values.first()?.1)).collect();
    (telemetry, running, heads.iter().map(|head| head.starts_with(asking)).collect())
}

#[test]
fn a_server_that_can_is_asked_for_what_is_read_alone() {
    let (telemetry, running, asked) =
        filtered(4, |number| ExporterAnswer::Text(vllm(number, false)));
    assert!(gaps(&telemetry).is_empty(), "{:?}", gaps(&telemetry));
    assert_eq!(running[..4], [0.0, 1.0, 2.0, 3.0]);
    assert!(!asked[0] && asked[1..].iter().all(|asked| *asked), "{asked:?}");
}

#[test]
fn a_server_that_cannot_leave_lines_out_is_asked_for_the_whole_text_again() {
    let whole = |number| ExporterAnswer::Text(vllm(number, true));
    let tries: [fn(usize) -> ExporterAnswer; 5] = [
        |_| ExporterAnswer::Text(String::new()),
        |number| ExporterAnswer::Text(vllm(number, false).lines().take(1).collect()),
        |_| ExporterAnswer::Status(404),
        |_| ExporterAnswer::Hangup,
        |number| ExporterAnswer::Text(vllm(number, true)),
    ];
    for tried in tries {
        let (telemetry, running, asked) =
            filtered(5, move |number| if number == 1 { tried(number) } else { whole(number) });
        assert!(gaps(&telemetry).is_empty(), "{:?}", gaps(&telemetry));
        let last = u32::try_from(asked.len() - 1).unwrap();
        assert_eq!(running.last(), Some(&f64::from(last)));
        assert!(asked[1] && asked[2..].iter().all(|asked| !asked), "{asked:?}");
    }
}

/// Nothing is known for two seconds, although the next answer is as wanted.
#[test]
fn a_query_that_is_not_answered_leaves_a_gap() {
    let exporter = Exporter::start(|number| match number {
        1 => ExporterAnswer::Silence,
        _ => ExporterAnswer::Text(vllm(number, true)),
    });
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics"))]);
    sampling.until(|telemetry| telemetry.samples.len() > 3);
    let (telemetry, problems) = sampling.finish();
    assert_eq!(gaps(&telemetry), ["the total time-out of 2s passed"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let errors: Vec<bool> = telemetry.samples.iter().map(|it| it.error.is_some()).collect();
    assert_eq!(errors[..4], [false, true, false, false]);
    let asked: Vec<bool> = exporter.heads().iter().map(|head| head.contains("name%5B")).collect();
    assert_eq!(asked[..4], [false, true, false, false]);
}

/// It is not known whether a server that came back leaves lines out, so the whole text is first.
#[test]
fn a_server_that_fails_is_asked_for_the_whole_text_first() {
    let exporter = Exporter::start(|number| match number {
        0 | 4 => ExporterAnswer::Text(vllm(number, true)),
        3 => ExporterAnswer::Status(503),
        _ => ExporterAnswer::Text(vllm(number, false)),
    });
    let mut sampling = Sampling::start(vec![source(&exporter.url("/metrics"))]);
    sampling.until(|telemetry| telemetry.samples.len() > 7);
    let (telemetry, _) = sampling.finish();
    assert_eq!(gaps(&telemetry).len(), 1, "{:?}", gaps(&telemetry));
    let asked: Vec<bool> = exporter.heads().iter().map(|head| head.contains("name%5B")).collect();
    assert_eq!(asked[..7], [false, true, true, true, false, true, true]);
    assert!(exporter.heads()[1].starts_with("GET /metrics/?name%5B%5D=vllm:"));
}

/// Reads one GPU that cannot be read the second time.
#[derive(Debug)]
struct OneGpu {
    readings: u32,
}

impl DeviceReader for OneGpu {
    fn name(&self) -> String {
        "one GPU".to_owned()
    }

    fn read(&mut self, _occasion: ReadingOccasion) -> Result<String, String> {
        self.readings += 1;
        match self.readings {
            2 => Err("the driver is busy".to_owned()),
            number => Ok(format!("DCGM_FI_DEV_POWER_USAGE{{gpu=\"0\"}} {number}00\n")),
        }
    }
}

#[test]
fn devices_of_this_machine_are_a_source() {
    let mut sampling =
        Sampling::start(vec![SamplerSource::of_devices(Box::new(OneGpu { readings: 0 }))]);
    sampling.until(|telemetry| telemetry.samples.len() > 2);
    let (telemetry, problems) = sampling.finish();
    assert_eq!(
        (telemetry.sources[0].name.as_str(), names(&telemetry)),
        ("one GPU", vec!["gpu_power"])
    );
    assert_eq!(telemetry.samples[2].values, [(0, 300.0)]);
    assert_eq!(gaps(&telemetry), ["the driver is busy"]);
    assert_eq!(problems, ["one GPU: the driver is busy"]);
}

/// Writes down why it is read.
#[derive(Debug)]
struct Occasions(Arc<Mutex<Vec<ReadingOccasion>>>);

impl DeviceReader for Occasions {
    fn name(&self) -> String {
        "occasions".to_owned()
    }

    fn read(&mut self, occasion: ReadingOccasion) -> Result<String, String> {
        self.0.lock().unwrap().push(occasion);
        Ok("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 100\n".to_owned())
    }
}

#[test]
fn devices_are_read_in_full_at_both_ends_and_when_they_are_asked() {
    let occasions: Arc<Mutex<Vec<ReadingOccasion>>> = Arc::default();
    let reader = Occasions(Arc::clone(&occasions));
    let mut sampling = Sampling::start(vec![SamplerSource::of_devices(Box::new(reader))]);
    sampling.until(|telemetry| telemetry.samples.len() > 2);
    sampling.ask_now();
    sampling.finish();
    let occasions = occasions.lock().unwrap();
    let count = |wanted| occasions.iter().filter(|occasion| **occasion == wanted).count();
    assert_eq!(count(ReadingOccasion::Ordered), 3, "{occasions:?}");
    assert!(count(ReadingOccasion::Periodic) >= 2, "{occasions:?}");
    let ends = [occasions.first(), occasions.last()];
    assert_eq!(ends, [Some(&ReadingOccasion::Ordered); 2], "{occasions:?}");
}
