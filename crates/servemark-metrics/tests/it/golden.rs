//! SGLang's scripted runs (`fixtures/sglang/metrics`) as run logs.
//!
//! The fixtures hold times as floats in seconds; a log holds nanoseconds. [`Golden::log`] rounds,
//! and [`Golden::exact_scores`] replaces the times that were read from the log by the unrounded
//! floats.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::{
    CachedDetails, Delta, ErrorKind, Finish, Footer, Header, JsonObject, Phase, Planned, Recorder,
    RequestError, RequestRecord, Retokenized, RunFacts, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{MetricPolicy, RequestScore, Slo};

/// One scripted run and the peer's result for it.
#[derive(Debug, Deserialize)]
pub(crate) struct Golden {
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) backend: String,
    pub(crate) args: JsonObject,
    pub(crate) benchmark_duration: f64,
    pub(crate) accept_length: Option<f64>,
    pub(crate) server_info: Value,
    pub(crate) rows: Vec<Row>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) metrics: Option<JsonObject>,
    pub(crate) console: Option<String>,
    pub(crate) jsonl: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    #[serde(rename = "prompt_len")]
    pub(crate) prompt: u32,
    #[serde(rename = "output_len")]
    pub(crate) output: u32,
    #[serde(rename = "text_prompt_len")]
    pub(crate) text: u32,
    #[serde(rename = "vision_prompt_len")]
    pub(crate) vision: u32,
    /// Number of requests of a conversation.
    pub(crate) rounds: Option<usize>,
}

impl Row {
    /// Returns what is planned for each request. The peer counts no input for conversations, so its
    /// figures have none; what follows a request says that it is one of a conversation.
    fn requests(&self) -> impl Iterator<Item = Planned> {
        let mut planned = Planned::default();
        planned.output_tokens = self.output;
        planned.follow_ups = self.rounds.map_or(0, |rounds| rounds as u32);
        if self.rounds.is_none() {
            planned.prompt_tokens = self.prompt;
            planned.text_tokens = self.text;
            planned.vision_tokens = self.vision;
        }
        std::iter::repeat_n(planned, self.rounds.unwrap_or(1))
    }
}

/// Result of the peer's steady-state wrapper for a run.
#[derive(Debug, Deserialize)]
pub(crate) struct SteadyGolden {
    /// Each request's output tokens by the tokenizer of the recording.
    pub(crate) retokenized: Vec<u32>,
    /// Results for several shares of the peak concurrency: `ratio` and either `console` and `jsonl`
    /// or `error`.
    pub(crate) results: Vec<JsonObject>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Output {
    pub(crate) success: bool,
    pub(crate) start_time: f64,
    pub(crate) latency: f64,
    pub(crate) ttft: f64,
    pub(crate) itl: Vec<f64>,
    pub(crate) text_chunks: Vec<String>,
    pub(crate) generated_text: String,
    #[serde(rename = "output_len")]
    pub(crate) tokens: u32,
    #[serde(rename = "prompt_len")]
    pub(crate) prompt: u32,
    pub(crate) error: String,
    pub(crate) cached_tokens: u32,
    cached_tokens_details: Option<CachedPlaces>,
}

#[derive(Debug, Deserialize)]
struct CachedPlaces {
    #[serde(flatten)]
    places: CachedDetails,
    storage_backend: Option<String>,
}

impl Golden {
    /// Returns all runs, sorted by name.
    pub(crate) fn all() -> Vec<Self> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sglang/metrics");
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<Self> = paths
            .map(|path| Self {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                ..serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()
            })
            .collect();
        all.sort_by(|left, right| left.name.cmp(&right.name));
        assert!(all.len() > 30, "the fixtures are incomplete");
        all
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.args[name] == true
    }

    pub(crate) fn policy(&self) -> MetricPolicy {
        let given = self.args["goodput"].as_array().into_iter().flatten();
        MetricPolicy::sglang().with_slos(given.map(|pair| {
            let metric = Slo::metric(pair[0].as_str().unwrap()).unwrap();
            Slo::new(metric, pair[1].as_f64().unwrap()).unwrap()
        }))
    }

    /// Returns the run as Servemark would have recorded it, rounded to nanoseconds.
    pub(crate) fn log(&self) -> RunLog {
        let outputs = self.rows.iter().flat_map(Row::requests).zip(&self.outputs).enumerate();
        let records = outputs.map(|(index, (planned, output))| self.record(index, planned, output));
        let started = self.outputs.iter().map(|output| output.start_time);
        let mut footer = Footer::default();
        footer.ended = stamp(started.fold(f64::INFINITY, f64::min))
            + Duration::from_nanos(stamp(self.benchmark_duration).as_nanos());
        footer.accept_length = self.accept_length;
        footer.server_info = Some(self.server_info.clone()).filter(Value::is_object);
        footer.retokenized = self.retokenized();
        let header = Header::new(0, self.facts(), Value::Null);
        RunLog::new(header, records.collect(), Some(footer))
    }

