//! Errors of plans that cannot run.

use servemark_backends::BackendName;
use servemark_datasets::{DatasetName, PromptFormat};
use servemark_target::NotPrecise;
use thiserror::Error;

/// Reason why a plan cannot run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// The plan has no requests.
    #[error("the plan sends nothing; ask for at least one request (`workload.requests`)")]
    NoRequests,
    /// A data set that follows another one names data sets that follow it.
    #[error(
        "data sets that follow others (followed_by) have none that follow them; list all in one \
             followed_by"
    )]
    NestedFollowers,
    /// Sessions repeat in rounds without an end.
    #[error("sessions that come in rounds need an end; say how long the load lasts")]
    Endless,
    /// The plan asks an engine for something that only a server does.
    #[cfg(feature = "engine")]
    #[error("an engine without a server does not take {what}; leave it out")]
    Engine {
        /// Key or feature that the engine does not take.
        what: &'static str,
    },
    /// The plan asks a program's own transport for something that only a server does.
    #[error("a transport of the program's own does not take {what}; leave it out")]
    Provided {
        /// Key or feature that the transport does not take.
        what: &'static str,
    },
    /// The plan has a setting of requests that the program's own dialect or transport does not read.
    #[error("a dialect or transport of the program's own does not read {what}; leave it out")]
    OwnDialect {
        /// Key that is not read.
        what: &'static str,
    },
    /// The plan asks a dialect that works outside the measured path for what only a dialect on that
    /// path can do.
    #[error(
        "a dialect whose requests are encoded before the run and whose answers are decoded after they \
         have ended does not take {what}; leave it out"
    )]
    Deferred {
        /// Key or feature that the dialect does not take.
        what: &'static str,
    },
    /// Turns of a conversation are to repeat answers that are decoded too late for that.
    #[error(
        "the next turn of a conversation needs the text of the answer, and this dialect decodes answers \
         after they have ended; with `load.sessions.history` = \"left\" each turn is sent with its own \
         messages alone"
    )]
    DeferredHistory,
    /// A data set of conversations is to be sent to a route that takes text.
    #[error(
        "the data set {dataset} holds conversations, and the backend {backend} sends plain text; \
         choose a chat backend (`backend` sglang-oai-chat, vllm-chat or lmdeploy-chat)"
    )]
    NeedsChat {
        /// The data set.
        dataset: DatasetName,
        /// The backend.
        backend: BackendName,
    },
    /// Token ids are to be sent to a route that takes text or messages.
    #[error(
        "the backend {backend} sends text, which cannot be token ids; draw texts or choose \
         the `backend` sglang"
    )]
    IdsRefused {
        /// The backend.
        backend: BackendName,
    },
    /// Pictures are to be sent to a route that takes none. The message is SGLang's.
    #[error(
        "Image dataset only supports backends: ('sglang', 'sglang-native', 'sglang-oai-chat', \
         'vllm-chat', 'lmdeploy-chat'), got '{backend}'."
    )]
    NoImages {
        /// The backend.
        backend: BackendName,
    },
    /// The route has no times of single requests.
    #[error("`control.server_times` has no effect with {backend}: its route generates nothing")]
    NoServerTimes {
        /// The backend.
        backend: BackendName,
    },
    /// The route has no time to first token, which a cache audit compares.
    #[error(
        "`control.cache_audit` needs streamed answers with tokens, and {backend} has none here"
    )]
    NoCacheAudit {
        /// The backend.
        backend: BackendName,
    },
    /// The text of pictures would be rendered twice or not at all.
    #[error("a picture's text for the backend {backend} must have the prompt format {expected:?}")]
    ImagePrompt {
        /// The backend.
        backend: BackendName,
        /// Prompt format that the route takes.
        expected: PromptFormat,
    },
    /// The route ranks documents, and the plan gives none.
    #[error(
        "the backend {backend} ranks documents; say how many each query has \
         (`workload.grouping.ranking.documents`)"
    )]
    NeedsDocuments {
        /// The backend.
        backend: BackendName,
    },
    /// Several texts are to be sent in one request to a route that takes one.
    #[error(
        "the backend {backend} takes one text at a time; choose an embedding or a rerank backend, \
         or leave batches out"
    )]
    OneAtATime {
        /// The backend.
        backend: BackendName,
    },
    /// A data set without timestamps is to be replayed.
    #[error(
        "the data set {dataset} does not contain the times of its requests; choose other \
         arrivals (`load.arrivals`)"
    )]
    NoTimestamps {
        /// The data set.
        dataset: DatasetName,
    },
    /// Precise sending is asked for, but all requests are due at once.
    #[error(
        "precise sending (`load.precise_send`) has no effect without a rate of requests \
         (`load.arrivals`): all requests are due at once, and one thread would write them one after the other"
    )]
    PreciseBurst,
    /// Precise sending is asked for on connections that do not support it.
    #[error(transparent)]
    NotPrecise(#[from] NotPrecise),
}
