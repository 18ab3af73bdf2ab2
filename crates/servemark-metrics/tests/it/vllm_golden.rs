//! vLLM's scripted runs (`fixtures/vllm/metrics` and `fixtures/vllm/results`) as run logs.
//!
//! The fixtures hold times as floats in seconds; a log holds nanoseconds. Those of the results are
//! whole nanoseconds.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use servemark_backends::vllm_counters;
use servemark_core::{
    CountedWork, Delta, ErrorKind, Finish, Footer, Header, JsonObject, Phase, Planned, Recorder,
    RequestError, RequestRecord, RunFacts, RunLog, Sample, ServerTimes, Sink, Stamp, Usage,
};
use servemark_metrics::{MetricPolicy, Slo};

/// One scripted run and the peer's result for it.
#[derive(Deserialize)]
pub(crate) struct Golden {
    #[serde(skip)]
    pub(crate) name: String,
    backend: String,
    pub(crate) args: JsonObject,
    duration: f64,
    /// When each request was ready to be sent.
    arrivals: Vec<f64>,
    /// Texts of `/metrics` before and after the run.
    prometheus: [Option<String>; 2],
    outputs: Vec<Output>,
    /// Outputs of the probes, which were sent beside the requests.
    #[serde(default)]
    probes: Vec<Output>,
    pub(crate) metrics: JsonObject,
}

#[derive(Deserialize)]
struct Output {
    success: bool,
    start_time: f64,
    latency: f64,
    ttft: f64,
    itl: Vec<f64>,
    #[serde(rename = "output_tokens")]
    tokens: u32,
    #[serde(rename = "prompt_len")]
    prompt: u32,
    num_input_sequences: u32,
    generated_text: String,
    error: String,
    server_queue_time: Option<f64>,
    server_ttft: Option<f64>,
    input_audio_duration: f64,
}

impl Golden {
    /// Returns the files of a folder with runs whose server counted tokens; without such counts the
    /// peer asks a tokenizer.
    pub(crate) fn paths(folder: &str) -> impl Iterator<Item = PathBuf> {
        let folder = format!("{}/../../fixtures/vllm/{folder}", env!("CARGO_MANIFEST_DIR"));
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_counted = |path: &PathBuf| !path.to_string_lossy().contains("/uncounted");
        paths.filter(is_counted)
    }

