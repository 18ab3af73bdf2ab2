//! Replays complete runs of vLLM's client: the same command line sends the same requests in the
//! same order and prints the same lines.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// A request as received by the server.
#[derive(Clone, Debug, Default)]
struct ObservedRun {
    /// Request line, such as `POST /v1/completions HTTP/1.1`.
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

/// Answers like the server of a recorded run and records the requests.
struct Replay {
    answers: Vec<(ObservedRun, Value)>,
    observed: Vec<ObservedRun>,
}

impl Replay {
    /// Returns the recorded answer to an equal request, otherwise any recorded answer on its
    /// route.
    fn answer(&mut self, request: ObservedRun) -> Value {
        let on_route = || self.answers.iter().filter(|(recorded, _)| recorded.line == request.line);
        let same = on_route().find(|(recorded, _)| recorded.body() == request.body());
        let answer = same.or_else(|| on_route().next()).map(|(_, answer)| answer.clone());
        self.observed.push(request);
        answer.unwrap_or_default()
    }
}

/// Starts a server on loopback that lives as long as the test process.
fn serve(recorded: &Value) -> (String, Arc<Mutex<Replay>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let base = format!("http://{}", listener.local_addr().expect("it is bound"));
    let answer = |request: &Value| (ObservedRun::of(request), request["answer"].clone());
    let answers = recorded["requests"].as_array().expect("a list").iter().map(answer).collect();
    let replay = Arc::new(Mutex::new(Replay { answers, observed: Vec::new() }));
    let shared = Arc::clone(&replay);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let replay = Arc::clone(&shared);
            thread::spawn(move || while exchange(&stream, &replay).is_some() {});
        }
    });
    (base, replay)
}

/// Reads one request and writes its answer; `None` when the client has closed the connection.
fn exchange(mut stream: &TcpStream, replay: &Mutex<Replay>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok);
    let mut request = ObservedRun { line: lines.next()?, ..ObservedRun::default() };
    for (name, value) in lines.take_while(|line| !line.is_empty()).filter_map(|line| header(&line))
    {
        request.headers.insert(name, value);
    }
    let length =
        request.headers.get("content-length").map_or(0, |text| text.parse().expect("a number"));
    reader.take(length).read_to_string(&mut request.body).ok()?;
    let answer = replay.lock().expect("nobody panicked").answer(request);
    let (status, body) = (answer["status"].as_u64().unwrap_or(404), text(&answer["body"]));
    let (kind, length) = (text(&answer["type"]), body.len());
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).ok()
}

fn header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(": ")?;
    Some((name.to_lowercase(), value.to_owned()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl ObservedRun {
    fn of(recorded: &Value) -> Self {
        let pairs = recorded["headers"].as_array().expect("a list").iter();
        let header = |pair: &Value| (text(&pair[0]).to_lowercase(), text(&pair[1]));
        let [line, body] = ["line", "body"].map(|key| text(&recorded[key]));
        Self { line, headers: pairs.map(header).collect(), body }
    }

    /// Returns whether the request belongs to the load, and not to control routes or probes.
    fn is_load(&self) -> bool {
        if self.body().contains(r#""prompt":"Hi""#) {
            return false;
        }
        let beside = ["/v1/models ", "/tokenize ", "/detokenize ", "_profile ", "/metrics "];
        !beside.iter().any(|route| self.line.contains(route))
    }

    /// Returns the body without Python's spacing; the keys keep their order.
    fn body(&self) -> String {
        serde_json::from_str(&self.body)
            .map_or_else(|_| self.body.clone(), |body: Value| body.to_string())
    }

    #[track_caller]
    fn check(&self, recorded: &Self, case: &str) {
        assert_eq!(self.line, recorded.line, "{case}");
        assert_eq!(self.body(), recorded.body(), "{case}");
        // Python's library sends a content type even without a body.
        let is_ours = |name: &str| name != "content-type" || !self.body.is_empty();
        for (name, value) in recorded.headers.iter().filter(|(name, _)| is_ours(name)) {
            assert_eq!(self.headers.get(name), Some(value), "{name}: {case}");
        }
    }
}

#[track_caller]
fn check_all(ours: &[ObservedRun], recorded: &[ObservedRun], case: &str) {
    let lines =
        |requests: &[ObservedRun]| requests.iter().map(|one| one.line.clone()).collect::<Vec<_>>();
    assert_eq!(lines(ours), lines(recorded), "{case}");
    ours.iter().zip(recorded).for_each(|(ours, recorded)| ours.check(recorded, case));
}

/// Separates the load from the other requests; vLLM reads the counters twice where our program
/// reads them once.
fn parted(requests: impl Iterator<Item = ObservedRun>, in_order: bool) -> [Vec<ObservedRun>; 2] {
    let known = requests.filter(|request| !request.line.contains("/metrics "));
    let (mut load, mut beside): (Vec<ObservedRun>, Vec<ObservedRun>) =
        known.partition(ObservedRun::is_load);
    let requested = |request: &ObservedRun| (request.line.clone(), request.body());
    beside.sort_by_key(requested);
    // The number of probes depends on timing.
    beside.dedup_by_key(|request| requested(request));
    if !in_order {
        load.sort_by_key(|request| request.headers["x-request-id"].clone());
    }
    [load, beside]
}

fn check(recorded: &Value) {
    let (base, replay) = serve(recorded);
    let argv: Vec<String> = serde_json::from_value(recorded["argv"].clone()).expect("texts");
    let case = argv.join(" ");
    let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
    command.current_dir(FIXTURES).env_remove("OPENAI_API_KEY").args(["vllm", "bench", "serve"]);
    if !case.contains("--request-id-prefix") {
        command.args(["--request-id-prefix", "$PREFIX"]);
    }
    let ours = ["--base-url", &base, "--no-run-log", "--layout", "vllm"];
    let output = command.args(&argv).args(ours).output().expect("the program starts");
    let (printed, news) = (output.stdout, String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{case}\n{news}");
    check_lines(&String::from_utf8_lossy(&printed).replace(&base, "$BASE"), recorded, &case);
    let in_order = case.contains("--max-concurrency 1 ");
    let ours = parted(replay.lock().expect("nobody panicked").observed.drain(..), in_order);
    let recorded = recorded["requests"].as_array().expect("a list").iter().map(ObservedRun::of);
    for (ours, recorded) in ours.iter().zip(parted(recorded, in_order)) {
        check_all(ours, &recorded, &case);
    }
}

/// Checks the output before the table, except for vLLM's remarks on other programs.
#[track_caller]
fn check_lines(message: &str, recorded: &Value, case: &str) {
    let lines = recorded["said"].as_array().expect("a list").iter().map(text);
    let lines: Vec<String> = lines.filter(|line| !line.starts_with("tip: ")).collect();
    let (arguments, message) = message.split_once('\n').expect("several lines");
    assert!(arguments.starts_with("Namespace(subparser='bench', bench_type='serve', "), "{case}");
    let ours: Vec<&str> = message.lines().take(lines.len()).collect();
    assert_eq!(ours, lines, "{case}");
}

#[test]
fn the_same_command_line_sends_the_same_requests() {
    let runs = fs::read_to_string(format!("{FIXTURES}/vllm/runs.json")).unwrap();
    let runs: Vec<Value> = serde_json::from_str(&runs).unwrap();
    assert!(runs.len() > 20);
    thread::scope(|scope| {
        for some in runs.chunks(runs.len().div_ceil(4)) {
            scope.spawn(|| some.iter().for_each(check));
        }
    });
}
