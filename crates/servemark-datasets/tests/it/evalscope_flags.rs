//! Builds data set specs from evalscope's command line. The real command line is in another crate;
//! this parser reads only what the recorded cases use.

use std::fs;
use std::str::FromStr;

use serde_json::{Value, json};
use servemark_backends::{BackendSpec, EvalscopeApi, EvalscopeSpec as Wire};
use servemark_core::JsonObject;
use servemark_datasets::{
    DatasetSpec, EvalscopeData, EvalscopeName, EvalscopePictureMode, EvalscopePromptSpec,
    EvalscopeSpec, MaxTokens, PrefixRole, ShortTexts, SpecError, TargetLength,
};

use crate::fixture;

pub(crate) struct Flags {
    argv: Vec<String>,
}

impl Flags {
    pub(crate) fn new(argv: Vec<String>) -> Self {
        Self { argv }
    }

    /// Returns the values of a flag.
    fn words(&self, flag: &str) -> &[String] {
        let Some(at) = self.argv.iter().position(|word| word == flag) else { return &[] };
        let rest = &self.argv[at + 1..];
        &rest[..rest.iter().take_while(|word| !word.starts_with("--")).count()]
    }

    fn has(&self, flag: &str) -> bool {
        self.argv.iter().any(|word| word == flag)
    }

    fn text(&self, flag: &str) -> Option<&str> {
        self.words(flag).first().map(String::as_str)
    }

    fn number<T: FromStr<Err: std::fmt::Debug>>(&self, flag: &str) -> Option<T> {
        self.text(flag).map(|word| word.parse().unwrap())
    }

    fn json(&self, flag: &str) -> JsonObject {
        self.text(flag).map(|text| serde_json::from_str(text).unwrap()).unwrap_or_default()
    }

    pub(crate) fn seed(&self) -> u64 {
        self.number("--seed").unwrap_or_default()
    }

    pub(crate) fn tokenizer(&self) -> Option<&str> {
        self.text("--tokenizer-path").map(|path| path.strip_prefix("tokenizers/").unwrap())
    }

    fn api(&self) -> EvalscopeApi {
        EvalscopeApi::of(self.text("--api").unwrap_or("openai")).unwrap()
    }

    /// Returns the number of requests, warm-up included.
    pub(crate) fn count(&self) -> usize {
        let all = if self.text("--dataset") == Some("workload_trace") { 0 } else { 1000 };
        self.number("--number").unwrap_or(all) + self.number("--warmup-num").unwrap_or(0)
    }

    pub(crate) fn dataset(&self) -> Result<DatasetSpec, SpecError> {
        let mut spec = EvalscopeSpec::new(self.data()?);
        let makes_chats = matches!(self.api(), EvalscopeApi::Openai | EvalscopeApi::Custom);
        spec.chat = self.has("--apply-chat-template") || (makes_chats && !self.has("--url"));
        spec.tokenize = self.has("--tokenize-prompt");
        spec.tokenizer = self.has("--tokenizer-path");
        spec.shortest = self.number("--min-prompt-length").unwrap_or(spec.shortest);
        spec.longest = self.number("--max-prompt-length").unwrap_or(spec.longest);
        spec.offset = self.number("--dataset-offset").unwrap_or(0);
        spec.max_tokens = self.max_tokens();
        Ok(DatasetSpec::Evalscope(spec))
    }

    fn max_tokens(&self) -> MaxTokens {
        let words: Vec<u32> =
            self.words("--max-tokens").iter().map(|word| word.parse().unwrap()).collect();
        let tested = !self.has("--no-test-connection");
        match words[..] {
            [least, most] => MaxTokens::Between { least, most, tested },
            [tokens] => MaxTokens::Fixed(tokens),
            _ => MaxTokens::default(),
        }
    }

    fn data(&self) -> Result<EvalscopeData, SpecError> {
        if let Some(prompt) = self.text("--prompt") {
            let text = match prompt.strip_prefix('@') {
                Some(file) => fs::read_to_string(fixture(file)).unwrap(),
                None => prompt.to_owned(),
            };
            return Ok(EvalscopeData::Prompt(EvalscopePromptSpec::new(text)));
        }
        let name: EvalscopeName = self.text("--dataset").unwrap_or("openqa").parse()?;
        let mut data = EvalscopeData::from_name(name);
        self.apply(&mut data);
        self.apply_arguments(&mut data);
        Ok(data)
    }

