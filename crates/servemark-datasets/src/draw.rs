//! What a draw gives besides the samples.

use std::fmt;

use servemark_core::{DataPart, Sample, Session};

use crate::{DatasetName, SkippedLines};

/// The samples of a run and what a person should be told about them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Draw {
    /// The sessions, in the order in which they will begin.
    pub sessions: Vec<Session>,
    /// What SGLang prints about them.
    pub summary: Summary,
    /// Lines of the file that were left out, if any were.
    pub skipped: Option<SkippedLines>,
    /// What else a person should know of them.
    pub notices: Vec<String>,
    /// The data sets that they are of, in order, where those are several.
    pub parts: Vec<DataPart>,
    /// What a warm-up sends in place of the first request, where the peer has a prompt for that.
    pub warm_up: Option<Sample>,
}

impl Draw {
    /// Sessions of one request each.
    pub(crate) fn of(samples: impl IntoIterator<Item = Sample>, summary: Summary) -> Self {
        Self::of_sessions(samples.into_iter().map(Session::from).collect(), summary)
    }

    /// The same draw with what else a person should know of it.
    pub(crate) fn noting(self, notices: Vec<String>) -> Self {
        Self { notices, ..self }
    }

    /// The same draw with what a warm-up sends.
    pub(crate) fn warming_up_with(self, warm_up: Option<Sample>) -> Self {
        Self { warm_up, ..self }
    }

    /// The same draw of several data sets.
    pub(crate) fn of_parts(self, parts: Vec<DataPart>) -> Self {
        Self { parts, ..self }
    }

    /// Sessions of one or more requests.
    pub(crate) fn of_sessions(sessions: Vec<Session>, summary: Summary) -> Self {
        let (notices, parts) = (Vec::new(), Vec::new());
        Self { sessions, summary, skipped: None, notices, parts, warm_up: None }
    }

    /// The same draw with a word on what was left out.
    pub(crate) fn skipping(self, skipped: Option<SkippedLines>) -> Self {
        Self { skipped, ..self }
    }

    /// The first sample of every session.
    pub fn into_samples(self) -> Vec<Sample> {
        self.sessions.into_iter().map(|session| session.first).collect()
    }
}

/// What a person is told of a draw; [`Display`](fmt::Display) gives the lines that SGLang 0.5.23
/// prints when the data set is ready.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The data set.
    pub dataset: DatasetName,
    /// How many sessions there are.
    pub requests: usize,
    /// Prompt tokens of all samples. For `random` they are those of all that were asked for, even
    /// if the file had fewer prompts: SGLang sums what it drew, not what it found.
    pub input_tokens: u64,
    /// Output tokens, counted likewise.
    pub output_tokens: u64,
    lines: String,
}

impl Summary {
    /// The sums over `samples`, in the two lines that most data sets print.
    pub(crate) fn of(dataset: DatasetName, samples: &[Sample]) -> Self {
        let input = samples.iter().map(|sample| u64::from(sample.prompt_tokens)).sum();
        let output = samples.iter().map(|sample| u64::from(sample.output_tokens)).sum();
        Self::counted(dataset, samples.len(), input, output)
    }

    /// The sums over every turn of `sessions`, in the same two lines.
    pub(crate) fn of_sessions(dataset: DatasetName, sessions: &[Session]) -> Self {
        let samples = || sessions.iter().flat_map(Session::samples);
        let input = samples().map(|sample| u64::from(sample.prompt_tokens)).sum();
        let output = samples().map(|sample| u64::from(sample.output_tokens)).sum();
        Self::counted(dataset, sessions.len(), input, output)
    }

    /// Sums that were made elsewhere, in the same two lines.
    pub(crate) fn counted(
        dataset: DatasetName,
        requests: usize,
        input_tokens: u64,
        output_tokens: u64,
    ) -> Self {
        let lines = format!("#Input tokens: {input_tokens}\n#Output tokens: {output_tokens}\n");
        Self { dataset, requests, input_tokens, output_tokens, lines }
    }

    /// The same sums in other lines.
    pub(crate) fn in_lines(self, lines: String) -> Self {
        Self { lines, ..self }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.lines)
    }
}
