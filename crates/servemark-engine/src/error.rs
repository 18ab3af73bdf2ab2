//! Errors of an engine as a whole. An error of a single request is in its record.

use std::fmt;
use std::io;
use std::time::Duration;

use thiserror::Error;

/// An error of an engine as a whole.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The engine's process cannot be started.
    #[error(
        "cannot start {command}; name a Python that has the engine \
         (`server.engine.engine.worker.python`)"
    )]
    Start {
        /// The command that failed.
        command: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The engine cannot be loaded.
    #[error("the engine {name} could not be loaded: {reason}")]
    Load {
        /// The engine's name.
        name: String,
        /// The engine's own message.
        reason: String,
    },
    /// A module of the engine is missing, as its load showed.
    #[error(
        "the engine {name} could not be loaded: {reason}; name a Python that has it \
         (`server.engine.engine.worker.python`)"
    )]
    Absent {
        /// The engine's name.
        name: String,
        /// The engine's own message.
        reason: String,
    },
    /// The Python that was named or found cannot import the engine, as a check before its load
    /// showed.
    #[error(
        "the engine {name} is not installed: {reason}; install it there, or name a Python that has it \
         (`server.engine.engine.worker.python`)"
    )]
    NotInstalled {
        /// The engine's name.
        name: &'static str,
        /// Why the Python cannot import the engine.
        reason: String,
    },
    /// This program was built without the engine.
    #[error(
        "this program was built without the engine {feature}; use `bench-offline`, or build with the \
         Cargo feature `{feature}`"
    )]
    NotBuilt {
        /// The Cargo feature that includes the engine.
        feature: &'static str,
    },
    /// The engine runs in a process of its own, which this program does not start on this system.
    #[error(
        "the engine {name} runs in a process of its own, which this program starts on Linux and \
         macOS only"
    )]
    Unsupported {
        /// The engine's name.
        name: &'static str,
    },
    /// The engine failed during a step.
    #[error("the engine {name} failed: {reason}")]
    Broken {
        /// The engine's name.
        name: &'static str,
        /// The engine's own message.
        reason: String,
    },
    /// The engine ended while it was needed.
    #[error(transparent)]
    Died(WorkerExit),
    /// The engine was silent for too long and was killed.
    #[error("the engine was silent for {patience:?} and was killed{last_lines}")]
    Hung {
        /// How long an engine may be silent.
        patience: Duration,
        /// The last lines that the engine printed.
        last_lines: LastLines,
    },
    /// A line from the engine's worker is not a message of the protocol.
    #[error("the engine's worker sent a line that is not of its protocol: {line}")]
    Protocol {
        /// The line.
        line: String,
    },
    /// The engine's process uses another monotonic clock than this program.
    #[error("the engine's process does not share this program's monotonic clock")]
    OtherClock,
    /// The engine rejected a control command.
    #[error("the engine cannot {what}: {reason}")]
    Control {
        /// The command, in words.
        what: &'static str,
        /// The engine's own message.
        reason: String,
    },
    /// The operating system refused a thread, a file or a pipe.
    #[error("the operating system refused a thread, file or pipe for the engine")]
    Machine(#[from] io::Error),
}

/// How an engine ended while it was needed.
#[derive(Clone, Debug, Error)]
#[error("the engine ended: {how}{last_lines}")]
pub struct WorkerExit {
    /// The exit code or signal, in words.
    pub how: String,
    /// The last lines that the engine printed.
    pub last_lines: LastLines,
}

impl WorkerExit {
    /// Returns a description of an engine's end.
    pub(crate) fn new(how: impl Into<String>, last_words: LastLines) -> Self {
        Self { how: how.into(), last_lines: last_words }
    }
}

/// The last lines that an engine printed. `Display` starts them on a new line, to follow a
/// sentence.
#[derive(Clone, Debug, Default)]
pub struct LastLines(pub(crate) Vec<String>);

impl LastLines {
    /// Returns the lines.
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for LastLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() {
            write!(f, "; its last output:")?;
        }
        self.0.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}
