//! Why a run did not come to its report, and what the program's exit code says of it.

use std::io;

use servemark_client::ClientError;
use servemark_core::{DatasetError, ErrorKind, RequestError, RunLogError, TokenizerError};
#[cfg(feature = "engine")]
use servemark_engine::EngineError;
use servemark_hub::HubError;
use servemark_mock::MockError;
use servemark_plan::PlanError;
use servemark_schedule::ScheduleError;
use servemark_signals::StopCause;
use thiserror::Error;

use crate::OutputError;

/// Why a run did not come to its report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The plan cannot run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The target's description or its credentials are not usable, or the machine is too small.
    #[error(transparent)]
    Target(ClientError),
    /// The server is not there, or not ready, or does not say what it serves.
    #[error(transparent)]
    NotReady(ClientError),
    /// The server lists no model.
    #[error("the server at {url} lists no model; name one with --model")]
    NoModel {
        /// Where it was asked.
        url: String,
    },
    /// Nobody says where the tokenizer is.
    #[error("no tokenizer: neither --tokenizer nor --model names one, and the server does not say")]
    NoTokenizer,
    /// A tokenizer or a data set is neither on this machine nor to be had from a hub.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The tokenizer cannot be loaded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The samples cannot be drawn.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// What was drawn does not say when it is due.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The first request was tried in vain; in vLLM's words.
    #[error(
        "Initial test run failed - Please make sure benchmark arguments are correctly specified. \
         Error: {0}"
    )]
    FirstRequest(RequestError),
    /// The server was not there, or would not have a request.
    #[error(
        "the test request failed, so nothing was sent: {0}; is the URL right, and the model's \
         name? --no-test-connection does without the test"
    )]
    Greeting(RequestError),
    /// Not one warm-up request succeeded.
    #[error("the warm-up failed, so nothing was measured: {0}")]
    Warmup(RequestError),
    /// The prefix cache could not be emptied.
    #[error("the server's prefix cache could not be emptied (--flush-cache)")]
    Flush(#[source] ClientError),
    /// The prefix cache could not be filled before the measurement.
    #[error("the server's prefix cache could not be filled (--cache-hit-rate)")]
    CacheFill(#[source] ClientError),
    /// A file that the run would write cannot be written.
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
    /// The engine would answer a request with less than it asks for, and say nothing.
    #[cfg(feature = "engine")]
    #[error(
        "a request has {tokens} tokens, prompt and output together, and the engine takes {most}: \
         ask for shorter ones, or start it with a larger context (vLLM: --max-model-len)"
    )]
    TooLong {
        /// How many tokens it has.
        tokens: u64,
        /// How many it may have.
        most: u32,
    },
    /// The engine ended before any request was done.
    #[cfg(feature = "engine")]
    #[error("{why}")]
    EngineLost {
        /// How, and what it said last.
        why: String,
    },
    /// The operating system refused a thread, a timer or a runtime.
    #[error("the operating system refused what a run needs")]
    Machine(#[source] io::Error),
    /// The user stopped it before anything was measured.
    #[error("stopped before anything was measured")]
    Interrupted,
}

impl ExecuteError {
    /// Whether a server was there and answered with nothing but a status, such as 401.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Target(error) | Self::NotReady(error) => error.is_status(),
            Self::FirstRequest(error) | Self::Greeting(error) | Self::Warmup(error) => {
                error.kind == ErrorKind::Status
            }
            _ => false,
        }
    }

    /// The program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            #[cfg(feature = "engine")]
            Self::Engine(
                EngineError::Start { .. }
                | EngineError::NotBuilt { .. }
                | EngineError::NotInstalled { .. },
            ) => ExitCode::Usage,
            #[cfg(feature = "engine")]
            Self::TooLong { .. } => ExitCode::Usage,
            #[cfg(feature = "engine")]
            Self::Engine(_) => ExitCode::NotReady,
            #[cfg(feature = "engine")]
            Self::EngineLost { .. } => ExitCode::Internal,
            Self::Plan(_)
            | Self::Target(_)
            | Self::NoModel { .. }
            | Self::NoTokenizer
            | Self::Hub(_)
            | Self::Tokenizer(_)
            | Self::Dataset(_)
            | Self::Schedule(_)
            | Self::Output(_)
            | Self::RunLog(RunLogError::Taken { .. } | RunLogError::Busy { .. }) => ExitCode::Usage,
            Self::NotReady(_) | Self::FirstRequest(_) | Self::Greeting(_) => ExitCode::NotReady,
            Self::Warmup(_) => ExitCode::TooManyFailed,
            Self::Interrupted => ExitCode::Interrupted,
            Self::Flush(_)
            | Self::CacheFill(_)
            | Self::RunLog(_)
            | Self::Simulator(_)
            | Self::Machine(_) => ExitCode::Internal,
        }
    }
}

/// What the programs' exit codes mean. They are public: scripts may rely on them. Of several runs'
/// codes the largest is told.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum ExitCode {
    /// The run came to its end.
    Ok = 0,
    /// Something is wrong with the program or the machine.
    Internal = 1,
    /// The command line, the plan or its input is wrong.
    Usage = 2,
    /// An objective or a baseline was missed.
    GateFailed = 3,
    /// The server was not ready.
    NotReady = 4,
    /// More requests failed than are tolerated.
    TooManyFailed = 5,
    /// An objective is neither held nor missed as far as the run shows, or was not judged.
    Undecided = 6,
    /// SIGHUP stopped the run; what was measured is reported.
    HungUp = 129,
    /// Ctrl-C stopped the run; what was measured is reported. Runs that were stopped have this code
    /// whatever the signal was; [`ExitCode::of_process`] makes the signal's own of it.
    Interrupted = 130,
    /// SIGTERM stopped the run; what was measured is reported.
    Terminated = 143,
}

impl ExitCode {
    /// The code with which the process ends that a run's code is of: if a signal stopped the run, the
    /// signal's. An engine that was told to end by the same signal as this process counts as stopped,
    /// too.
    #[must_use]
    pub fn of_process(self, stopped_by: Option<StopCause>) -> Self {
        match (self, stopped_by) {
            (Self::Interrupted | Self::TooManyFailed, Some(StopCause::HangUp)) => Self::HungUp,
            (Self::Interrupted | Self::TooManyFailed, Some(StopCause::Terminate)) => {
                Self::Terminated
            }
            (code, _) => code,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}
