//! The contents of answers for every dialect.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ask::Ask;
use super::script::{Length, Part, Script, Total};
use super::scripts::{CachedTokens, Form, Scripts};
use super::shapes::{
    LENGTH, MAX_TOKENS, OpenAi, anthropic_block, anthropic_counts, anthropic_message, count,
    dashscope, ollama_end, response, response_counts, response_message, response_part,
    response_usage, tgi_document, triton_event, with_cached,
};
use super::template::Style;
use super::vectors::{DIMENSIONS, Vectors};
use super::{TimesWords, TrueTimes, decision, vectors, words};
use crate::{ImitatedEngine, MockSpec, ReportedTimes};

/// The dialects that the server speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dialect {
    /// Anthropic's `/v1/messages`
    Anthropic,
    /// `AutoTrust`'s `/v1/decide`
    Autotrust,
    /// The route `/v1/chat/completions`
    Chat,
    /// The route `/v1/completions`
    Completions,
    /// `DashScope`'s own route for texts
    Dashscope {
        /// Whether the output text is in a message object.
        as_messages: bool,
        /// Whether each event holds only the new text and not all text so far.
        in_pieces: bool,
    },
    /// `/v1/embeddings`, and Infinity's `/embeddings`
    Embeddings,
    /// SGLang's own `/generate`
    Generate,
    /// Ollama's `/api/chat` and `/api/generate`
    Ollama {
        /// Whether the output text is in a message object.
        as_messages: bool,
    },
    /// vLLM's `/pooling`
    Pooling,
    /// The route `/v1/rerank`
    Rerank,
    /// The route `/v1/responses`
    Responses,
    /// The route `/v1/systemone`.
    Systemone,
    /// `/v1/audio/transcriptions` and `/v1/audio/translations`, whose requests are forms
    Transcription,
    /// The routes of text-generation-inference, and `MindIE`'s `/infer` with identical events
    Tgi,
    /// Triton's generate extension
    Triton {
        /// Whether each event holds all text so far, as TensorRT-LLM's do on request.
        accumulates: bool,
    },
}

impl Dialect {
    /// Whether an answer consists of generated tokens.
    pub(crate) fn generates(self) -> bool {
        !matches!(
            self,
            Self::Autotrust | Self::Embeddings | Self::Pooling | Self::Rerank | Self::Systemone
        )
    }

    /// Refines a route's dialect by the request's body: two servers have a route `/generate`, and
    /// some response shapes are requested by parameters.
    pub(crate) fn of(self, ask: &Ask) -> Self {
        match self {
            Self::Generate if ask.is_of_tgi() => Self::Tgi,
            Self::Dashscope { .. } => {
                Self::Dashscope { as_messages: ask.wants_messages(), in_pieces: ask.wants_pieces() }
            }
            Self::Triton { .. } => Self::Triton { accumulates: ask.accumulates() },
            dialect => dialect,
        }
    }
}

/// Builds the answer to one request.
#[derive(Debug)]
pub(crate) struct ResponseBuilder<'a> {
    spec: &'a MockSpec,
    ask: &'a Ask,
    dialect: Dialect,
    /// The one-based number of the request; it becomes the answer's id.
    number: u64,
    /// The reported creation time of the model, in seconds since the Unix epoch.
    created: u64,
    times: TrueTimes,
    /// The number of prompt tokens from the prefix cache, if the server reports it.
    cached: Option<u32>,
}

impl<'a> ResponseBuilder<'a> {
    pub(crate) fn new(
        spec: &'a MockSpec,
        ask: &'a Ask,
        dialect: Dialect,
        number: u64,
        created: u64,
    ) -> Self {
        Self { spec, ask, dialect, number, created, times: TrueTimes::default(), cached: None }
    }

    /// Sets the number of prompt tokens from the prefix cache.
    pub(crate) fn with_cached(self, cached: Option<u32>) -> Self {
        Self { cached, ..self }
    }

    /// Sets the true times of the answer; those of a document are known in advance.
    pub(crate) fn with_times(self, times: TrueTimes) -> Self {
        Self { times, ..self }
    }