    pub(crate) fn read(path: &Path) -> Self {
        Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            ..serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
        }
    }

    pub(crate) fn generates(&self) -> bool {
        self.backend.starts_with("openai") && !self.backend.contains("embeddings")
    }

    pub(crate) fn policy(&self) -> MetricPolicy {
        let slos = self.args["goodput"].as_array().into_iter().flatten();
        let slos = slos.map(|slo| slo.as_str().unwrap().parse::<Slo>().unwrap());
        let mut policy = MetricPolicy::vllm().with_slos(slos);
        policy.percentiles = self.percentiles();
        policy
    }

    pub(crate) fn percentiles(&self) -> Vec<f64> {
        let percentiles = self.args["metric_percentiles"].as_str().unwrap().split(',');
        percentiles.map(|percent| percent.parse().unwrap()).collect()
    }

    pub(crate) fn log(&self) -> RunLog {
        let mut footer = Footer::default();
        footer.began = Some(Stamp::ZERO);
        footer.ended = stamp(self.duration);
        if let [Some(before), Some(after)] = self.prometheus.each_ref().map(Option::as_ref) {
            let counted = CountedWork::new(vllm_counters(before), vllm_counters(after));
            footer.server_counters = Some(counted);
        }
        let load = self.outputs.iter().zip(&self.arrivals).enumerate();
        let load =
            load.map(|(index, (output, due))| self.record((Phase::Measure, index, *due), output));
        let probes = self.probes.iter().enumerate();
        let probes = probes
            .map(|(index, output)| self.record((Phase::Probe, index, output.start_time), output));
        let records = load.chain(probes).collect();
        RunLog::new(Header::new(STARTED_UNIX_NS, self.facts(), Value::Null), records, Some(footer))
    }

    fn facts(&self) -> RunFacts {
        let mut facts = RunFacts::default();
        facts.backend.clone_from(&self.backend);
        // Of all backends only this one tells vLLM the length of the audio.
        if self.outputs.iter().any(|output| output.input_audio_duration > 0.0) {
            "openai-audio".clone_into(&mut facts.backend);
        }
        let route = if self.generates() { "completions" } else { "embeddings" };
        facts.api_path = format!("/v1/{route}");
        "tokenizers/gpt2".clone_into(&mut facts.model);
        "tokenizers/gpt2".clone_into(&mut facts.tokenizer);
        facts.requests = self.outputs.len();
        facts.request_rate = self.args["request_rate"].as_f64();
        facts.max_concurrency = self.args["max_concurrency"].as_u64().map(|limit| limit as usize);
        facts.echo = self.echo();
        facts
    }

    /// Returns what vLLM's command line puts into a plan.
    fn echo(&self) -> JsonObject {
        let mut echo = JsonObject::new();
        let mut add = |key: &str, value: &Value| echo.insert(key.to_owned(), value.clone());
        add("date", &Value::Null);
        add("endpoint_type", &json!(self.backend));
        add("backend", &json!(self.backend));
        add("label", &self.args["label"]);
        add("model_id", &json!("tokenizers/gpt2"));
        add("tokenizer_id", &Value::Null);
        add("num_prompts", &self.args["num_prompts"]);
        for pair in self.args["metadata"].as_array().into_iter().flatten() {
            let (key, value) = pair.as_str().unwrap().split_once('=').unwrap();
            add(key, &json!(value));
        }
        let rate = self.args["request_rate"].as_f64().map_or_else(|| json!("inf"), Value::from);
        add("request_rate", &rate);
        add("burstiness", &self.args["burstiness"]);
        add("max_concurrency", &self.args["max_concurrency"]);
        for key in ["ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps"] {
            if !self.args[key].is_null() {
                add(key, &self.args[key]);
            }
        }
        echo
    }

    fn record(&self, place: (Phase, usize, f64), output: &Output) -> RequestRecord {
        let (phase, index, due) = place;
        // The planned sizes must not count.
        let sample = Sample::new("", 1_000_000, 1_000_000);
        let mut recorder = Recorder::new(index, phase, &sample, stamp(due));
        recorder.record_sent(stamp(output.start_time));
        let mut end = output.start_time + output.latency;
        if output.success && self.generates() {
            let mut now = output.start_time + output.ttft;
            for (piece, gap) in output.pieces().zip([&0.0].into_iter().chain(&output.itl)) {
                now += gap;
                recorder.at(stamp(now)).delta(Delta::content(&piece));
            }
            // The counts and the end mark come later and must not count either.
            end += 0.25;
        }
        let completion = Some(output.tokens).filter(|_| self.generates());
        recorder.at(stamp(end)).usage(Usage::new(Some(output.prompt), completion));
        if let Some(times) = output.server_times() {
            recorder.at(stamp(end)).server_times(times);
        }
        recorder.body(stamp(end), 1);
        let failure = || RequestError::new(ErrorKind::Status, output.error.as_str());
        let outcome = output.success.then(Finish::default).ok_or_else(failure);
        let mut record = recorder.finish(outcome, stamp(end));
        record.planned = Planned::default();
        record.planned.items = output.num_input_sequences;
        record.planned.audio_ns = stamp(output.input_audio_duration).as_nanos();
        record
    }
}

impl Output {
    /// Splits the text into as many pieces as there were arrivals, or returns placeholders if it
    /// has too few letters.
    fn pieces(&self) -> impl Iterator<Item = String> {
        let letters: Vec<char> = self.generated_text.chars().collect();
        let (count, enough) = (self.itl.len() + 1, letters.len() > self.itl.len());
        (0..count).map(move |piece| match piece {
            _ if !enough => "x".to_owned(),
            last if last + 1 == count => letters[last..].iter().collect(),
            piece => letters[piece].to_string(),
        })
    }

    fn server_times(&self) -> Option<ServerTimes> {
        let milliseconds = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1000.0);
        let times = [self.server_queue_time, self.server_ttft].map(milliseconds);
        times.iter().any(Option::is_some).then(|| ServerTimes::new(times[0], times[1]))
    }
}

#[expect(clippy::cast_sign_loss, reason = "the fixtures' clocks start at zero")]
fn stamp(seconds: f64) -> Stamp {
    Stamp::from_nanos((seconds * 1e9).round() as u64)
}

/// 4 March 2026, 05:06:07.25 local time, an hour east of Greenwich.
const STARTED_UNIX_NS: u64 = 1_772_597_167_250_000_000;
