//! Plans that cannot run.

use servemark_backends::BackendName;
use servemark_client::NotPrecise;
use servemark_datasets::{DatasetName, PromptFormat};
use thiserror::Error;

/// Why a plan cannot run.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// Nothing would be sent.
    #[error("the plan sends nothing; ask for at least one request (--num-prompts 1)")]
    NoRequests,
    /// Sessions that come again and again, for ever.
    #[error("sessions that come in rounds need an end; say how long the load lasts")]
    Endless,
    /// Something that only a server does.
    #[cfg(feature = "engine")]
    #[error("an engine without a server does not take {what}; leave it out")]
    Engine {
        /// What.
        what: &'static str,
    },
    /// Conversations for a route that takes text.
    #[error(
        "the data set {dataset} holds conversations, and the backend {backend} sends plain text; \
         choose a chat backend (--backend sglang-oai-chat, vllm-chat or lmdeploy-chat)"
    )]
    NeedsChat {
        /// The data set.
        dataset: DatasetName,
        /// The backend.
        backend: BackendName,
    },
    /// Token ids for a route that takes text or messages.
    #[error(
        "the backend {backend} sends text, which cannot be token ids; leave --tokenize-prompt out \
         or choose --backend sglang"
    )]
    IdsRefused {
        /// The backend.
        backend: BackendName,
    },
    /// Pictures for a route or in a form that takes none; in SGLang's words.
    #[error(
        "Image dataset only supports backends: ('sglang', 'sglang-native', 'sglang-oai-chat', \
         'vllm-chat', 'lmdeploy-chat'), got '{backend}'."
    )]
    NoImages {
        /// The backend.
        backend: BackendName,
    },
    /// Text that would be rendered twice, or not at all.
    #[error("a picture's text for the backend {backend} must have the prompt format {expected:?}")]
    ImagePrompt {
        /// The backend.
        backend: BackendName,
        /// What its route takes.
        expected: PromptFormat,
    },
    /// A route that ranks documents, and none are given.
    #[error("the backend {backend} ranks documents; say how many each query has (--documents 10)")]
    NeedsDocuments {
        /// The backend.
        backend: BackendName,
    },
    /// Several texts for a route that takes one.
    #[error(
        "the backend {backend} takes one text at a time; choose an embedding or a rerank backend, \
         or leave batches out"
    )]
    OneAtATime {
        /// The backend.
        backend: BackendName,
    },
    /// A data set without times is to be replayed.
    #[error(
        "the data set {dataset} does not tell when its requests came; leave \
         --use-trace-timestamps out and give a --request-rate"
    )]
    NoTimestamps {
        /// The data set.
        dataset: DatasetName,
    },
    /// An exact instant for requests that have none.
    #[error(
        "--precise-send has no effect without a --request-rate: all requests are due at once, and \
         one thread would write them one after the other"
    )]
    PreciseBurst,
    /// An exact instant for connections that are not written to so.
    #[error(transparent)]
    NotPrecise(#[from] NotPrecise),
}
