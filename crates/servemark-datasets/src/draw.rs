//! The result of drawing from a data set.

use std::fmt;

use servemark_core::{DataPart, Sample, Session};

use crate::{DatasetName, SkippedLines};

/// The sessions of a run with the information to report about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Sessions in the order in which they begin.
    pub sessions: Vec<Session>,
    /// The summary that SGLang prints.
    pub summary: Summary,
    /// Lines of the file that were left out, if any.
    pub skipped: Option<SkippedLines>,
    /// Further notices for the user.
    pub notices: Vec<String>,
    /// The data sets that the sessions come from, in order, if there are several.
    pub parts: Vec<DataPart>,
    /// Sample that the warm-up sends instead of the first request, if the peer has a prompt for it.
    pub warm_up: Option<Sample>,
    /// Request that tests the connection, if the peer has one.
    pub greeting: Option<Sample>,
}

impl Draw {
    /// Creates a draw of single-turn sessions.
    pub(crate) fn of(samples: impl IntoIterator<Item = Sample>, summary: Summary) -> Self {
        Self::of_sessions(samples.into_iter().map(Session::from).collect(), summary)
    }

    /// Sets the notices.
    pub(crate) fn with_notices(self, notices: Vec<String>) -> Self {
        Self { notices, ..self }
    }

    /// Sets the warm-up sample.
    pub(crate) fn warming_up_with(self, warm_up: Option<Sample>) -> Self {
        Self { warm_up, ..self }
    }

    /// Sets the request that tests the connection.
    pub(crate) fn greeting_with(self, greeting: Option<Sample>) -> Self {
        Self { greeting, ..self }
    }

    /// Sets the parts, for a draw from several data sets.
    pub(crate) fn of_parts(self, parts: Vec<DataPart>) -> Self {
        Self { parts, ..self }
    }

    /// Creates a draw of sessions with one or more turns.
    pub(crate) fn of_sessions(sessions: Vec<Session>, summary: Summary) -> Self {
        let (notices, parts) = (Vec::new(), Vec::new());
        Self { sessions, summary, skipped: None, notices, parts, warm_up: None, greeting: None }
    }

    /// Sets the lines that were left out.
    pub(crate) fn skipping(self, skipped: Option<SkippedLines>) -> Self {
        Self { skipped, ..self }
    }

    /// Returns the first sample of every session.
    pub fn into_samples(self) -> Vec<Sample> {
        self.sessions.into_iter().map(|session| session.first).collect()
    }
}

/// Totals of a draw. [`Display`](fmt::Display) writes the lines that SGLang 0.5.23 prints once the
/// data set is ready.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Summary {
    /// Name of the data set.
    pub dataset: DatasetName,
    /// Number of sessions; of prompts if each request is a batch of them.
    pub requests: usize,
    /// Number of prompt tokens of all samples. For `random`, the total covers all requested samples
    /// even if the file has fewer prompts: SGLang sums the drawn lengths.
    pub input_tokens: u64,
    /// Number of output tokens, summed like `input_tokens`.
    pub output_tokens: u64,
    lines: String,
}

impl Summary {
    /// Sums the token counts of `samples`, with the two lines that most data sets print.
    pub(crate) fn of(dataset: DatasetName, samples: &[Sample]) -> Self {
        let input = samples.iter().map(|sample| u64::from(sample.prompt_tokens)).sum();
        let output = samples.iter().map(|sample| u64::from(sample.output_tokens)).sum();
        Self::from_totals(dataset, samples.len(), input, output)
    }

    /// Sums the token counts of all turns of `sessions`, with the two lines that most data sets
    /// print.
    pub(crate) fn of_sessions(dataset: DatasetName, sessions: &[Session]) -> Self {
        let samples = || sessions.iter().flat_map(Session::samples);
        let input = samples().map(|sample| u64::from(sample.prompt_tokens)).sum();
        let output = samples().map(|sample| u64::from(sample.output_tokens)).sum();
        Self::from_totals(dataset, sessions.len(), input, output)
    }

    /// Creates a summary of precomputed totals, with the two lines that most data sets print.
    pub(crate) fn from_totals(
        dataset: DatasetName,
        requests: usize,
        input_tokens: u64,
        output_tokens: u64,
    ) -> Self {
        let lines = format!("#Input tokens: {input_tokens}\n#Output tokens: {output_tokens}\n");
        Self { dataset, requests, input_tokens, output_tokens, lines }
    }

    /// Replaces the printed lines.
    pub(crate) fn in_lines(self, lines: String) -> Self {
        Self { lines, ..self }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.lines)
    }
}
