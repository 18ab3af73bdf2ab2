//! The parameters of a request's body. Only the keys that change the answer are read, and prompts
//! are counted in place, never copied.

mod form;
mod prompt;

use serde::Deserialize;
use serde_json::Value;

use self::prompt::{Prompt, Prompts, words};
use super::Dialect;

/// The keys of all dialects; each dialect uses some of them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct Ask {
    accumulate_tokens: Option<bool>,
    dimensions: Option<u32>,
    documents: Prompt,
    encoding_format: Option<String>,
    input: Prompt,
    input_ids: Prompt,
    inputs: Prompt,
    kind: Value,
    /// For a chat, whether log probabilities are requested; for a completion, how many tokens to
    /// report for each position.
    logprobs: Value,
    max_completion_tokens: Option<u32>,
    max_output_tokens: Option<u32>,
    max_tokens: Option<u32>,
    messages: Prompt,
    model: Option<String>,
    n: Option<u32>,
    options: Value,
    parameters: Parameters,
    prompt: Prompt,
    query: Prompt,
    questions: Value,
    return_meta_info: Option<bool>,
    sampling_params: SamplingParams,
    state: Value,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    system: Prompt,
    text: Prompt,
    text_input: Prompt,
    top_logprobs: Option<u32>,
    top_n: Option<u32>,
    /// The sizes of the prompts in tokens, if one request for generation has a list of them.
    #[serde(skip)]
    batch: Vec<u32>,
}