    pub(crate) fn length(&self) -> Length {
        if !self.dialect.generates() {
            return Length { tokens: 1, tokens_per_piece: NonZeroU32::MIN };
        }
        let question = self.spec.output_tokens.or(self.ask.output_tokens());
        let tokens = question.unwrap_or(UNASKED_TOKENS).min(MOST_TOKENS);
        Length { tokens, tokens_per_piece: self.spec.tokens_per_chunk }
    }

    /// Returns the script of the stream, if a stream is requested and the dialect can stream.
    pub(crate) fn script(&self, scripts: &Scripts, style: Style) -> Option<Arc<Script>> {
        if !self.ask.is_stream() {
            return None;
        }
        // A list of prompts has an index in its events even if it holds only one prompt.
        let is_several = self.ask.batch(self.dialect).is_some() || self.choices() > 1;
        let (dialect, logprobs) = (self.dialect, self.ask.logprobs(self.dialect));
        let times = TimesWords::of(self.spec, dialect);
        let usage = self.ask.usage();
        let cached = match self.cached {
            Some(_) => CachedTokens::Counted,
            None if self.spec.hides_cached => CachedTokens::Hidden,
            None => CachedTokens::NoCache,
        };
        let form = Form { dialect, usage, style, is_several, logprobs, times, cached };
        scripts.find(form, &self.spec.model, self.created)
    }

    /// Returns what is specific to each choice of each prompt in a stream: the first part, and the
    /// others. Prompts alternate, so every piece of a prompt is followed by one of each other
    /// prompt.
    pub(crate) fn parts(&self) -> (Part, Vec<Part>) {
        let (number, length, choices) = (self.number, self.length(), self.choices());
        let own = [self.prompt_tokens()];
        let prompts = self.ask.batch(self.dialect).unwrap_or(&own);
        let part = |choice: u32, (prompt, &prompt_tokens): (u32, &u32)| Part {
            index: prompt * choices + choice,
            number,
            prompt_tokens,
            length,
            times: self.times,
            cached: self.cached.unwrap_or_default(),
        };
        let turn = |choice: u32| (0..).zip(prompts).map(move |prompt| part(choice, prompt));
        let mut parts = (0..choices).flat_map(turn);
        let first = parts.next().unwrap_or_else(|| part(0, (0, &own[0])));
        (first, parts.collect())
    }

    /// The number of prompts in the request.
    pub(crate) fn prompts(&self) -> usize {
        self.ask.batch(self.dialect).map_or(1, <[u32]>::len)
    }

    /// The number of choices for each prompt.
    fn choices(&self) -> u32 {
        self.ask.choices(self.dialect)
    }

    /// The token counts of all prompts and choices together.
    pub(crate) fn total(&self) -> Total {
        Total { prompt_tokens: self.prompt_tokens(), tokens: self.all_tokens() }
    }

    /// The number of tokens in all prompts; zero for dialects that generate no tokens.
    pub(crate) fn all_prompt_tokens(&self) -> u32 {
        if self.dialect.generates() { self.prompt_tokens() } else { 0 }
    }

    /// The number of output tokens in all choices of all prompts.
    pub(crate) fn all_tokens(&self) -> u32 {
        if !self.dialect.generates() {
            return 0;
        }
        let choices = self.choices().saturating_mul(self.prompts() as u32);
        self.length().tokens.saturating_mul(choices)
    }

