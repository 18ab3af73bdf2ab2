//! Where samples come from.

use std::io;
use std::path::PathBuf;

use servemark_rng::RandomState;
use thiserror::Error;

use crate::{Progress, Session, Tokenizer, TokenizerError};

/// Draws the sessions of a run.
pub trait Dataset: Send {
    /// Draws up to `count` sessions, in the order in which they will begin.
    ///
    /// The random state is the run's own and is left where the draws leave it, because the
    /// arrivals are drawn from it next, as SGLang's one global state does.
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError>;
}

/// What a data set may use while it draws.
#[non_exhaustive]
pub struct DrawContext<'a> {
    /// Measures and makes text.
    pub tokenizer: &'a dyn Tokenizer,
    /// The run's random state.
    pub random: &'a mut RandomState,
    /// Told how far long work is.
    pub progress: &'a dyn Progress,
}

impl<'a> DrawContext<'a> {
    /// A context of its parts.
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

/// What can go wrong while samples are drawn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The data set needs a file and none was given.
    #[error("the data set {dataset} needs a file: {hint}")]
    NoFile {
        /// Its name.
        dataset: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is not what the data set expects.
    #[error("{path}:{line}: {reason}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is no table, or not the one that the data set expects.
    #[error("{path} cannot be used as a parquet table: {reason}", path = path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A row of a table is not what the data set expects.
    #[error("{path}, row {row}: {reason}", path = path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, from one.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing was left to send.
    #[error("the data set gave no request at all: {reason}")]
    Nothing {
        /// Why, and what to do.
        reason: String,
    },
    /// The settings contradict each other or the data.
    #[error("{0}")]
    Settings(String),
    /// The tokenizer failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}