    /// Applies the flags that belong to one data set.
    fn apply(&self, data: &mut EvalscopeData) {
        let path = self.text("--dataset-path").map(fixture);
        let prefix = self.number("--prefix-length").unwrap_or(0);
        let most_turns = self.number("--max-turns");
        let extra = self.json("--extra-args");
        match data {
            EvalscopeData::Texts(spec) => spec.path = path,
            EvalscopeData::Pictured(spec) => spec.path = path,
            EvalscopeData::Decisions(spec) => spec.path = path,
            EvalscopeData::Embedding(spec) => spec.path = path,
            EvalscopeData::Rerank(spec) => spec.path = path,
            EvalscopeData::Random(spec) => {
                spec.prefix_tokens = prefix;
                spec.prefixes = self.number("--prefix-count").unwrap_or(spec.prefixes);
            }
            EvalscopeData::RandomVl(spec) => {
                spec.width = self.number("--image-width").unwrap_or(spec.width);
                spec.height = self.number("--image-height").unwrap_or(spec.height);
                spec.images = self.number("--image-num").unwrap_or(spec.images);
                let mode = self.text("--image-format").map(EvalscopePictureMode::from_name);
                spec.mode = mode.map_or(spec.mode, Option::unwrap);
            }
            EvalscopeData::RandomTurns(spec) => {
                spec.prefix_tokens = prefix;
                spec.least_turns = self.number("--min-turns").unwrap_or(spec.least_turns);
                spec.most_turns = most_turns.unwrap();
                spec.pool = 4 * self.number("--parallel").unwrap_or(1);
            }
            EvalscopeData::RandomEmbedding(spec) => {
                if let Some(batch) = extra.get("batch_size") {
                    spec.batch = serde_json::from_value(batch.clone()).unwrap();
                }
            }
            EvalscopeData::RandomRerank(spec) => {
                if let Some(documents) = extra.get("num_documents") {
                    spec.documents = documents.as_u64().unwrap() as u32;
                    spec.length_ratio = extra["document_length_ratio"].as_f64().unwrap();
                }
            }
            EvalscopeData::Turns(spec) => (spec.path, spec.most_turns) = (path, most_turns),
            EvalscopeData::SweSmith(spec) => {
                (spec.path, spec.most_turns) = (path, most_turns);
                spec.least_turns = self.number("--min-turns").unwrap_or(spec.least_turns);
                spec.trajectories = Some(fixture("evalscope/inputs/trajectories"));
            }
            EvalscopeData::Trie(spec) => {
                (spec.path, spec.most_turns) = (path, most_turns);
                spec.prefix_tokens = prefix;
            }
            EvalscopeData::Workload(spec) => {
                spec.path = path;
                spec.own_headers.extend(self.has("--api-key").then(|| "authorization".to_owned()));
            }
            _ => {}
        }
    }

    /// Applies `--dataset-args`. Unknown keys are refused by the command line.
    fn apply_arguments(&self, data: &mut EvalscopeData) {
        let given = self.json("--dataset-args");
        let length = |key: &str| serde_json::from_value(given[key].clone()).unwrap();
        match data {
            EvalscopeData::Texts(spec) => {
                let mut target = given
                    .get("target_input_len")
                    .map(|tokens| TargetLength::new(tokens.as_u64().unwrap() as u32));
                if let Some(target) = &mut target {
                    let drops = given.get("input_len_mode").is_some_and(|mode| mode == "drop");
                    target.short = if drops { ShortTexts::Drop } else { ShortTexts::Cap };
                    let file = given.get("prefix_file").and_then(Value::as_str);
                    target.prefix_file = file.map(fixture);
                    let user = given.get("prefix_role").is_some_and(|role| role == "user");
                    target.prefix_role = if user { PrefixRole::User } else { PrefixRole::System };
                }
                spec.target = target;
            }
            EvalscopeData::SweSmith(spec) if !given.is_empty() => {
                spec.first_turn = length("first_turn_length");
                spec.later_turns = length("subsequent_turn_length");
                spec.chars_per_token = given["chars_per_token"].as_f64().unwrap();
            }
            EvalscopeData::Workload(spec) => {
                let text = |key: &str| given.get(key)?.as_str().map(str::to_owned);
                spec.speed = given.get("speed").and_then(Value::as_f64).unwrap_or(1.0);
                spec.model = text("model_override");
                spec.matches_outputs = given.contains_key("match_output_length");
                if let Some(models) = given.get("model_mapping") {
                    spec.models = serde_json::from_value(models.clone()).unwrap();
                }
            }
            _ => {}
        }
    }

    pub(crate) fn wire(&self) -> BackendSpec {
        let mut wire = Wire::new(self.api(), "folder/model");
        wire.common.stream = !self.has("--no-stream");
        wire.common.extra_body = self.json("--extra-args");
        wire.query_template =
            self.text("--query-template").map(|text| serde_json::from_str(text).unwrap());
        let sampling = &mut wire.sampling;
        sampling.min_tokens = self.number("--min-tokens");
        sampling.frequency_penalty = self.number("--frequency-penalty");
        sampling.repetition_penalty = self.number("--repetition-penalty");
        sampling.logprobs = self.has("--logprobs").then_some(true);
        sampling.choices = self.number("--n-choices");
        sampling.seed = self.number("--seed");
        sampling.stop = self.has("--stop").then(|| self.words("--stop").to_vec());
        sampling.stop_token_ids =
            self.has("--stop-token-ids").then(|| self.words("--stop-token-ids").to_vec());
        sampling.temperature = self.number("--temperature").unwrap_or(0.0);
        sampling.top_p = self.number("--top-p");
        sampling.top_k = self.number("--top-k");
        BackendSpec::Evalscope(wire)
    }

    /// Returns the answer that the server gives to every turn.
    pub(crate) fn answer() -> JsonObject {
        serde_json::from_value(json!({"role": "assistant", "content": "ok."})).unwrap()
    }
}
