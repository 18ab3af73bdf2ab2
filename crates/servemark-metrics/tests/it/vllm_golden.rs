//! vLLM's scripted runs (`fixtures/vllm/metrics`) as run logs.
//!
//! The fixtures hold times as floats in seconds; a log holds nanoseconds.

use std::fs;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::{
    Delta, ErrorKind, Finish, Footer, Header, JsonObject, Phase, Planned, Recorder, RequestError,
    RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{MetricPolicy, Slo};

/// One scripted run and what the peer made of it.
#[derive(Deserialize)]
pub(crate) struct Golden {
    #[serde(skip)]
    pub(crate) name: String,
    backend: String,
    pub(crate) args: JsonObject,
    duration: f64,
    /// When each request was ready to be sent.
    arrivals: Vec<f64>,
    outputs: Vec<Output>,
    pub(crate) metrics: JsonObject,
    pub(crate) console: String,
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
    error: String,
}

impl Golden {
    /// The runs in which the server counted; where it did not, the peer asks a tokenizer.
    pub(crate) fn all() -> Vec<Self> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/metrics");
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: std::path::PathBuf| Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            ..serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()
        };
        let all: Vec<Self> = paths.map(read).collect();
        let counted = all.into_iter().filter(|golden| !golden.name.starts_with("uncounted"));
        counted.collect()
    }

    pub(crate) fn generates(&self) -> bool {
        self.backend.starts_with("openai") && !self.backend.contains("embeddings")
    }

    pub(crate) fn policy(&self) -> MetricPolicy {
        let slos = self.args["goodput"].as_array().into_iter().flatten();
        let slos = slos.map(|slo| slo.as_str().unwrap().parse::<Slo>().unwrap());
        let mut policy = MetricPolicy::vllm().with_slos(slos);
        let percentiles = self.args["metric_percentiles"].as_str().unwrap().split(',');
        policy.percentiles = percentiles.map(|percent| percent.parse().unwrap()).collect();
        policy
    }

    pub(crate) fn log(&self) -> RunLog {
        let mut facts = RunFacts::default();
        facts.backend.clone_from(&self.backend);
        let route = if self.generates() { "completions" } else { "embeddings" };
        facts.api_path = format!("/v1/{route}");
        facts.requests = self.outputs.len();
        facts.request_rate = self.args["request_rate"].as_f64();
        facts.max_concurrency = self.args["max_concurrency"].as_u64().map(|limit| limit as usize);
        let mut footer = Footer::default();
        footer.ended = stamp(self.arrivals.iter().copied().fold(f64::INFINITY, f64::min))
            + Duration::from_nanos(stamp(self.duration).as_nanos());
        let records = self.outputs.iter().enumerate();
        let records = records.map(|(index, output)| self.record(index, output)).collect();
        RunLog::new(Header::new(0, facts, Value::Null), records, Some(footer))
    }

    fn record(&self, index: usize, output: &Output) -> RequestRecord {
        // What was planned must not count.
        let sample = Sample::new("", 1_000_000, 1_000_000);
        let due = stamp(self.arrivals[index]);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, due);
        recorder.sent(stamp(output.start_time));
        let mut end = output.start_time + output.latency;
        if output.success && self.generates() {
            let mut now = output.start_time + output.ttft;
            recorder.at(stamp(now)).delta(Delta::content("x"));
            for gap in &output.itl {
                now += gap;
                recorder.at(stamp(now)).delta(Delta::content("x"));
            }
            // The counts and the end mark come later, and that must not count either.
            end += 0.25;
        }
        let completion = Some(output.tokens).filter(|_| self.generates());
        recorder.at(stamp(end)).usage(Usage::new(Some(output.prompt), completion));
        recorder.body(stamp(end), 1);
        let failure = || RequestError::new(ErrorKind::Status, output.error.as_str());
        let outcome = output.success.then(Finish::default).ok_or_else(failure);
        let mut record = recorder.finish(outcome, stamp(end));
        record.planned = Planned::default();
        record.planned.items = output.num_input_sequences;
        record
    }
}

#[expect(clippy::cast_sign_loss, reason = "the fixtures' clocks start at zero")]
fn stamp(seconds: f64) -> Stamp {
    Stamp::from_nanos((seconds * 1e9).round() as u64)
}
