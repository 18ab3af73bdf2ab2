//! Errors of a run and exit codes of the programs.

use std::io;

use servemark_client::{BaseUrlError, ClientError};
use servemark_core::{DatasetError, ErrorKind, RequestError, RunLogError, TokenizerError};
#[cfg(feature = "engine")]
use servemark_engine::EngineError;
use servemark_hub::HubError;
use servemark_mock::MockError;
use servemark_plan::PlanError;
use servemark_schedule::ScheduleError;
use thiserror::Error;

use crate::{ExitCode, OutputError, RankError};

/// Why a run failed.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The target or its credentials are invalid, or the machine's limits are too low.
    #[error(transparent)]
    Target(ClientError),
    /// The server is unreachable or not ready, or it does not report its models.
    #[error(transparent)]
    NotReady(ClientError),
    /// The server lists no model.
    #[error("the server at {url} lists no model; name one with `model.name`")]
    NoModel {
        /// URL of the server.
        url: String,
    },
    /// The server has no list of models, so that its model is not known.
    #[error(
        "{reason}; if its list of models is elsewhere, give the URL that /v1/models follows, and if it \
         has none, name the model with `model.name`"
    )]
    NoModelList {
        /// Error of the list.
        reason: ClientError,
    },
    /// The server refuses the first request in a way that does not depend on the route.
    #[error("the first request to {route} failed: {reason}")]
    NoFirstAnswer {
        /// Route of the request.
        route: &'static str,
        /// Error of the request.
        reason: RequestError,
    },
    /// The server answers the first request with one document, although a stream was asked for.
    #[error(
        "the server answers {route} with one document, although a stream of tokens was asked for, so \
         that no token has a time; does a proxy join its answers? without \
         `wire.stream` whole answers are measured"
    )]
    NotStreamed {
        /// Route of the request.
        route: &'static str,
    },
    /// No server listens on the ports of this machine that engines use by default.
    #[error(
        "no server answers /v1/models on 127.0.0.1 at the ports {ports}: give its URL, as in \
         `servemark http://HOST:PORT`, or try `servemark demo`"
    )]
    NoServer {
        /// Ports that were tried.
        ports: String,
    },
    /// The server does not answer a first request for text.
    #[error(
        "the model {model} answers neither /v1/chat/completions nor /v1/completions: {reason} \
         (bench-embedding measures models of embeddings and rankings)"
    )]
    NoAnswer {
        /// Name of the model.
        model: String,
        /// Error of the request.
        reason: RequestError,
    },
    /// Neither the plan nor the server names a tokenizer.
    #[error(
        "no tokenizer: neither `model.tokenizer` nor `model.name` names one, and the server does not \
         say"
    )]
    NoTokenizer,
    /// A tokenizer or a data set is neither on this machine nor available from a hub.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The tokenizer cannot be loaded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The samples cannot be drawn.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// A dialect that encodes all requests before the run cannot encode one of them.
    #[error("request {index} cannot be encoded: {}", reason.message)]
    Encode {
        /// Zero-based index of the request's session.
        index: usize,
        /// Error of the dialect.
        reason: RequestError,
    },
    /// The drawn samples have no valid schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The first request failed until the time for retries was over; the message is vLLM's.
    #[error(
        "Initial test run failed - Please make sure benchmark arguments are correctly specified. \
         Error: {0}"
    )]
    FirstRequest(RequestError),
    /// The connection test failed: the server was unreachable or refused the request.
    #[error(
        "the test request failed, so nothing was sent: {0}; is the URL right, and the model's \
         name? without `control.greeting` there is no test"
    )]
    Greeting(RequestError),
    /// All warm-up requests failed.
    #[error("the warm-up failed, so nothing was measured: {0}")]
    Warmup(RequestError),
    /// The prefix cache could not be emptied.
    #[error("the server's prefix cache could not be emptied (`control.flush_cache`)")]
    Flush(#[source] ClientError),
    /// The prefix cache could not be filled before the measurement.
    #[error("the server's prefix cache could not be filled")]
    CacheFill(#[source] ClientError),
    /// An output file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The run log cannot be opened.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
    /// The simulator cannot be started.
    #[error("the bundled simulator does not start")]
    Simulator(#[from] MockError),
    /// The engine cannot be loaded.
    #[cfg(feature = "engine")]
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A request is longer than the engine's context, so that its output would be cut without
    /// notice.
    #[cfg(feature = "engine")]
    #[error(
        "a request has {tokens} tokens, prompt and output together, and the engine takes {most}: \
         ask for shorter ones, or start it with a larger context \
         (`server.engine.engine.worker.args`)"
    )]
    TooLong {
        /// Number of tokens of the request, prompt and output together.
        tokens: u64,
        /// Maximum number of tokens that the engine takes.
        most: u32,
    },
    /// The engine ended before any request was done.
    #[cfg(feature = "engine")]
    #[error("{why}")]
    EngineLost {
        /// How the engine ended and its last output.
        why: String,
    },
    /// The plan names a part that the program does not supply.
    #[error(
        "the plan's {what} {name} is supplied by a program, and this program does not supply it"
    )]
    NotProvided {
        /// Kind of the part.
        what: &'static str,
        /// Name of the part.
        name: String,
    },
    /// The blocking entry was called inside an asynchronous runtime, which it would block.
    #[error(
        "a run blocks its thread, and this is a thread of an asynchronous runtime: use start()"
    )]
    InsideRuntime,
    /// The processes that share the run cannot work together.
    #[error(transparent)]
    Ranks(#[from] RankError),
    /// The operating system refused a thread, a timer, a runtime or a folder.
    #[error("the operating system refused what a run needs")]
    Machine(#[source] io::Error),
    /// The user stopped the run before anything was measured.
    #[error("stopped before anything was measured")]
    Interrupted,
}

impl From<BaseUrlError> for ExecuteError {
    fn from(error: BaseUrlError) -> Self {
        Self::Target(error.into())
    }
}

impl ExecuteError {
    /// Returns whether a server answered with an error status, such as 401.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Target(error) | Self::NotReady(error) => error.is_status(),
            Self::FirstRequest(error) | Self::Greeting(error) | Self::Warmup(error) => {
                error.kind == ErrorKind::Status
            }
            _ => false,
        }
    }

    /// Returns the program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            #[cfg(feature = "engine")]
            Self::Engine(
                EngineError::Start { .. }
                | EngineError::NotBuilt { .. }
                | EngineError::NotInstalled { .. }
                | EngineError::Unsupported { .. },
            ) => ExitCode::Usage,
            #[cfg(feature = "engine")]
            Self::TooLong { .. } => ExitCode::Usage,
            #[cfg(feature = "engine")]
            Self::Engine(_) => ExitCode::NotReady,
            #[cfg(feature = "engine")]
            Self::EngineLost { .. } => ExitCode::Internal,
            Self::Plan(_)
            | Self::NotProvided { .. }
            | Self::Target(_)
            | Self::NoModel { .. }
            | Self::NoTokenizer
            | Self::Hub(_)
            | Self::Tokenizer(_)
            | Self::Dataset(_)
            | Self::Encode { .. }
            | Self::Schedule(_)
            | Self::RunLog(RunLogError::Taken { .. } | RunLogError::Busy { .. }) => ExitCode::Usage,
            Self::Output(source) => source.exit_code(),
            Self::Ranks(error) => error.code,
            Self::NotReady(_)
            | Self::NoModelList { .. }
            | Self::NoFirstAnswer { .. }
            | Self::NotStreamed { .. }
            | Self::NoServer { .. }
            | Self::NoAnswer { .. }
            | Self::FirstRequest(_)
            | Self::Greeting(_) => ExitCode::NotReady,
            Self::Warmup(_) => ExitCode::TooManyFailed,
            Self::Interrupted => ExitCode::Interrupted,
            Self::Flush(_)
            | Self::CacheFill(_)
            | Self::RunLog(_)
            | Self::Simulator(_)
            | Self::InsideRuntime
            | Self::Machine(_) => ExitCode::Internal,
        }
    }
}