impl Ask {
    /// A body is JSON, or a form, whose first line is its boundary.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        if body.starts_with(b"--") {
            return Ok(Self::of_form(body));
        }
        let mut ask: Self = serde_json::from_slice(body)?;
        // Most requests have one prompt, so the second parse is needed only for lists.
        if [ask.input_ids, ask.prompt, ask.text].iter().any(|prompt| prompt.is_list) {
            let prompts: Prompts = serde_json::from_slice(body)?;
            ask.batch = prompts.sizes();
        }
        Ok(ask)
    }

    /// Reads the fields of a form. The recording in it is ignored.
    fn of_form(body: &[u8]) -> Self {
        let fields = form::fields(body);
        let is_true = |name: &str| fields.get(name).map(|value| value.eq_ignore_ascii_case("true"));
        let number = |name: &str| fields.get(name).and_then(|value| value.parse().ok());
        Self {
            max_completion_tokens: number("max_completion_tokens"),
            model: fields.get("model").cloned(),
            stream: is_true("stream"),
            stream_options: Some(StreamOptions {
                include_usage: is_true("stream_include_usage"),
                continuous_usage_stats: is_true("stream_continuous_usage_stats"),
            }),
            ..Self::default()
        }
    }

    /// Returns the sizes of the prompts if there is a list of them on a route that answers each one
    /// separately.
    pub(crate) fn batch(&self, dialect: Dialect) -> Option<&[u32]> {
        let takes_batches = matches!(dialect, Dialect::Completions | Dialect::Generate);
        (takes_batches && !self.batch.is_empty()).then_some(&self.batch)
    }

    /// Returns the prompt, under any dialect's name for it.
    pub(crate) fn prompt(&self) -> Prompt {
        let names = [
            self.input,
            self.input_ids,
            self.inputs,
            self.messages,
            self.prompt,
            self.system,
            self.text,
            self.text_input,
        ];
        names.into_iter().fold(Prompt::default(), Prompt::and).and(self.pairs())
    }

    /// Returns the number of texts to embed; a chat is one, whatever number of parts it has.
    pub(crate) fn texts(&self) -> u32 {
        if self.messages == Prompt::default() { self.prompt().items } else { 1 }
    }

    /// Returns the size of what is ranked: the query counts once for each document.
    fn pairs(&self) -> Prompt {
        let Prompt { tokens, items, .. } = self.documents;
        let queries = self.query.tokens.saturating_mul(items);
        Prompt { tokens: tokens.saturating_add(queries), items, is_list: false }
    }

    /// The number of choices for each prompt. Only chats and completions can have several.
    pub(crate) fn choices(&self, dialect: Dialect) -> u32 {
        match dialect {
            Dialect::Chat | Dialect::Completions => self.n.unwrap_or(1),
            _ => 1,
        }
    }

    /// The requested form of log probabilities, if any.
    pub(crate) fn logprobs(&self, dialect: Dialect) -> Option<Logprobs> {
        match dialect {
            Dialect::Chat => (self.logprobs == Value::Bool(true))
                .then(|| Logprobs::Chat { top: self.top_logprobs.unwrap_or(0) }),
            Dialect::Completions => {
                let top = u32::try_from(self.logprobs.as_u64()?).unwrap_or(u32::MAX);
                Some(Logprobs::Completions { top })
            }
            _ => None,
        }
    }

    /// Returns what is wrong with the request on a server of this model, if anything. If
    /// `is_strict` is set, requests for a model by another name are refused.
    pub(crate) fn fault(&self, dialect: Dialect, model: &str, is_strict: bool) -> Option<AskFault> {
        let needed = match dialect {
            Dialect::Anthropic | Dialect::Chat => Some(("messages", self.messages)),
            Dialect::Completions => Some(("prompt", self.prompt)),
            // vLLM also embeds chats.
            Dialect::Embeddings => Some(("input", self.input.and(self.messages))),
            Dialect::Responses => Some(("input", self.input)),
            _ => None,
        };
        let (name, prompt) = needed?;
        if let Some(other) = self.model.as_ref().filter(|&other| is_strict && other != model) {
            return Some(AskFault::UnknownModel(other.clone()));
        }
        if prompt == Prompt::default() {
            return Some(AskFault::Missing(name));
        }
        if !(1..=MOST_CHOICES).contains(&self.choices(dialect)) {
            return Some(AskFault::OutOfRange { name: "n", least: 1, most: MOST_CHOICES });
        }
        let (name, top) = match self.logprobs(dialect)? {
            Logprobs::Chat { top } => ("top_logprobs", top),
            Logprobs::Completions { top } => ("logprobs", top),
        };
        (top > MOST_LOGPROBS).then_some(AskFault::OutOfRange {
            name,
            least: 0,
            most: MOST_LOGPROBS,
        })
    }

    /// The number of documents that a ranking returns.
    pub(crate) fn best(&self) -> u32 {
        let all = self.documents.items;
        self.top_n.map_or(all, |best| best.min(all))
    }

    /// Returns the question to System One.
    pub(crate) fn question(&self) -> &Value {
        &self.questions["answer"]
    }

    /// Returns the kind of decision requested of `AutoTrust`, and the options.
    pub(crate) fn options(&self) -> (&Value, &Value) {
        (&self.kind, &self.options)
    }

    /// The size of the subject of a decision, in words of its text.
    pub(crate) fn state_tokens(&self) -> u32 {
        self.state.as_str().map_or_else(|| words(&self.state.to_string()), words)
    }

    /// The requested number of dimensions of an embedding.
    pub(crate) fn dimensions(&self) -> Option<u32> {
        self.dimensions
    }

    /// Whether embeddings are requested as base64.
    pub(crate) fn is_base64(&self) -> bool {
        self.encoding_format.as_deref() == Some("base64")
    }

    pub(crate) fn output_tokens(&self) -> Option<u32> {
        let predicted = self.options.get("num_predict").and_then(Value::as_u64);
        let names = [
            predicted.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)),
            self.max_completion_tokens,
            self.max_output_tokens,
            self.max_tokens,
            self.sampling_params.max_new_tokens,
            self.parameters.max_new_tokens,
            self.parameters.max_tokens,
        ];
        names.into_iter().flatten().next()
    }

    /// Requests a stream unless the body says otherwise.
    pub(crate) fn streamed_by_default(self) -> Self {
        Self { stream: self.stream.or(Some(true)), ..self }
    }

    /// Requests a stream, whatever the body says.
    pub(crate) fn streamed(self) -> Self {
        Self { stream: Some(true), ..self }
    }

    /// Whether the prompt is under `inputs`, the key of text-generation-inference.
    pub(crate) fn is_of_tgi(&self) -> bool {
        self.inputs != Prompt::default()
    }

    /// Whether each event of Triton's holds all text so far.
    pub(crate) fn accumulates(&self) -> bool {
        self.accumulate_tokens.unwrap_or(false)
    }

    /// Whether `DashScope` answers with message objects.
    pub(crate) fn wants_messages(&self) -> bool {
        self.parameters.result_format.as_deref() == Some("message")
    }

    /// Whether each event of `DashScope` holds only the new text.
    pub(crate) fn wants_pieces(&self) -> bool {
        self.parameters.incremental_output.unwrap_or(false)
    }

    /// Whether each choice of SGLang's chat documents has the server's facts about it.
    pub(crate) fn wants_meta_info(&self) -> bool {
        self.return_meta_info.unwrap_or(false)
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.stream.unwrap_or(false)
    }

    pub(crate) fn usage(&self) -> UsageEvents {
        match self.stream_options.unwrap_or_default() {
            StreamOptions { include_usage: Some(true), continuous_usage_stats: Some(true) } => {
                UsageEvents::Continuous
            }
            StreamOptions { include_usage: Some(true), .. } => UsageEvents::Last,
            _ => UsageEvents::None,
        }
    }
}

