//! What can go wrong with an engine as a whole. What goes wrong with one request is its record's.

use std::fmt;
use std::io;
use std::time::Duration;

use thiserror::Error;

/// What can go wrong with an engine as a whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Its process cannot be started.
    #[error("cannot start {command}; name a Python that has the engine (--python PATH)")]
    Start {
        /// The command.
        command: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It could not be loaded.
    #[error("the engine {name} could not be loaded: {reason}")]
    Load {
        /// Which.
        name: String,
        /// What it says.
        reason: String,
    },
    /// It is not installed where it was looked for.
    #[error(
        "the engine {name} could not be loaded: {reason}; name a Python that has it (--python PATH)"
    )]
    Absent {
        /// Which.
        name: String,
        /// What it says.
        reason: String,
    },
    /// The Python that was named, or found, cannot import it.
    #[error(
        "the engine {name} is not installed: {reason}; install it there, or name a Python that has it \
         (--python PATH)"
    )]
    NotInstalled {
        /// Which.
        name: &'static str,
        /// What was found.
        reason: String,
    },
    /// This program was built without it.
    #[error(
        "this program was built without the engine {feature}; `bench-offline` has it, and so has \
         whatever is built with the cargo feature `{feature}`"
    )]
    NotBuilt {
        /// The cargo feature that brings it.
        feature: &'static str,
    },
    /// It failed in the middle of its work.
    #[error("the engine {name} failed: {reason}")]
    Broken {
        /// Which.
        name: &'static str,
        /// What it says.
        reason: String,
    },
    /// It ended while it was needed.
    #[error(transparent)]
    Died(Death),
    /// It was silent for too long and was killed.
    #[error("the engine was silent for {patience:?} and was killed{last_words}")]
    Hung {
        /// How long.
        patience: Duration,
        /// What it printed last.
        last_words: LastWords,
    },
    /// It said something that its worker never says.
    #[error("the engine's worker said what nobody understands: {line}")]
    Protocol {
        /// What.
        line: String,
    },
    /// Its process goes by another clock.
    #[error("the engine's process does not share this program's monotonic clock")]
    OtherClock,
    /// It does not do what it was asked to.
    #[error("the engine cannot {what}: {reason}")]
    Control {
        /// What.
        what: &'static str,
        /// What it says.
        reason: String,
    },
    /// The operating system refused a thread, a file or a pipe.
    #[error("the operating system refused what an engine needs")]
    Machine(#[from] io::Error),
}

/// How an engine ended while it was needed.
#[derive(Clone, Debug, Error)]
#[error("the engine ended: {how}{last_words}")]
#[non_exhaustive]
pub struct Death {
    /// An exit code or a signal, in words.
    pub how: String,
    /// What it printed last.
    pub last_words: LastWords,
}

impl Death {
    /// An end of which only so much is known.
    pub(crate) fn new(how: impl Into<String>, last_words: LastWords) -> Self {
        Self { how: how.into(), last_words }
    }
}

/// What an engine printed last; written behind a sentence, it begins a line of its own.
#[derive(Clone, Debug, Default)]
pub struct LastWords(pub(crate) Vec<String>);

impl LastWords {
    /// The lines.
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() {
            write!(f, "; its last words:")?;
        }
        self.0.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}
