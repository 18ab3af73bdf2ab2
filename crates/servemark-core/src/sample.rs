//! One request's input, as a data set draws it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Audio, LazyText, Medium};

/// A JSON object whose keys keep their order, because the peers' users diff what is sent.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// One request's input: what to send, how long the data set says it is, and how much to ask for.
///
/// vLLM calls this a `SampleRequest`, SGLang a `DatasetRow`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// What the model is given.
    pub prompt: Prompt,
    /// The prompt's length in tokens, by the data set's tokenizer.
    pub prompt_tokens: u32,
    /// The part of `prompt_tokens` that is text.
    pub text_tokens: u32,
    /// The part of `prompt_tokens` that is images.
    pub vision_tokens: u32,
    /// The pictures and videos that the prompt shows, in order. They follow its text, but for a
    /// prompt of messages: there each part `{"type": "image_url", "image_url": {}}` without a
    /// `url` is the place of the next of them.
    pub media: Vec<Medium>,
    /// The recording that the prompt lets hear.
    pub audio: Option<Audio>,
    /// How many output tokens to ask for.
    pub output_tokens: u32,
    /// How long the speech of the prompt is, in nanoseconds; zero where there is none.
    pub audio_ns: u64,
    /// The adapter that answers it, by the name that the server knows it by; the model itself
    /// where there is none.
    pub adapter: Option<String>,
    /// Keys that this request alone adds to its body; they win over the run's own.
    pub extra_body: JsonObject,
    /// Headers that this request alone carries.
    pub headers: Vec<(String, String)>,
    /// The name that it had where it was recorded, which its record keeps and nobody is sent.
    pub request_id: Option<Box<str>>,
}

impl Sample {
    /// A sample of text only.
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

    /// The same sample with a recording to be heard.
    #[must_use]
    pub fn with_audio(self, audio: Audio) -> Self {
        let audio_ns = u64::try_from(audio.duration().as_nanos()).unwrap_or(u64::MAX);
        Self { audio_ns, audio: Some(audio), ..self }
    }

    /// The same sample with its own additions to the request body.
    #[must_use]
    pub fn with_extra_body(self, extra_body: JsonObject) -> Self {
        Self { extra_body, ..self }
    }
}

/// What the model is given.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Prompt {
    /// Text, which the server tokenizes.
    Text(String),
    /// Text, written when its request is prepared. From a file it is read back as text.
    #[serde(skip_deserializing)]
    Lazy(LazyText),
    /// Token ids, which it does not.
    TokenIds(Vec<u32>),
    /// Chat messages, each an object with at least `role` and `content`.
    Messages(Vec<JsonObject>),
    /// Several texts at once, each of which is answered for itself: the inputs of an embedding
    /// request.
    Texts(Vec<String>),
    /// A query and the documents that are ranked by it.
    Ranking {
        /// What the documents are held against.
        query: String,
        /// What is ranked.
        documents: Vec<String>,
    },
    /// The whole body of a request as somebody else wrote it, of which a dialect fills the gaps.
    Body(JsonObject),
    /// Token ids of several prompts that travel as one request. Each has an answer and a
    /// [record](crate::RequestRecord) of its own.
    Batch(Vec<Vec<u32>>),
}

impl Prompt {
    /// The text, if it is one.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(text.into()),
            Self::Lazy(lazy) => Some(lazy.text().into()),
            _ => None,
        }
    }

    /// How many answers it asks for: one for each of several texts, one for each document that is
    /// ranked, one of anything else.
    pub fn items(&self) -> u32 {
        let items = match self {
            Self::Texts(texts) => texts.len(),
            Self::Ranking { documents, .. } => documents.len(),
            _ => 1,
        };
        u32::try_from(items).unwrap_or(u32::MAX)
    }

    /// How many records are kept of it: one for each prompt of a batch.
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
    use crate::Prose;

    #[derive(Debug)]
    struct Twice(&'static str);

    impl Prose for Twice {
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
