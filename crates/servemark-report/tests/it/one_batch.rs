//! Results of a batch, compared with those of SGLang's own client for the same events.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use servemark_core::{
    CountedWork, Delta, Finish, Footer, Header, Phase, PrefixCacheCounters, Prompt, Recorder,
    RunFacts, RunLog, Sample, ServerCounters, Sink, Stamp,
};
use servemark_report::{OneBatchAsked, OneBatchReport, OneBatchResult};

/// A recorded run of the peer.
struct Recorded(Value);

fn runs() -> Vec<Recorded> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sglang/one_batch.json");
    let all: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    all["runs"].as_array().unwrap().iter().cloned().map(Recorded).collect()
}

impl Recorded {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap()
    }

    fn argv(&self) -> Vec<&str> {
        self.0["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
    }

    fn has(&self, flag: &str) -> bool {
        self.argv().contains(&flag)
    }

    /// Returns the values after a flag.
    fn values(&self, flag: &str) -> Vec<&str> {
        let argv = self.argv();
        let behind = argv.iter().skip_while(|word| **word != flag).skip(1);
        behind.copied().take_while(|word| !word.starts_with("--")).collect()
    }

    fn lens(&self, flag: &str, default: u32) -> String {
        match self.values(flag) {
            values if values.is_empty() => format!("({default},)"),
            values => format!("[{}]", values.join(", ")),
        }
    }

    fn is_vllm(&self) -> bool {
        self.values("--backend") == ["vllm"]
    }

    /// Returns the streamed requests with the events of their answers, without those of a warm-up.
    fn batches(&self) -> Vec<(&Value, &Value)> {
        let streamed = |request: &&Value| request["body"]["stream"] == true;
        let requests: Vec<_> = self.0["requests"].as_array().unwrap().iter().collect();
        let bodies = requests.into_iter().filter(streamed).map(|request| &request["body"]);
        let batches: Vec<_> = bodies.zip(self.0["batches"].as_array().unwrap()).collect();
        let kept = self.text("jsonl").lines().count();
        batches[batches.len() - kept..].to_vec()
    }

    fn result(&self, body: &Value, events: &Value) -> OneBatchResult {
        let asked = OneBatchAsked {
            run_name: self.values("--run-name").first().unwrap_or(&"default").to_string(),
            output_len: output_len(body),
            stops_at_eos: self.has("--disable-ignore-eos"),
            replays: ["sharegpt", "custom"].iter().any(|name| self.has(name)),
            is_sglang: !self.is_vllm(),
            ..OneBatchAsked::default()
        };
        OneBatchResult::of(asked, &self.log(body, events)).unwrap()
    }

    fn log(&self, body: &Value, events: &Value) -> RunLog {
        let prompts = body.get("input_ids").or(body.get("prompt")).unwrap();
        let ids = |prompt: &Value| match prompt.as_array() {
            Some(ids) => vec![0; ids.len()],
            None => vec![0; prompt["length"].as_u64().unwrap() as usize],
        };
        let prompts: Vec<Vec<u32>> = prompts.as_array().unwrap().iter().map(ids).collect();
        let mut told = vec![0; prompts.len()];
        let sample = Sample::new(Prompt::Batch(prompts), 0, output_len(body));
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        recorder.record_sent(Stamp::ZERO);
        for event in events.as_array().unwrap() {
            let at = Stamp::ZERO + Duration::from_nanos(event[0].as_u64().unwrap());
            let place = event[1].as_u64().unwrap() as usize;
            let total = event[2].as_u64().unwrap() as u32;
            let new = total - std::mem::replace(&mut told[place], total);
            recorder.body(at, 1);
            let mut sink = recorder.at(at);
            sink.prompt(place);
            sink.delta(Delta::content(" a").with_tokens((!self.is_vllm()).then_some(new)));
            if let Some(reason) = event[3].as_str() {
                sink.finish_reason(reason);
            }
        }
        let (first, others) = recorder.finish_each(Ok(Finish::default()), Stamp::ZERO);
        let records = [first].into_iter().chain(others).collect();
        let header = Header::new(0, RunFacts::default(), Value::Null);
        RunLog::new(header, records, Some(self.footer()))
    }

    fn footer(&self) -> Footer {
        let mut footer = Footer::default();
        if !self.is_vllm() {
            footer.server_info = Some(json!({"internal_states": [self.0["state"]]}));
        }
        if self.text("stdout").contains("cache hit rate: ") {
            let counted = |queries: i64, hits: i64| {
                let mut cache = PrefixCacheCounters::default();
                (cache.queries, cache.hits) = (queries, hits);
                let mut counters = ServerCounters::default();
                counters.prefix_cache = Some(cache);
                counters
            };
            footer.server_counters = Some(CountedWork::new(counted(30, 7), counted(60, 14)));
        }
        footer
    }
}

