//! The trait of data sets, and their errors.

use std::io;
use std::path::PathBuf;

use servemark_rng::RandomState;
use thiserror::Error;

use crate::{Progress, Session, Tokenizer, TokenizerError};

/// A source of sessions: it draws those of a run.
///
/// ```
/// use servemark_core::{Dataset, DatasetError, DrawContext, Sample, Session};
///
/// /// Prompts that differ only in their number.
/// struct Numbered;
///
/// impl Dataset for Numbered {
///     fn draw(
///         &mut self,
///         count: usize,
///         _context: &mut DrawContext<'_>,
///     ) -> Result<Vec<Session>, DatasetError> {
///         let sample = |number| Sample::new(format!("Prompt {number}"), 3, 16);
///         Ok((0..count).map(|number| sample(number).into()).collect())
///     }
/// }
/// ```
pub trait Dataset: Send {
    /// Draws up to `count` sessions, in the order in which they start.
    ///
    /// `context.random` is the run's own random state and stays where the draws leave it: arrival
    /// times are drawn from it next, because SGLang draws both from one global state.
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError>;
}

/// A fixed list of sessions: every draw returns its first `count` sessions.
impl Dataset for Vec<Session> {
    fn draw(
        &mut self,
        count: usize,
        _context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        Ok(self.iter().take(count).cloned().collect())
    }
}

/// What a data set may use while it draws.
#[non_exhaustive]
pub struct DrawContext<'a> {
    /// Tokenizer that measures and creates text.
    pub tokenizer: &'a dyn Tokenizer,
    /// The run's random state.
    pub random: &'a mut RandomState,
    /// Receives the progress of long work.
    pub progress: &'a dyn Progress,
}

impl<'a> DrawContext<'a> {
    /// Creates a context from its parts.
    pub fn new(
        tokenizer: &'a dyn Tokenizer,
        random: &'a mut RandomState,
        progress: &'a dyn Progress,
    ) -> Self {
        Self { tokenizer, random, progress }
    }
}

impl std::fmt::Debug for DrawContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DrawContext").field("random", &self.random).finish_non_exhaustive()
    }
}

/// Errors that can occur while samples are drawn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The data set needs a file and none was given.
    #[error("the data set {dataset} needs a file: {hint}")]
    NoFile {
        /// Name of the data set.
        dataset: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// A line of the file is not what the data set expects.
    #[error("{path}:{line}: {reason}", path = path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// One-based line number.
        line: usize,
        /// What is wrong with the line.
        reason: String,
    },
    /// The file is not a parquet table, or not the table that the data set expects.
    #[error("{path} cannot be used as a parquet table: {reason}", path = path.display())]
    Table {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the file.
        reason: String,
    },
    /// A row of a table is not what the data set expects.
    #[error("{path}, row {row}: {reason}", path = path.display())]
    Row {
        /// Path of the file.
        path: PathBuf,
        /// One-based row number.
        row: usize,
        /// What is wrong with the row.
        reason: String,
    },
    /// No request is left to send.
    #[error("the data set gave no request at all: {reason}")]
    Nothing {
        /// The reason, and what to do about it.
        reason: String,
    },
    /// The settings contradict each other or the data.
    #[error("{0}")]
    Settings(String),
    /// The tokenizer returned an error.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}
