//! The input of one request, as a data set draws it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Audio, LazyText, Medium, ReadyRequest};

/// A JSON object whose keys keep their order, because users compare sent bodies with the peers'.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// The input of one request: what is sent, its length in tokens, and the number of output tokens to
/// ask for.
///
/// vLLM calls this a `SampleRequest`, SGLang a `DatasetRow`.
///
/// ```
/// use servemark_core::{Prompt, Sample};
///
/// let sample = Sample::new("What is a token?", 5, 128);
/// assert_eq!((sample.prompt_tokens, sample.output_tokens), (5, 128));
/// assert_eq!(sample.prompt, Prompt::Text("What is a token?".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// The input of the model.
    pub prompt: Prompt,
    /// Length of the prompt in tokens, by the data set's tokenizer.
    pub prompt_tokens: u32,
    /// The part of `prompt_tokens` that is text.
    pub text_tokens: u32,
    /// The part of `prompt_tokens` that is images.
    pub vision_tokens: u32,
    /// Pictures and videos of the prompt, in order. They follow its text, except in a prompt of
    /// messages: there each part `{"type": "image_url", "image_url": {}}` without a `url` is the
    /// place of the next medium.
    pub media: Vec<Medium>,
    /// Audio attached to the prompt.
    pub audio: Option<Audio>,
    /// Number of output tokens to ask for.
    pub output_tokens: u32,
    /// Playing time of the prompt's audio in nanoseconds; zero without audio.
    pub audio_ns: u64,
    /// Name by which the server knows the adapter that answers the request; the base model if
    /// absent.
    pub adapter: Option<String>,
    /// Keys added to the body of this request only; they override the run's own keys.
    pub extra_body: JsonObject,
    /// Headers added to this request only.
    pub headers: Vec<(String, String)>,
    /// Id of the request in the trace that it was recorded in. It is kept in the record and not
    /// sent.
    pub request_id: Option<Box<str>>,
}

impl Sample {
    /// Creates a sample with text only.
    pub fn new(prompt: impl Into<Prompt>, prompt_tokens: u32, output_tokens: u32) -> Self {
        Self {
            prompt: prompt.into(),
            prompt_tokens,
            text_tokens: prompt_tokens,
            vision_tokens: 0,
            media: Vec::new(),
            audio: None,
            output_tokens,
            audio_ns: 0,
            adapter: None,
            extra_body: JsonObject::new(),
            headers: Vec::new(),
            request_id: None,
        }
    }

    /// Attaches audio and sets its playing time.
    #[must_use]
    pub fn with_audio(self, audio: Audio) -> Self {
        let audio_ns = u64::try_from(audio.duration().as_nanos()).unwrap_or(u64::MAX);
        Self { audio_ns, audio: Some(audio), ..self }
    }

    /// Sets the keys added to the body of this request only.
    #[must_use]
    pub fn with_extra_body(self, extra_body: JsonObject) -> Self {
        Self { extra_body, ..self }
    }
}

/// The input of the model.
///
/// ```
/// use servemark_core::Prompt;
///
/// let texts = Prompt::Texts(vec!["one".to_owned(), "two".to_owned()]);
/// // One embedding for each text, in one answer with one record.
/// assert_eq!((texts.items(), texts.records()), (2, 1));
/// assert_eq!(Prompt::Batch(vec![vec![1], vec![2]]).records(), 2);
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Prompt {
    /// Text, which the server tokenizes.
    Text(String),
    /// Text that is generated when its request is prepared. It is read from a file as
    /// [`Text`](Self::Text).
    #[serde(skip_deserializing)]
    Lazy(LazyText),
    /// Token ids, which the server uses as they are.
    TokenIds(Vec<u32>),
    /// Chat messages, each an object with at least `role` and `content`.
    Messages(Vec<JsonObject>),
    /// Several texts in one request, each answered separately: the inputs of an embedding request.
    Texts(Vec<String>),
    /// A query and the documents to rank by it.
    Ranking {
        /// The query that the documents are compared with.
        query: String,
        /// The documents to rank.
        documents: Vec<String>,
    },
    /// A complete request body from elsewhere, in which the dialect fills in what is missing.
    Body(JsonObject),
    /// A request that was encoded before the run, which is sent as it stands. It is not read from a
    /// file.
    #[serde(skip_deserializing)]
    Ready(ReadyRequest),
    /// Token ids of several prompts in one request. Each prompt has an answer and a
    /// [record](crate::RequestRecord) of its own.
    Batch(Vec<Vec<u32>>),
}

impl Prompt {
    /// Returns the text of a [`Text`](Self::Text) or [`Lazy`](Self::Lazy) prompt.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(text.into()),
            Self::Lazy(lazy) => Some(lazy.text().into()),
            _ => None,
        }
    }

    /// Returns the number of answers that the prompt asks for: one per text, one per document to
    /// rank, and one for any other prompt.
    pub fn items(&self) -> u32 {
        let items = match self {
            Self::Texts(texts) => texts.len(),
            Self::Ranking { documents, .. } => documents.len(),
            _ => 1,
        };
        u32::try_from(items).unwrap_or(u32::MAX)
    }

    /// Returns whether the prompt is a body that asks for an answer that is not a stream.
    pub fn asks_for_document(&self) -> bool {
        matches!(self, Self::Body(body) if body.get("stream").is_some_and(|stream| stream == false))
    }

    /// Returns the number of records that the prompt yields: one per prompt of a batch, else one.
    pub fn records(&self) -> usize {
        match self {
            Self::Batch(prompts) => prompts.len(),
            _ => 1,
        }
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<LazyText> for Prompt {
    fn from(text: LazyText) -> Self {
        Self::Lazy(text)
    }
}

impl From<Vec<u32>> for Prompt {
    fn from(ids: Vec<u32>) -> Self {
        Self::TokenIds(ids)
    }
}

impl From<Vec<JsonObject>> for Prompt {
    fn from(messages: Vec<JsonObject>) -> Self {
        Self::Messages(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextSource;

    #[derive(Debug)]
    struct Twice(&'static str);

    impl TextSource for Twice {
        fn text(&self) -> String {
            self.0.repeat(2)
        }
    }

    #[test]
    fn a_lazy_prompt_reads_like_any_text() {
        let lazy = Prompt::from(LazyText::new(Twice("ab")));
        assert_eq!(lazy.text().as_deref(), Some("abab"));
        assert_eq!(lazy, Prompt::from(LazyText::new(Twice("ab"))));
        assert_ne!(lazy, Prompt::from(LazyText::new(Twice("ba"))));
        let json = serde_json::to_string(&lazy).unwrap();
        assert_eq!(serde_json::from_str::<Prompt>(&json).unwrap(), Prompt::from("abab"));
        assert_eq!(Prompt::from(vec![1]).text(), None);
    }
}
