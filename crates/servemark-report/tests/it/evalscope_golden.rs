//! evalscope's scripted sweeps (`fixtures/evalscope/reports`) as run logs, with the output that its
//! own code made of them.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::{
    Delta, ErrorKind, Finish, Footer, Header, JsonObject, Phase, Recorder, RequestError,
    RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{Audit, Metrics};
use servemark_report::{EvalscopeOptions, EvalscopeRun, EvalscopeStyle, EvalscopeSubject, Report};

/// A scripted sweep.
#[derive(Deserialize)]
pub(crate) struct Script {
    api: String,
    dataset: String,
    model: String,
    alias: Option<String>,
    pd: bool,
    runs: Vec<ScriptedRun>,
}

#[derive(Deserialize)]
struct ScriptedRun {
    parallel: i64,
    rate: f64,
    requests: Vec<Request>,
}

/// A request and its answer; times are in nanoseconds.
#[derive(Deserialize)]
struct Request {
    start: u64,
    role: Option<u64>,
    pieces: Vec<u64>,
    end: u64,
    prompt: u32,
    output: u32,
    cached: Option<u32>,
    document: bool,
    error: Option<String>,
    session: Option<usize>,
    turn: u32,
}

/// Output of one version for a sweep.
#[derive(Deserialize)]
pub(crate) struct SweepOutput {
    pub(crate) runs: Vec<LeftRun>,
    pub(crate) report: String,
    #[serde(default)]
    pub(crate) page: Page,
}

/// Content of evalscope's page.
#[derive(Default, Deserialize)]
pub(crate) struct Page {
    pub(crate) info: BTreeMap<String, String>,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) best: BTreeMap<String, String>,
    pub(crate) advice: Vec<String>,
    pub(crate) items: Vec<Vec<Item>>,
    pub(crate) names: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) value: String,
}

#[derive(Deserialize)]
pub(crate) struct LeftRun {
    pub(crate) folder: String,
    pub(crate) tables: Vec<String>,
    pub(crate) files: BTreeMap<String, Value>,
}

/// A sweep with the output of one version.
pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) script: Script,
    pub(crate) left: SweepOutput,
    pub(crate) style: EvalscopeStyle,
}

impl Golden {
    /// Returns all recordings of a version.
    pub(crate) fn all(style: EvalscopeStyle) -> Vec<Self> {
        let mut scripts: BTreeMap<String, Script> = serde_json::from_str(&read("runs")).unwrap();
        let mut left: BTreeMap<String, Value> =
            serde_json::from_str(&read(version(style))).unwrap();
        left.remove("percentiles");
        let golden = |(name, left): (String, Value)| Self {
            script: scripts.remove(&name).unwrap(),
            left: serde_json::from_value(left).unwrap(),
            name,
            style,
        };
        left.into_iter().map(golden).collect()
    }

    pub(crate) fn from_name(style: EvalscopeStyle, name: &str) -> Self {
        Self::all(style).into_iter().find(|golden| golden.name == name).unwrap()
    }

    pub(crate) fn options(&self) -> EvalscopeOptions {
        let mut options = EvalscopeOptions::of(self.style);
        options.decides = self.script.api == "systemone";
        let options = if self.script.pd { options.with_handoff() } else { options };
        if self.script.dataset.starts_with("speed_benchmark") {
            options.with_speeds()
        } else {
            options
        }
    }

    /// 1.7 sorts the speeds of answers that were not streamed, which are NaN, among the others.
    pub(crate) fn sorts_what_is_no_number(&self) -> bool {
        self.style == EvalscopeStyle::V1_7 && self.name == "mixed"
    }

    pub(crate) fn subject(&self) -> EvalscopeSubject {
        let script = &self.script;
        let subject = EvalscopeSubject::new(&script.model, &script.dataset, &script.api);
        let subject = subject.at("http://user:secret@bench.example:8801/v1/chat/completions");
        let subject = subject.with_alias(script.alias.as_deref().unwrap_or_default());
        subject.in_folder("outputs/20260304_050607/run")
    }

    pub(crate) fn logs(&self) -> Vec<RunLog> {
        self.script.runs.iter().map(|run| self.script.log(run)).collect()
    }

    pub(crate) fn runs(&self) -> Vec<EvalscopeRun> {
        let run = |log: &RunLog| {
            let metrics = Metrics::score(log, &self.style.policy());
            EvalscopeRun::of(&Report::new(log, &metrics, &Audit::of(log)), self.options())
        };
        self.logs().iter().map(run).collect()
    }
}

/// Returns the percentile tables of a version for the values 1 to n, by n.
pub(crate) fn percentiles(style: EvalscopeStyle) -> (Vec<f64>, BTreeMap<String, Vec<f64>>) {
    let mut left: JsonObject = serde_json::from_str(&read(version(style))).unwrap();
    let mut table = left.remove("percentiles").unwrap();
    let percents = serde_json::from_value(table["percents"].take()).unwrap();
    (percents, serde_json::from_value(table["values"].take()).unwrap())
}

fn read(name: &str) -> String {
    let folder = format!("{}/../../fixtures/evalscope/reports", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(format!("{folder}/{name}.json")).unwrap()
}

fn version(style: EvalscopeStyle) -> &'static str {
    match style {
        EvalscopeStyle::V1_0 => "1.0.2",
        EvalscopeStyle::V1_7 => "1.7.1",
        EvalscopeStyle::Newest => "1.14.1",
    }
}

impl Script {
    fn log(&self, run: &ScriptedRun) -> RunLog {
        let mut facts = RunFacts::default();
        facts.backend.clone_from(&self.api);
        let is_pooled = self.api.contains("embedding");
        let route = if is_pooled { "embeddings" } else { "chat/completions" };
        facts.api_path = format!("/v1/{route}");
        facts.tokenless = self.api == "systemone";
        facts.requests = run.requests.len();
        facts.request_rate = (run.rate > 0.0).then_some(run.rate);
        facts.max_concurrency = usize::try_from(run.parallel).ok();
        let mut footer = Footer::default();
        footer.ended = Stamp::from_nanos(run.requests.iter().map(|of| of.end).max().unwrap());
        let records = run.requests.iter().enumerate().map(|(index, of)| of.record(index)).collect();
        RunLog::new(Header::new(0, facts, Value::Null), records, Some(footer))
    }
}

impl Request {
    fn record(&self, index: usize) -> RequestRecord {
        let at = Stamp::from_nanos;
        let index = self.session.unwrap_or(index);
        let sample = Sample::new("", 1_000_000, 1_000_000);
        let follow_ups = u32::from(self.session.is_some() && self.turn == 0);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, at(self.start));
        recorder = recorder.of_turn(self.turn, follow_ups);
        recorder.record_sent(at(self.start));
        if let Some(error) = &self.error {
            return recorder.finish(Err(RequestError::new(ErrorKind::Status, error)), at(self.end));
        }
        if let Some(when) = self.role {
            recorder.body(at(when), 1);
            recorder.at(at(when)).silent_event();
        }
        for when in &self.pieces {
            recorder.body(at(*when), 1);
            recorder.at(at(*when)).delta(Delta::content("x"));
        }
        recorder.body(at(self.end), 1);
        if self.document {
            recorder.document();
            recorder.at(at(self.end)).delta(Delta::content("all"));
        } else {
            recorder.at(at(self.end)).silent_event();
        }
        let usage = Usage::new(Some(self.prompt), Some(self.output)).with_cached(self.cached);
        recorder.at(at(self.end)).usage(usage);
        recorder.finish(Ok(Finish::default()), at(self.end))
    }
}
