//! Bodies recorded with SGLang's own client, compared key by key with this crate's for the same
//! flags.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use servemark_backends::{Backend, BackendName, BackendSpec, CommonSpec, WireBackend};
use servemark_core::{JsonObject, Medium, Sample};
use servemark_testkit::bodies;

/// A recorded run of SGLang's client.
struct Recording {
    name: String,
    argv: Vec<String>,
    requests: Vec<Value>,
}

#[test]
fn we_send_what_the_peer_sends() {
    let recordings = recordings();
    assert!(recordings.len() > 70, "only {} recordings", recordings.len());
    for recording in recordings {
        let backend = recording.backend();
        let bodies = recording.bodies();
        assert!(bodies.len() > 2, "{}", recording.name);
        for body in bodies {
            let request = backend.encode(&recording.sample(body)).unwrap();
            let ours = String::from_utf8(request.body.to_vec()).unwrap();
            assert_eq!(ours, serde_json::to_string(body).unwrap(), "{}", recording.name);
            assert_eq!(request.path, recording.backend_name().path());
        }
    }
}

#[test]
fn completions_carry_pictures_at_the_end() {
    let mut sample = Sample::new("Look:", 2, 4);
    sample.media = vec![Medium::image("http://pictures/1.png".to_owned())];
    let spec = BackendSpec::new(BackendName::Vllm, CommonSpec::new("m"));
    let body = spec.build().encode(&sample).unwrap().body;
    let end = r#""ignore_eos":true,"image_data":["http://pictures/1.png"]}"#;
    assert!(std::str::from_utf8(&body).unwrap().ends_with(end), "{body:?}");
}

#[test]
fn we_flush_where_the_peer_flushes() {
    let mut flushes = 0;
    for recording in recordings() {
        let seconds = recording.value("--flush-cache-timeout").unwrap_or("60");
        let timeout = Duration::from_secs(seconds.parse().unwrap());
        let path = recording.backend_name().server().flush_path(timeout);
        for sent in recording.paths().filter(|path| path.contains("cache")) {
            assert_eq!(sent, path, "{}", recording.name);
            flushes += 1;
        }
    }
    assert!(flushes > 5, "{flushes}");
}

impl Recording {
    fn load(path: &Path) -> Self {
        let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        Self {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            argv: serde_json::from_value(file["argv"].clone()).unwrap(),
            requests: serde_json::from_value(file["requests"].clone()).unwrap(),
        }
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().map(|request| request["path"].as_str().unwrap())
    }

    fn bodies(&self) -> Vec<&Value> {
        let path = self.backend_name().path();
        let options = |request: &&Value| request["path"].as_str().unwrap().ends_with(path);
        self.requests.iter().filter(options).map(|request| &request["body"]).collect()
    }

    fn backend_name(&self) -> BackendName {
        self.value("--backend").unwrap().parse().unwrap()
    }

    fn has(&self, flag: &str) -> bool {
        self.argv.iter().any(|argument| argument == flag)
    }

    fn values(&self, flag: &str) -> &[String] {
        let after = self.argv.iter().position(|argument| argument == flag).map(|at| at + 1);
        let values = after.map_or(&[][..], |start| &self.argv[start..]);
        let count = values.iter().take_while(|value| !value.starts_with("--")).count();
        &values[..count]
    }

    fn value(&self, flag: &str) -> Option<&str> {
        self.values(flag).first().map(String::as_str)
    }

    fn number<T: std::str::FromStr>(&self, flag: &str, default: T) -> T {
        self.value(flag).map_or(default, |value| value.parse().ok().unwrap())
    }

    /// Returns the codec for the few flags that concern a backend, which are mapped by hand.
    fn backend(&self) -> WireBackend {
        let name = self.backend_name();
        let mut spec = BackendSpec::new(name, self.common(name));
        let top_logprobs = self.number("--top-logprobs-num", 0);
        match &mut spec {
            BackendSpec::Generate(spec) => {
                spec.temperature = self.number("--temperature", 0.0);
                spec.top_p = self.number("--top-p", 1.0);
                spec.return_logprob = self.has("--return-logprob");
                spec.top_logprobs_num = top_logprobs;
                let ids = self.values("--token-ids-logprob").iter();
                spec.token_ids_logprob = ids.map(|id| id.parse().unwrap()).collect();
                spec.logprob_start_len = self.number("--logprob-start-len", -1);
                spec.return_routed_experts = self.has("--return-routed-experts");
            }
            BackendSpec::Completions(spec) if self.has("--return-logprob") && top_logprobs > 0 => {
                spec.logprobs = Some(top_logprobs);
            }
            BackendSpec::Chat(spec) => spec.include_usage = self.number("--gsp-num-turns", 1) > 1,
            _ => {}
        }
        spec.build()
    }

    fn common(&self, name: BackendName) -> CommonSpec {
        let model = self.value("--served-model-name").or(self.value("--model"));
        let mut common = CommonSpec::new(model.unwrap_or("mock/model"));
        common.stream = !self.has("--disable-stream");
        common.ignore_eos = !self.has("--disable-ignore-eos");
        common.extra_body = self.extra_body(name);
        common
    }

    fn extra_body(&self, name: BackendName) -> JsonObject {
        let given = self.value("--extra-request-body").unwrap_or("{}");
        let mut extra: JsonObject = serde_json::from_str(given).unwrap();
        let reports = [BackendName::SglangOai, BackendName::SglangOaiChat].contains(&name);
        if self.has("--cache-report") && reports {
            extra.insert("return_cached_tokens_details".to_owned(), json!(true));
        }
        if self.has("--fake-prefill") {
            extra.insert("bootstrap_host".to_owned(), json!("2.2.2.2"));
            extra.insert("bootstrap_room".to_owned(), json!(0));
        }
        extra
    }

    /// Returns the sample that SGLang's client drew, reconstructed from its body: prompt, length
    /// and additional keys.
    fn sample(&self, body: &Value) -> Sample {
        bodies::sample(body).with_extra_body(self.added(body))
    }

    /// Returns the keys that a row of data adds. Their values are taken from the body, so this
    /// tests only their position.
    fn added(&self, body: &Value) -> JsonObject {
        let is_row = self.value("--dataset-name") == Some("openai");
        let row = is_row.then_some(["temperature", "top_p", "tools", "tool_choice"]);
        let keys = row.iter().flatten();
        let named = keys.filter_map(|key| Some(((*key).to_owned(), body.get(*key)?.clone())));
        named.filter(|(key, value)| !(key == "temperature" && *value == json!(0.0))).collect()
    }
}

/// Returns all recordings except those of runs that ended before they sent anything.
fn recordings() -> Vec<Recording> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/bodies"));
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let recordings = entries.map(|path| Recording::load(&path));
    recordings.filter(|recording| !recording.name.starts_with("exit_")).collect()
}