    /// Returns the answer as one document.
    pub(crate) fn document(&self, vectors: &Vectors) -> String {
        let tokens = self.length().tokens;
        let document = match self.dialect {
            Dialect::Anthropic => {
                let (number, block) =
                    (self.number.to_string(), anthropic_block(&words::text(tokens)));
                let counts = anthropic_counts(&json!(self.prompt_tokens()), &json!(tokens));
                let mut message = anthropic_message(&number, &self.spec.model, &[block], &counts);
                message["stop_reason"] = json!(MAX_TOKENS);
                message
            }
            Dialect::Autotrust => {
                let (kind, options) = self.ask.options();
                decision::autotrust(&self.spec.model, kind, options, &self.decision_counts())
            }
            Dialect::Chat => self.chat_document(tokens),
            Dialect::Completions => self.completions_document(tokens),
            Dialect::Embeddings => return self.vectors_document("embedding", "embedding", vectors),
            Dialect::Generate => self.generated(tokens),
            Dialect::Ollama { as_messages } => {
                let (prompt, text) = (json!(self.prompt_tokens()), words::text(tokens));
                let end = ollama_end(&self.spec.model, as_messages, &text, &prompt, &json!(tokens));
                self.timed(end, tokens)
            }
            Dialect::Pooling => return self.vectors_document("pooling", "data", vectors),
            Dialect::Rerank => self.ranking(),
            Dialect::Dashscope { as_messages, .. } => {
                let (number, text) = (self.number.to_string(), words::text(tokens));
                dashscope(&number, as_messages, &text, LENGTH, &self.dashscope_counts(tokens))
            }
            Dialect::Responses => self.responses_document(tokens),
            Dialect::Systemone => {
                let limit = self.ask.question();
                decision::systemone(&self.spec.model, limit, &self.decision_counts())
            }
            Dialect::Transcription => json!({"text": words::text(tokens), "usage": self.usage()}),
            Dialect::Tgi => tgi_document(&words::text(tokens), tokens),
            Dialect::Triton { .. } => triton_event(&words::text(tokens)),
        };
        document.to_string()
    }

    /// Returns the headers with which the route's server reports its times, each a whole line.
    pub(crate) fn headers(&self) -> String {
        let is_told = self.spec.server_times != ReportedTimes::None;
        match self.dialect {
            Dialect::Tgi if is_told => {
                self.times.tgi_headers(self.prompt_tokens(), self.length().tokens)
            }
            _ => String::new(),
        }
    }

    fn chat_document(&self, tokens: u32) -> Value {
        let message = json!({"role": "assistant", "content": words::text(tokens)});
        let is_sglang = self.spec.engine == Some(ImitatedEngine::Sglang);
        let meta_info = (is_sglang && self.ask.wants_meta_info())
            .then(|| self.meta_info(self.prompt_tokens(), tokens));
        let choice = |index| {
            let mut choice = json!({
                "index": index,
                "message": message,
                "logprobs": self.logprobs(tokens),
                "finish_reason": "length",
            });
            if let Some(meta_info) = &meta_info {
                choice["meta_info"] = meta_info.clone();
            }
            choice
        };
        let choices: Vec<Value> = (0..self.choices()).map(choice).collect();
        self.openai("chatcmpl", "chat.completion", &choices)
    }

    fn completions_document(&self, tokens: u32) -> Value {
        let text = words::text(tokens);
        let choice = |index| {
            json!({
                "index": index,
                "text": text,
                "logprobs": self.logprobs(tokens),
                "finish_reason": "length",
            })
        };
        let choices = self.choices().saturating_mul(self.prompts() as u32);
        let choices: Vec<Value> = (0..choices).map(choice).collect();
        self.openai("cmpl", "text_completion", &choices)
    }

    /// The log probabilities of the first `tokens` tokens; null unless requested.
    fn logprobs(&self, tokens: u32) -> Value {
        self.ask.logprobs(self.dialect).map_or(Value::Null, |logprobs| logprobs.of(0, tokens))
    }

    fn responses_document(&self, tokens: u32) -> Value {
        let (prompt, number) = (self.prompt_tokens(), self.number.to_string());
        let part = response_part(&words::text(tokens));
        let message = response_message(&number, "completed", &[part]);
        let all = json!(prompt.saturating_add(tokens));
        let mut document =
            response(&number, &self.spec.model, self.created, "completed", &[message]);
        document["usage"] = response_counts(json!(prompt), json!(tokens), all);
        document
    }

    fn decision_counts(&self) -> Value {
        let tokens = self.ask.state_tokens();
        response_usage(json!(tokens), json!(1), json!(tokens.saturating_add(1)))
    }

    fn dashscope_counts(&self, tokens: u32) -> Value {
        let prompt = self.prompt_tokens();
        response_usage(json!(prompt), json!(tokens), json!(prompt.saturating_add(tokens)))
    }