/// Which events of a stream carry token counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UsageEvents {
    Continuous,
    Last,
    None,
}

/// The requested form of log probabilities.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Logprobs {
    /// The form of `/v1/chat/completions`.
    Chat {
        /// The number of likely tokens to report for each position.
        top: u32,
    },
    /// The form of `/v1/completions`.
    Completions {
        /// The number of likely tokens to report for each position.
        top: u32,
    },
}

/// Why a request is refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum AskFault {
    /// The required key of the prompt is missing.
    Missing(&'static str),
    /// A number is outside the range that OpenAI's API allows.
    OutOfRange {
        /// The key of the number.
        name: &'static str,
        /// The smallest allowed value.
        least: u32,
        /// The largest allowed value.
        most: u32,
    },
    /// The requested model is not the served one.
    UnknownModel(String),
}

/// The limits of OpenAI's API for choices, and for likely tokens at each position.
const MOST_CHOICES: u32 = 128;
const MOST_LOGPROBS: u32 = 20;

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct SamplingParams {
    max_new_tokens: Option<u32>,
}

/// The parameters that text-generation-inference, Triton and `DashScope` read from an object of
/// their own.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Parameters {
    incremental_output: Option<bool>,
    max_new_tokens: Option<u32>,
    max_tokens: Option<u32>,
    result_format: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct StreamOptions {
    continuous_usage_stats: Option<bool>,
    include_usage: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ask(body: &str) -> Ask {
        Ask::parse(body.as_bytes()).unwrap()
    }

    #[track_caller]
    fn check_prompt(body: &str, tokens: u32, items: u32) {
        let prompt = ask(body).prompt();
        assert_eq!((prompt.tokens, prompt.items), (tokens, items), "{body}");
    }

    #[test]
    fn prompts_of_every_shape_are_counted() {
        check_prompt(r#"{"text": "three little words"}"#, 3, 1);
        check_prompt(r#"{"prompt": "two\nlines"}"#, 2, 1);
        check_prompt(r#"{"prompt": ""}"#, 1, 1);
        check_prompt(r#"{"input_ids": [5, 6, 7, 8]}"#, 4, 1);
        check_prompt(r#"{"input": ["a b", "c"]}"#, 3, 2);
        check_prompt(r#"{"input": [[1, 2], [3]]}"#, 3, 2);
        check_prompt(r#"{"prompt": null}"#, 0, 0);
        check_prompt(r#"{"text_input": "a b"}"#, 2, 1);
        check_prompt(r#"{"inputs": "a b c"}"#, 3, 1);
        check_prompt(r#"{"input": {"prompt": "a b"}}"#, 2, 1);
        check_prompt(r#"{"input": {"messages": [{"role": "user", "content": "a b"}]}}"#, 2, 1);
        check_prompt(r#"{"query": "a b", "documents": ["c", "d e f"]}"#, 8, 2);
    }

    #[test]
    fn several_prompts_have_a_size_each() {
        let sizes = |body| ask(body).batch(Dialect::Generate).map(<[u32]>::to_vec);
        assert_eq!(sizes(r#"{"input_ids": [[1, 2], [3]]}"#), Some(vec![2, 1]));
        assert_eq!(sizes(r#"{"input_ids": [[1, 2, 3]]}"#), Some(vec![3]));
        assert_eq!(sizes(r#"{"text": ["a b c", "d"], "input_ids": null}"#), Some(vec![3, 1]));
        assert_eq!(sizes(r#"{"input_ids": [1, 2, 3]}"#), None);
        assert_eq!(sizes(r#"{"text": "a b c"}"#), None);
        let texts = ask(r#"{"input": ["a", "b"], "prompt": ["c"]}"#);
        assert_eq!(texts.batch(Dialect::Embeddings), None);
    }

    #[test]
    fn of_messages_the_text_counts() {
        let parts = r#"{"messages": [
            {"role": "system", "content": "be brief please"},
            {"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:x y z"}},
                {"type": "text", "text": "what is it"}]}]}"#;
        assert_eq!(ask(parts).prompt().tokens, 6);
    }

    #[test]
    fn lengths_have_several_names() {
        assert_eq!(ask(r#"{"max_tokens": 3}"#).output_tokens(), Some(3));
        assert_eq!(
            ask(r#"{"max_completion_tokens": 4, "max_tokens": null}"#).output_tokens(),
            Some(4)
        );
        assert_eq!(ask(r#"{"sampling_params": {"max_new_tokens": 5}}"#).output_tokens(), Some(5));
        assert_eq!(ask(r#"{"parameters": {"max_new_tokens": 6}}"#).output_tokens(), Some(6));
        assert_eq!(ask(r#"{"parameters": {"max_tokens": 7}}"#).output_tokens(), Some(7));
        assert_eq!(ask(r#"{"options": {"num_predict": 8}}"#).output_tokens(), Some(8));
        assert_eq!(ask("{}").output_tokens(), None);
    }

    #[test]
    fn a_form_asks_as_a_document_does() {
        let ask = ask(
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"stream\"\r\n\r\nfalse\r\n\
                       --b\r\nContent-Disposition: form-data; name=\"stream\"\r\n\r\nTrue\r\n\
                       --b\r\nContent-Disposition: form-data; name=\"max_completion_tokens\"\r\n\r\n7\r\n\
                       --b\r\nContent-Disposition: form-data; name=\"stream_include_usage\"\r\n\r\nTrue\r\n--b--\r\n",
        );
        assert!(ask.is_stream());
        assert_eq!((ask.output_tokens(), ask.usage()), (Some(7), UsageEvents::Last));
    }

    #[test]
    fn usage_must_be_asked_for() {
        assert_eq!(ask(r#"{"stream": true, "stream_options": null}"#).usage(), UsageEvents::None);
        let last = r#"{"stream_options": {"include_usage": true}}"#;
        assert_eq!(ask(last).usage(), UsageEvents::Last);
        let each = r#"{"stream_options": {"include_usage": true, "continuous_usage_stats": true}}"#;
        assert_eq!(ask(each).usage(), UsageEvents::Continuous);
    }
}
