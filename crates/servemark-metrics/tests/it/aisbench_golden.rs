//! AISBench's scripted runs (`fixtures/aisbench/tables`) as run logs.

use std::fs;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::{
    Delta, ErrorKind, Finish, Footer, Header, Phase, Planned, Recorder, RequestError,
    RequestRecord, Retokenized, RunFacts, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{MetricPolicy, StableCounting, StableRule, StageSpec, StageStatistic};

/// One scripted run and AISBench's result for it.
#[derive(Deserialize)]
pub(crate) struct Golden {
    #[serde(skip)]
    pub(crate) name: String,
    revision: String,
    stage: String,
    limit: usize,
    streams: bool,
    statistics: Option<Vec<StageStatistic>>,
    requests: Vec<Request>,
    pub(crate) left: GoldenOutput,
    pub(crate) failed: Option<String>,
}

/// The output that AISBench wrote, or its reason for writing none.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum GoldenOutput {
    Tables { console: String, csv: String, json: String },
    Nothing { error: String },
}

#[derive(Deserialize)]
struct Request {
    success: bool,
    error_info: String,
    /// When the request was sent, and when each event of its answer came, in nanoseconds.
    points: Vec<u64>,
    input_tokens: u32,
    output_tokens: u32,
    /// Number of words in the prompt and in the answer, which the tokenizer counts.
    words: [u32; 2],
}

impl Golden {
    pub(crate) fn all() -> Vec<Self> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/aisbench/tables");
        let mut paths: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path: &std::path::PathBuf| Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            ..serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
        };
        paths.iter().map(read).collect()
    }

    pub(crate) fn statistics(&self) -> Vec<StageStatistic> {
        self.statistics.clone().unwrap_or_else(|| StageStatistic::USUAL.to_vec())
    }

    /// Returns the stage with AISBench's own definition of its rates.
    pub(crate) fn stage(&self) -> StageSpec {
        let is_old = self.revision == "fd53dc7";
        let rule = if is_old { StableRule::NearlyFull } else { StableRule::Full };
        match self.stage.as_str() {
            "total" => StageSpec::Total,
            _ => StageSpec::Stable { rule, counting: StableCounting::Requests },
        }
    }

    /// Returns AISBench's policy. Until August 2026 the whole of a document answer counted as its
    /// first token.
    pub(crate) fn policy(&self) -> MetricPolicy {
        if self.has_one_prefill() {
            MetricPolicy::aisbench_2026_06()
        } else {
            MetricPolicy::aisbench()
        }
    }

    /// Returns whether the prefill throughput was one number of the run.
    pub(crate) fn has_one_prefill(&self) -> bool {
        self.revision == "49a89fe"
    }

    pub(crate) fn log(&self) -> RunLog {
        let mut facts = RunFacts::default();
        "/v1/chat/completions".clone_into(&mut facts.api_path);
        facts.max_concurrency = Some(self.limit);
        facts.requests = self.requests.len();
        let mut footer = Footer::default();
        let answers = self.requests.iter().enumerate();
        footer.retokenized = answers
            .map(|(index, one)| Retokenized::new((index, 0), one.words[1], Vec::new()))
            .collect();
        let records = self.requests.iter().enumerate().map(|(index, one)| {
            let mut record = one.record(index);
            record.is_document = !self.streams;
            record
        });
        RunLog::new(Header::new(0, facts, Value::Null), records.collect(), Some(footer))
    }
}

impl Request {
    /// Records an event with a role but no text, then one letter per event. Later events of the
    /// connection do not count.
    fn record(&self, index: usize) -> RequestRecord {
        let sent = Stamp::from_nanos(self.points[0]);
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 0, 1), sent);
        recorder.record_sent(sent);
        for (place, at) in self.points[1..].iter().enumerate() {
            let text = if place == 0 { "" } else { "x" };
            recorder.at(Stamp::from_nanos(*at)).delta(Delta::content(text));
        }
        let end = Stamp::from_nanos(self.points.last().unwrap() + 77_777_777);
        let counted = |tokens: u32| Some(tokens).filter(|&tokens| tokens > 0);
        let [prompt, output] = [self.input_tokens, self.output_tokens].map(counted);
        recorder.at(end).usage(Usage::new(prompt, output));
        recorder.body(end, 1);
        let failure = || RequestError::new(ErrorKind::Status, self.error_info.as_str());
        let outcome = self.success.then(Finish::default).ok_or_else(failure);
        let mut record = recorder.finish(outcome, end);
        record.planned = Planned::default();
        record.planned.prompt_tokens = self.words[0];
        record
    }
}
