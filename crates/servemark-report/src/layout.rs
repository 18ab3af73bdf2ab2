//! The input of a report format and the choice of a peer's layout.

use std::borrow::Cow;
use std::fmt::Debug;
use std::io;

use servemark_core::RunLog;
use servemark_metrics::{Audit, Metrics, RequestScore};

use crate::{
    AisbenchJson, AisbenchOptions, AisbenchTable, EmbeddingTable, EvalscopeOptions,
    EvalscopeSummary, EvalscopeTable, NativeJson, NativeTable, ResultDetails, SglangLine,
    SglangOfflineLine, SglangOfflineTable, SglangOptions, SglangTable, VllmOptions, VllmResult,
    VllmTable,
};

/// A run with its metrics: the input of every report format.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Run log: what was planned and observed.
    pub log: &'a RunLog,
    /// Metrics of the run, by the policy that the report asks for.
    pub metrics: &'a Metrics,
    /// Audit of the client during the run.
    pub audit: &'a Audit,
    /// Metrics of the run by Servemark's own definitions, for a peer's layout that shows them too.
    pub native: Option<&'a Metrics>,
    scores: Option<&'a [RequestScore<'a>]>,
}

impl<'a> Report<'a> {
    /// Returns a report of a run with its metrics and audit.
    pub fn new(log: &'a RunLog, metrics: &'a Metrics, audit: &'a Audit) -> Self {
        Self { log, metrics, audit, native: None, scores: None }
    }

    /// Sets the metrics by Servemark's own definitions.
    #[must_use]
    pub fn with_native(self, native: &'a Metrics) -> Self {
        Self { native: Some(native), ..self }
    }

    /// Sets request scores that were computed already; one per measured request of the log, in its
    /// order.
    #[must_use]
    pub fn with_scores(self, scores: &'a [RequestScore<'a>]) -> Self {
        Self { scores: Some(scores), ..self }
    }

    /// Returns the score of each measured request, in the order of the plan, by the policy of the
    /// metrics.
    pub fn scores(&self) -> Cow<'a, [RequestScore<'a>]> {
        let read = || RequestScore::of_log(self.log, &self.metrics.policy);
        self.scores.map_or_else(|| Cow::Owned(read()), Cow::Borrowed)
    }
}

/// Serializes a report.
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
    /// Writes the whole report. Errors come only from `out`.
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()>;
}

/// The tool whose table and file layout is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Layout {
    /// AISBench's layout, with the options of its configuration.
    Aisbench(AisbenchOptions),
    /// Servemark's layout for embeddings and reranking.
    Embedding,
    /// evalscope's layout, in one of its versions.
    Evalscope(EvalscopeOptions),
    /// Servemark's layout.
    #[default]
    Native,
    /// SGLang's layout for an engine without a server.
    Offline,
    /// SGLang's layout, with the options that its flags set.
    Sglang(SglangOptions),
    /// vLLM's layout, with the options that its flags set.
    Vllm(VllmOptions),
}

impl Layout {
    /// Returns the format of the table for the terminal.
    pub fn table(self) -> Box<dyn ReportFormat> {
        match self {
            Self::Aisbench(options) => Box::new(AisbenchTable::new(options)),
            Self::Embedding => Box::new(EmbeddingTable),
            Self::Evalscope(options) => Box::new(EvalscopeTable::new(options)),
            Self::Native => Box::new(NativeTable::default()),
            Self::Offline => Box::new(SglangOfflineTable),
            Self::Sglang(options) => Box::new(SglangTable::new(options)),
            Self::Vllm(options) => Box::new(VllmTable::new(options)),
        }
    }

    /// Returns the format of the result file. SGLang's is a line that is appended to a file; the
    /// others are whole documents.
    pub fn document(self) -> Box<dyn ReportFormat> {
        match self {
            Self::Aisbench(options) => Box::new(AisbenchJson::new(options)),
            Self::Embedding | Self::Native => Box::new(NativeJson),
            Self::Evalscope(options) => Box::new(EvalscopeSummary::new(options)),
            Self::Offline => Box::new(SglangOfflineLine),
            Self::Sglang(options) => Box::new(SglangLine::new(options)),
            Self::Vllm(options) => Box::new(VllmResult::new(options, ResultDetails::Brief, 0)),
        }
    }
}