    /// Returns one vector for each text, under the route's names for the object and the vector. The
    /// document is assembled from text: as JSON values, its numbers would cost more than all the
    /// rest.
    fn vectors_document(&self, object: &str, key: &str, vectors: &Vectors) -> String {
        let vector = vectors.find(self.vector());
        let of_text =
            |index| format!(r#"{{"object":"{object}","index":{index},"{key}":{vector}}}"#);
        let all: Vec<_> = (0..self.ask.texts()).map(of_text).collect();
        let (all, model) = (all.join(","), json!(self.spec.model));
        let tokens = self.prompt_tokens();
        let usage = format!(r#"{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}"#);
        format!(r#"{{"object":"list","data":[{all}],"model":{model},"usage":{usage}}}"#)
    }

    /// The requested form of the vectors.
    fn vector(&self) -> vectors::Form {
        let dimensions = self.ask.dimensions().unwrap_or(DIMENSIONS).min(MOST_TOKENS) as usize;
        vectors::Form { dimensions, is_base64: self.ask.is_base64() }
    }

    /// Returns the documents in their order, with the scores 1, 1/2, 1/3 …
    fn ranking(&self) -> Value {
        let ranked =
            |index: u32| json!({"index": index, "relevance_score": 1.0 / f64::from(index + 1)});
        let tokens = self.prompt_tokens();
        json!({
            "id": format!("rerank-{}", self.number),
            "model": self.spec.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            "results": (0..self.ask.best()).map(ranked).collect::<Vec<_>>(),
        })
    }

    /// Returns a list of answers if the request has several prompts, else one answer.
    fn generated(&self, tokens: u32) -> Value {
        match self.ask.batch(self.dialect) {
            None => self.generated_for(self.prompt_tokens(), tokens),
            Some(prompts) => {
                prompts.iter().map(|prompt| self.generated_for(*prompt, tokens)).collect()
            }
        }
    }

    fn generated_for(&self, prompt_tokens: u32, tokens: u32) -> Value {
        json!({"text": words::text(tokens), "meta_info": self.meta_info(prompt_tokens, tokens)})
    }

    /// SGLang's facts about one output, with its times.
    fn meta_info(&self, prompt_tokens: u32, tokens: u32) -> Value {
        let mut meta = json!({
            "id": format!("{:032x}", self.number),
            "finish_reason": {"type": "length", "length": tokens},
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
        });
        if !self.spec.hides_cached {
            meta["cached_tokens"] = json!(self.cached.unwrap_or_default());
        }
        if self.spec.server_times != ReportedTimes::None {
            self.add_times(&mut meta, TimesWords::Sglang, tokens);
        }
        meta
    }

    /// Adds the server's times to the object that holds them in the route's words.
    fn timed(&self, mut object: Value, tokens: u32) -> Value {
        if let Some(words) = TimesWords::of(self.spec, self.dialect) {
            self.add_times(&mut object, words, tokens);
        }
        object
    }

    fn add_times(&self, object: &mut Value, words: TimesWords, tokens: u32) {
        for (key, value) in self.times.members(words, tokens) {
            object[key] = value;
        }
    }

    fn openai(&self, prefix: &str, kind: &str, choices: &[Value]) -> Value {
        let id = format!("{prefix}-{}", self.number);
        let openai = OpenAi { id, model: &self.spec.model, created: self.created };
        let mut object = openai.object(kind, choices, Some(self.usage()));
        let key = match TimesWords::of(self.spec, self.dialect) {
            Some(TimesWords::Vllm) => "metrics",
            Some(TimesWords::LlamaCpp) => "timings",
            _ => return object,
        };
        object[key] = self.timed(json!({}), self.length().tokens);
        object
    }

    fn usage(&self) -> Value {
        let (prompt, tokens) = (self.prompt_tokens(), self.all_tokens());
        let counts = count(json!(prompt), json!(tokens), json!(prompt.saturating_add(tokens)));
        match self.cached {
            Some(cached) => with_cached(counts, &json!(cached)),
            None => counts,
        }
    }

    fn prompt_tokens(&self) -> u32 {
        self.ask.prompt().tokens
    }
}

/// The output length in tokens when neither the request nor the server's configuration gives one:
/// the default of OpenAI's completions.
const UNASKED_TOKENS: u32 = 16;

/// The largest output length in tokens, as a request may ask for any number. A million is above
/// every model's context, and its answer is still a document of only five megabytes.
const MOST_TOKENS: u32 = 1 << 20;