    /// Returns the log's scores with the fixture's own floats.
    pub(crate) fn exact_scores<'a>(&self, log: &'a RunLog) -> Vec<RequestScore<'a>> {
        let mut scores = RequestScore::of_log(log, &self.policy());
        for (score, output) in scores.iter_mut().zip(&self.outputs) {
            score.start_s = output.start_time;
            score.ttft_s = Some(output.ttft);
            score.latency_s = output.latency;
            score.itl_s = output.itl.clone().into();
            let pieces = self.pieces(score.index);
            if let Some(split) = &mut score.speculative_itl_s {
                let gaps = output.itl.iter().zip(&pieces[1..]).flat_map(split_gap);
                *split = gaps.collect::<Vec<_>>().into();
            }
        }
        scores
    }

    fn facts(&self) -> RunFacts {
        let mut facts = RunFacts::default();
        facts.backend.clone_from(&self.backend);
        facts.api_path = match self.backend.as_str() {
            "sglang" | "sglang-native" => "/generate",
            name if name.ends_with("-embedding") => "/v1/embeddings",
            name if name.ends_with("-chat") => "/v1/chat/completions",
            _ => "/v1/completions",
        }
        .into();
        facts.dataset = self.args["dataset_name"].as_str().unwrap().into();
        facts.requests = self.outputs.len();
        facts.request_rate = self.args["request_rate"].as_f64();
        facts.max_concurrency = self.args["max_concurrency"].as_u64().map(|limit| limit as usize);
        facts.echo = self.echo();
        facts
    }

    fn echo(&self) -> JsonObject {
        let keys = "tag backend dataset_name request_rate max_concurrency sharegpt_output_len \
                    random_input_len random_output_len random_range_ratio";
        let value = |key: &str| match key {
            "request_rate" if self.flag("use_trace_timestamps") => "trace".into(),
            "request_rate" => self.args[key].as_f64().into(),
            _ => self.args[key].clone(),
        };
        keys.split_whitespace().map(|key| (key.to_owned(), value(key))).collect()
    }

    /// Returns the result of the peer's steady-state wrapper for the run.
    pub(crate) fn steady_state(&self) -> SteadyGolden {
        let path = "/../../fixtures/sglang/steady_state.json";
        let text = fs::read(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let mut all: BTreeMap<String, SteadyGolden> = serde_json::from_slice(&text).unwrap();
        all.remove(&self.name).expect(&self.name)
    }

    fn record(&self, index: usize, planned: Planned, output: &Output) -> RequestRecord {
        let sample = Sample::new("", planned.prompt_tokens, planned.output_tokens);
        let due = stamp(output.start_time);
        let end = stamp(output.start_time + output.latency);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, due);
        recorder.record_sent(due);
        self.stream(&mut recorder, output);
        let completion = Some(output.tokens).filter(|_| self.backend_has_usage());
        let usage = Usage::new(Some(output.prompt), completion);
        let details = output.cached_tokens_details.as_ref();
        let usage = usage.with_cached(Some(output.cached_tokens));
        recorder.at(end).usage(usage.with_cached_details(details.map(|details| details.places)));
        if let Some(name) = details.and_then(|details| details.storage_backend.as_deref()) {
            recorder.at(end).cache_storage(name);
        }
        recorder.body(end, 1);
        let failure = || RequestError::new(ErrorKind::Status, output.error.as_str());
        let outcome = output.success.then(Finish::default).ok_or_else(failure);
        let mut record = recorder.finish(outcome, end);
        record.text.clone_from(&output.generated_text);
        record.planned = planned;
        record
    }

    fn stream(&self, recorder: &mut Recorder, output: &Output) {
        if output.ttft == 0.0 && output.itl.is_empty() {
            return;
        }
        let mut now = output.start_time + output.ttft;
        let first = output.tokens.saturating_sub(output.itl.len() as u32);
        self.piece(recorder, now, "first", first);
        for (index, gap) in output.itl.iter().enumerate() {
            now += gap;
            self.piece(recorder, now, output.text_chunks.get(index).map_or("x", |text| text), 1);
        }
    }

    fn piece(&self, recorder: &mut Recorder, at: f64, text: &str, tokens: u32) {
        let tokens = Some(tokens).filter(|_| !self.backend_has_usage());
        recorder.at(stamp(at)).delta(Delta::content(text).with_tokens(tokens));
    }

    fn backend_has_usage(&self) -> bool {
        !self.backend.ends_with("sglang") && !self.backend.ends_with("native")
    }

    fn retokenized(&self) -> Vec<Retokenized> {
        let counts = self.steady_state().retokenized.into_iter().enumerate();
        counts
            .map(|(index, count)| Retokenized::new((index, 0), count, self.pieces(index)))
            .collect()
    }

    /// Returns the number of tokens of each chunk, counted with `fixtures/tokenizers/gpt2`, the
    /// tokenizer of the recording. The file has only the runs whose gaps these counts split.
    fn pieces(&self, index: usize) -> Vec<u32> {
        let all: BTreeMap<String, Vec<Vec<u32>>> =
            serde_json::from_str(include_str!("pieces.json")).unwrap();
        all.get(&self.name).map(|requests| requests[index].clone()).unwrap_or_default()
    }
}

fn split_gap((gap, &tokens): (&f64, &u32)) -> impl Iterator<Item = f64> {
    std::iter::repeat_n(gap / f64::from(tokens), tokens as usize)
}

#[expect(clippy::cast_sign_loss, reason = "the fixtures' clocks start at zero")]
fn stamp(seconds: f64) -> Stamp {
    Stamp::from_nanos((seconds * 1e9).round() as u64)
}