fn output_len(body: &Value) -> u32 {
    let asked = &body["sampling_params"]["max_new_tokens"];
    asked.as_u64().or(body["max_tokens"].as_u64()).unwrap() as u32
}

#[test]
fn lines_and_results_are_the_peers() {
    let mut compared = 0;
    for run in runs() {
        let mut lines = run.text("jsonl").lines();
        for (body, events) in run.batches() {
            let result = run.result(body, events);
            assert_eq!(Some(result.json_line().trim_end()), lines.next(), "{}", run.text("name"));
            let told = result.to_string();
            assert!(run.text("stdout").contains(&told), "{}: {told}", run.text("name"));
            compared += 1;
        }
    }
    assert_eq!(compared, 25, "a batch was added or lost");
}

#[test]
fn the_list_is_the_peers() {
    for run in runs() {
        let entries = run.0["entries"].as_array().unwrap();
        let batches = run.batches().into_iter().take(entries.len());
        let mut results: Vec<_> = batches.map(|(body, events)| run.result(body, events)).collect();
        // The peer's report sorts the results in place.
        if run.has("--show-report") {
            results.sort_by_key(|result| result.input_len);
        }
        for (result, entry) in results.iter().zip(entries) {
            let ours = result.entry("None", Some(&["a=b".to_owned()]), &[]);
            assert_eq!(ours.to_string(), entry.to_string(), "{}", run.text("name"));
        }
    }
}

#[test]
fn the_report_is_the_peers() {
    let mut compared = 0;
    for run in runs().into_iter().filter(|run| run.has("--show-report")) {
        let (inputs, outputs) = (run.lens("--input-len", 1024), run.lens("--output-len", 16));
        let mut report = OneBatchReport::new(inputs, outputs, 4.0);
        let share = run.values("--cache-hit-rate");
        report.cache_hit_rate = share.first().map_or(0.0, |share| share.parse().unwrap());
        report.stops_at_eos = run.has("--disable-ignore-eos");
        report.profiles = run.has("--profile");
        let kept = run.0["entries"].as_array().unwrap().len();
        let batches = run.batches().into_iter().take(kept);
        let mut results: Vec<_> = batches.map(|(body, events)| run.result(body, events)).collect();
        if report.profiles {
            let link = Some("$TRACES".to_owned());
            for result in &mut results {
                result.asked.profile_link.clone_from(&link);
            }
        }
        let ours = format!("{}\n", report.text(&results));
        let theirs = run.text("stdout");
        // The recording has another name of the trace folder, so that column widths differ.
        let (ours, theirs) = if report.profiles {
            (narrowed(&ours), narrowed(theirs))
        } else {
            (ours, theirs.to_owned())
        };
        assert!(theirs.ends_with(&ours), "{}:\n{ours}\n{theirs}", run.text("name"));
        compared += 1;
    }
    assert_eq!(compared, 7, "a report was added or lost");
}

/// Collapses runs of spaces and dashes, which only make columns wider.
fn narrowed(text: &str) -> String {
    let mut narrow = text.to_owned();
    while narrow.contains("  ") || narrow.contains("--") {
        narrow = narrow.replace("  ", " ").replace("--", "-");
    }
    narrow
}
