//! What a request's body asks for. Only the keys that change the answer are read, and prompts are
//! counted where they stand, never copied.

mod prompt;

use serde::Deserialize;
use serde_json::Value;

use self::prompt::{Prompt, Prompts, words};
use super::Dialect;

/// The keys of all the dialects; each has its own few of them.
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
    /// Whether a chat is asked for the tokens' logarithmic probabilities, or, for a completion, how
    /// many tokens of each place.
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
    sampling_params: SamplingParams,
    state: Value,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    text: Prompt,
    text_input: Prompt,
    top_logprobs: Option<u32>,
    top_n: Option<u32>,
    /// The prompts' sizes, where there are several in one request for tokens.
    #[serde(skip)]
    batch: Vec<u32>,
}

impl Ask {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut ask: Self = serde_json::from_slice(body)?;
        // It is read again only where that is needed: most requests have one prompt.
        if [ask.input_ids, ask.prompt, ask.text].iter().any(|prompt| prompt.is_list) {
            let prompts: Prompts = serde_json::from_slice(body)?;
            ask.batch = prompts.sizes();
        }
        Ok(ask)
    }

    /// The prompts' sizes, if there are several on a route that gives each an answer of its own.
    pub(crate) fn batch(&self, dialect: Dialect) -> Option<&[u32]> {
        let takes_batches = matches!(dialect, Dialect::Completions | Dialect::Generate);
        (takes_batches && !self.batch.is_empty()).then_some(&self.batch)
    }

    /// The prompt, under whichever name the dialect has for it.
    pub(crate) fn prompt(&self) -> Prompt {
        let names = [
            self.input,
            self.input_ids,
            self.inputs,
            self.messages,
            self.prompt,
            self.text,
            self.text_input,
        ];
        names.into_iter().fold(Prompt::default(), Prompt::and).and(self.pairs())
    }

    /// What is ranked: the query is read again with each of the documents.
    fn pairs(&self) -> Prompt {
        let Prompt { tokens, items, .. } = self.documents;
        let queries = self.query.tokens.saturating_mul(items);
        Prompt { tokens: tokens.saturating_add(queries), items, is_list: false }
    }

    /// How many choices each prompt is answered with. Only chats and completions have several.
    pub(crate) fn choices(&self, dialect: Dialect) -> u32 {
        match dialect {
            Dialect::Chat | Dialect::Completions => self.n.unwrap_or(1),
            _ => 1,
        }
    }

    /// What is to be told of the probability of each token, if anything.
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

    /// What is wrong with the request for a server of this model, if anything is. `is_strict` says
    /// whether the server refuses models by other names than its own.
    pub(crate) fn fault(&self, dialect: Dialect, model: &str, is_strict: bool) -> Option<AskFault> {
        let needed = match dialect {
            Dialect::Chat => Some(("messages", self.messages)),
            Dialect::Completions => Some(("prompt", self.prompt)),
            // vLLM embeds chats, too.
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

    /// How many documents of a ranking are wanted.
    pub(crate) fn best(&self) -> u32 {
        let all = self.documents.items;
        self.top_n.map_or(all, |best| best.min(all))
    }

    /// The question that System One is asked.
    pub(crate) fn question(&self) -> &Value {
        &self.questions["answer"]
    }

    /// The kind of decision that `AutoTrust` is asked for, and what there is to choose from.
    pub(crate) fn options(&self) -> (&Value, &Value) {
        (&self.kind, &self.options)
    }

    /// The size of what is decided about, by the words of its text.
    pub(crate) fn state_tokens(&self) -> u32 {
        self.state.as_str().map_or_else(|| words(&self.state.to_string()), words)
    }

    /// How long the vectors of an embedding are.
    pub(crate) fn dimensions(&self) -> Option<u32> {
        self.dimensions
    }

    /// Whether they are written as base64.
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

    /// The same as a stream, unless it says that it is none.
    pub(crate) fn streamed_by_default(self) -> Self {
        Self { stream: self.stream.or(Some(true)), ..self }
    }

    /// The same as a stream.
    pub(crate) fn streamed(self) -> Self {
        Self { stream: Some(true), ..self }
    }

    /// Whether its prompt stands where text-generation-inference has it.
    pub(crate) fn is_of_tgi(&self) -> bool {
        self.inputs != Prompt::default()
    }

    /// Whether every event of Triton's is to hold all the text so far.
    pub(crate) fn accumulates(&self) -> bool {
        self.accumulate_tokens.unwrap_or(false)
    }

    /// Whether `DashScope` is to answer with messages.
    pub(crate) fn wants_messages(&self) -> bool {
        self.parameters.result_format.as_deref() == Some("message")
    }

    /// Whether its events are to hold no more than is new.
    pub(crate) fn wants_pieces(&self) -> bool {
        self.parameters.incremental_output.unwrap_or(false)
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

/// Which events of a stream carry the counts. Closed: these are the protocol's three.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UsageEvents {
    Continuous,
    Last,
    None,
}

/// What is told of the probability of each token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Logprobs {
    /// As a chat tells it, with so many likely tokens for each place.
    Chat {
        /// How many.
        top: u32,
    },
    /// As a completion tells it.
    Completions {
        /// How many.
        top: u32,
    },
}

/// What is wrong with a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum AskFault {
    /// The key that its prompt should stand under is not there.
    Missing(&'static str),
    /// A number is outside of what OpenAI's API allows.
    OutOfRange {
        /// The key.
        name: &'static str,
        /// The smallest value that is allowed.
        least: u32,
        /// The largest.
        most: u32,
    },
    /// It asks for a model that is not here.
    UnknownModel(String),
}

/// OpenAI's API allows no more choices, and no more likely tokens for each place.
const MOST_CHOICES: u32 = 128;
const MOST_LOGPROBS: u32 = 20;

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct SamplingParams {
    max_new_tokens: Option<u32>,
}

/// What text-generation-inference, Triton and `DashScope` are told in an object of its own.
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
    fn usage_must_be_asked_for() {
        assert_eq!(ask(r#"{"stream": true, "stream_options": null}"#).usage(), UsageEvents::None);
        let last = r#"{"stream_options": {"include_usage": true}}"#;
        assert_eq!(ask(last).usage(), UsageEvents::Last);
        let each = r#"{"stream_options": {"include_usage": true, "continuous_usage_stats": true}}"#;
        assert_eq!(ask(each).usage(), UsageEvents::Continuous);
    }
}
