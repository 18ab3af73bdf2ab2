//! Services with routes other than OpenAI's: text-generation-inference, Triton and `MindIE`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::{INPUTS, TasksRun, ran};

/// Flags of a run with six prompts, whose answers have eight tokens each.
const EIGHT: &str = "--datasets synthetic_gen_string --set datasets.config.RequestCount=6 \
                     --set datasets.config.StringConfig.Output.Params.MaxValue=8";

impl TasksRun {
    fn details(&self) -> Vec<Value> {
        let lines = self.file("synthetic_details.jsonl");
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the names of the rows of the first table.
    fn rows(&self) -> Vec<String> {
        let table = self.file("synthetic.csv");
        let names = table.lines().skip(1).filter_map(|line| line.split(',').next());
        names.map(str::to_owned).collect()
    }

    fn route(&self) -> Value {
        let log = self.file("synthetic.runlog.jsonl");
        let header: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        header["header"]["facts"]["api_path"].clone()
    }
}

#[track_caller]
fn streams(model: &str, route: &str) {
    let done = ran(&format!("--models {model} {EIGHT}")).well();
    assert_eq!(done.route(), route);
    assert_eq!(done.rows()[..4], ["E2EL", "TTFT", "TPOT", "ITL"]);
    check_counts(&done);
    for request in done.details() {
        assert_eq!(request["time_points"].as_array().unwrap().len(), 9, "{request}");
    }
    assert!(done.results().join("synthetic_plot.html").exists());
}

#[track_caller]
fn answers_whole(model: &str, route: &str) {
    let done = ran(&format!("--models {model} {EIGHT}")).well();
    assert_eq!(done.route(), route);
    assert_eq!(done.rows(), ["E2EL", "InputTokens", "OutputTokens", "OutputTokenThroughput"]);
    check_counts(&done);
    for request in done.details() {
        assert_eq!(request["time_points"].as_array().unwrap().len(), 2, "{request}");
    }
}

#[track_caller]
fn check_counts(done: &TasksRun) {
    assert_eq!(done.common("synthetic", "Success Requests"), json!(6));
    assert_eq!(done.common("synthetic", "Failed Requests"), json!(0));
    assert_eq!(done.common("synthetic", "Total Generated Tokens"), json!(48));
    for request in done.details() {
        assert!(request["input"].as_str().unwrap().starts_with('A'), "{request}");
        assert_eq!(request["prediction"].as_str().unwrap().split_whitespace().count(), 8);
    }
    assert!(!done.results().join("synthetic_failed.jsonl").exists());
}

#[test]
fn text_generation_inference_and_mindie_count_their_tokens() {
    streams("tgi_stream_api_general", "/generate_stream");
    streams("mindie_stream_api_general", "/infer");
    answers_whole("tgi_api_general", "/generate");
}

#[test]
fn tritons_answers_are_counted_by_the_simulators_tokenizer() {
    streams("triton_stream_api_general", "/v2/models/mock/generate_stream");
    answers_whole("triton_api_general", "/v2/models/mock/generate");
}

#[test]
fn an_uncounted_piece_is_no_token() {
    let triton = Service::answering(TRITON);
    let (done, _) = triton.request_of("triton_stream_api_general");
    assert_eq!(done.common("custom", "Success Requests"), json!(1));
    assert_eq!(done.common("custom", "Total Generated Tokens"), json!(0));
    let table = done.file("custom.csv");
    assert!(!table.contains("TPOT") && table.contains("TTFT"), "{table}");
}

#[test]
fn answers_that_break_are_failures() {
    let faults = ["status:503", "cut@3", "bad-frame@2", "error@2:object", "empty"];
    for model in ["tgi_stream_api_general", "triton_stream_api_general"] {
        for fault in faults {
            let done = ran(&format!(
                "--models {model} {EIGHT} --num-warmups 0 --set models.retry=1 \
                 --simulate-fault {fault}/3"
            ))
            .well();
            let counts = ["Success Requests", "Failed Requests"]
                .map(|row| done.common("synthetic", row).as_u64());
            assert_eq!(counts, [Some(4), Some(2)], "{model}, {fault}");
            let failed = done.file("synthetic_failed.jsonl");
            assert_eq!(failed.lines().count(), 2, "{failed}");
            let first: Value = serde_json::from_str(failed.lines().next().unwrap()).unwrap();
            assert_ne!(first["error_info"], "", "{model}, {fault}");
            assert!(done.output_text().contains("Failed Reason"), "{model}, {fault}");
        }
    }
}

#[test]
fn requests_are_sent_as_aisbench_sends_them() {
    let parameters = r#"{"ignore_eos": false, "temperature": 0.01, "max_new_tokens": 7}"#;
    let text = r#""Question: How many?\nAnswer: ""#;
    let tgi = Service::answering(TGI);
    let (_, requested) = tgi.request_of("tgi_stream_api_general");
    assert_eq!(requested.route, "POST /generate_stream HTTP/1.1");
    assert_eq!(requested.body, format!(r#"{{"inputs": {text}, "parameters": {parameters}}}"#));
    let (_, requested) = tgi.request_of("mindie_stream_api_general");
    assert_eq!(requested.route, "POST /infer HTTP/1.1");
    let expected = format!(r#"{{"inputs": {text}, "stream": true, "parameters": {parameters}}}"#);
    assert_eq!(requested.body, expected);
    let triton = Service::answering(TRITON);
    let (_, requested) = triton.request_of("triton_stream_api_general");
    assert_eq!(requested.route, "POST /v2/models/m/generate_stream HTTP/1.1");
    let (id, rest) = requested.body.strip_prefix(r#"{"id": ""#).unwrap().split_at(36);
    assert_eq!(id.matches('-').count(), 4, "{id}");
    let expected = format!(r#"", "text_input": {text}, "parameters": {parameters}}}"#);
    assert_eq!(rest, expected);
}

const TGI: &str = r#"data: {"token": {"id": 1, "text": "a"}}

data: {"token": {"id": 2, "text": "b"}, "generated_text": "ab"}

"#;

const TRITON: &str = r#"data: {"text_output": "a"}

data: {"text_output": "b"}

"#;

/// A server that records its requests.
struct Service {
    port: u16,
    requested: Arc<Mutex<Vec<RequestedBody>>>,
}

#[derive(Clone, Debug)]
struct RequestedBody {
    route: String,
    body: String,
}

impl Service {
    /// Starts a server that answers every request with `events`.
    fn answering(events: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requested: Arc<Mutex<Vec<RequestedBody>>> = Arc::default();
        let kept = Arc::clone(&requested);
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                thread::spawn(move || answer(socket, events, &kept));
            }
        });
        Self { port, requested }
    }

    /// Runs `model` on the only row of a data set and returns the run with its request.
    #[track_caller]
    fn request_of(&self, model: &str) -> (TasksRun, RequestedBody) {
        let line = format!(
            "--models {model} --custom-dataset-path {INPUTS}/custom.jsonl --num-prompts 1 \
             --num-warmups 0 --host-ip 127.0.0.1 --host-port {} --model-name m",
            self.port
        );
        let done = ran(&line).well();
        let mut requested = std::mem::take(&mut *self.requested.lock().unwrap());
        assert_eq!(requested.len(), 1, "{requested:?}");
        (done, requested.remove(0))
    }
}

/// Records the request of a connection, if there is one, and answers it.
fn answer(mut socket: TcpStream, events: &str, kept: &Mutex<Vec<RequestedBody>>) {
    let Some(requested) = RequestedBody::read(&mut socket) else { return };
    kept.lock().unwrap().push(requested);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n";
    let answer = format!("{head}Content-Length: {}\r\n\r\n{events}", events.len());
    socket.write_all(answer.as_bytes()).unwrap();
}

impl RequestedBody {
    fn read(socket: &mut TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(socket);
        let lines = reader.by_ref().lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let length = head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
        });
        let mut body = vec![0; length?];
        reader.read_exact(&mut body).unwrap();
        Some(Self { route: head[0].clone(), body: String::from_utf8(body).unwrap() })
    }
}
