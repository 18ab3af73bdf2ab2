//! What a format is given and what it gives.

use std::borrow::Cow;
use std::fmt::Debug;
use std::io;

use servemark_core::RunLog;
use servemark_metrics::{Audit, Metrics, RequestScore};

use crate::{
    AisbenchJson, AisbenchOptions, AisbenchTable, EmbeddingTable, EvalscopeOptions,
    EvalscopeSummary, EvalscopeTable, NativeJson, NativeTable, SglangLine, SglangOfflineLine,
    SglangOfflineTable, SglangOptions, SglangTable, VllmDetails, VllmOptions, VllmResult,
    VllmTable,
};

/// A run with its numbers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Report<'a> {
    /// What was planned and seen.
    pub log: &'a RunLog,
    /// Its numbers, by whichever policy the reader wants.
    pub metrics: &'a Metrics,
    /// What the client did to them.
    pub audit: &'a Audit,
    /// The same run's numbers by our own definitions, for a peer's format that shows them too.
    pub native: Option<&'a Metrics>,
    scores: Option<&'a [RequestScore<'a>]>,
}

impl<'a> Report<'a> {
    /// A run with its numbers.
    pub fn new(log: &'a RunLog, metrics: &'a Metrics, audit: &'a Audit) -> Self {
        Self { log, metrics, audit, native: None, scores: None }
    }

    /// The same with the run's numbers by our own definitions.
    #[must_use]
    pub fn with_native(self, native: &'a Metrics) -> Self {
        Self { native: Some(native), ..self }
    }

    /// The same with requests that were scored already, one for each of the log's measurement.
    #[must_use]
    pub fn with_scores(self, scores: &'a [RequestScore<'a>]) -> Self {
        Self { scores: Some(scores), ..self }
    }

    /// Each request of the measurement, in the order of the plan, by the policy of the numbers.
    pub fn scores(&self) -> Cow<'a, [RequestScore<'a>]> {
        let read = || RequestScore::of_log(self.log, &self.metrics.policy);
        self.scores.map_or_else(|| Cow::Owned(read()), Cow::Borrowed)
    }
}

/// Turns a report into bytes.
///
/// ```
/// use std::io;
///
/// use servemark_report::{Report, ReportFormat};
///
/// #[derive(Debug)]
/// struct OneLine;
///
/// impl ReportFormat for OneLine {
///     fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
///         let requests = report.metrics.requests;
///         writeln!(out, "{} ok, {} failed", requests.completed, requests.failed)
///     }
/// }
/// # use servemark_core::{Header, RunFacts, RunLog};
/// # use servemark_metrics::{Audit, MetricPolicy, Metrics};
/// # let header = Header::new(0, RunFacts::default(), Default::default());
/// # let log = RunLog::new(header, Vec::new(), None);
/// # let metrics = Metrics::score(&log, &MetricPolicy::native());
/// # let audit = Audit::of(&log);
///
/// let mut out = Vec::new();
/// OneLine.write(&Report::new(&log, &metrics, &audit), &mut out)?;
/// assert_eq!(out, b"0 ok, 0 failed\n");
/// # Ok::<(), io::Error>(())
/// ```
pub trait ReportFormat: Debug {
    /// Writes the whole report. The only errors are those of `out`.
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()>;
}

/// Whose table and file to write.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Layout {
    /// AISBench's, with what its configuration asks for.
    Aisbench(AisbenchOptions),
    /// Ours, of embeddings and rankings.
    Embedding,
    /// evalscope's, of one of its versions.
    Evalscope(EvalscopeOptions),
    /// Ours.
    #[default]
    Native,
    /// SGLang's, of an engine without a server.
    Offline,
    /// SGLang's, with the parts that its flags ask for.
    Sglang(SglangOptions),
    /// vLLM's, with what its flags ask for.
    Vllm(VllmOptions),
}

impl Layout {
    /// The table for a person.
    pub fn table(self) -> Box<dyn ReportFormat> {
        match self {
            Self::Aisbench(options) => Box::new(AisbenchTable::new(options)),
            Self::Embedding => Box::new(EmbeddingTable),
            Self::Evalscope(options) => Box::new(EvalscopeTable::new(options)),
            Self::Native => Box::new(NativeTable),
            Self::Offline => Box::new(SglangOfflineTable),
            Self::Sglang(options) => Box::new(SglangTable::new(options)),
            Self::Vllm(options) => Box::new(VllmTable::new(options)),
        }
    }

    /// The document for a program; SGLang appends its line to a file, ours and vLLM's are one.
    pub fn document(self) -> Box<dyn ReportFormat> {
        match self {
            Self::Aisbench(options) => Box::new(AisbenchJson::new(options)),
            Self::Embedding | Self::Native => Box::new(NativeJson),
            Self::Evalscope(options) => Box::new(EvalscopeSummary::new(options)),
            Self::Offline => Box::new(SglangOfflineLine),
            Self::Sglang(options) => Box::new(SglangLine::new(options)),
            Self::Vllm(options) => Box::new(VllmResult::new(options, VllmDetails::Brief, 0)),
        }
    }
}
