//! Verdicts on a run as a whole, apart from the client's influence on it.

use serde::Serialize;
use servemark_core::RunLog;

use crate::evidence::growth_at_server;
use crate::rate_estimates::RateLimit;
use crate::saturation::saturated;
use crate::{Contamination, MetricPolicy, RequestScore, SettledRun};

/// A verdict on a whole run that its figures alone do not show.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunVerdict {
    /// Kind of the verdict.
    pub kind: RunVerdictKind,
    /// Figures that support the verdict, as a sentence.
    pub reason: String,
}

/// Kinds of verdicts on a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdictKind {
    /// The server got more load than it handled, and a backlog grew: latencies depend on the
    /// duration of the run.
    Saturated,
    /// Answers were shorter than asked for.
    ShortOutputs,
    /// The number of pieces disagrees with the server's count of tokens, so gaps between pieces are
    /// not gaps between tokens.
    UnknownTokens,
    /// A figure has another level in the first part of the run than after it.
    WarmingUp,
    /// Prompts were found in a prefix cache although the data set did not intend it.
    Contaminated,
}

impl RunVerdictKind {
    /// All kinds, in the order in which verdicts are reported.
    pub const ALL: [Self; 5] = [
        Self::Saturated,
        Self::WarmingUp,
        Self::ShortOutputs,
        Self::UnknownTokens,
        Self::Contaminated,
    ];

    /// Returns the name in JSON and on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contaminated => "contaminated",
            Self::Saturated => "saturated",
            Self::ShortOutputs => "short-outputs",
            Self::UnknownTokens => "unknown-tokens",
            Self::WarmingUp => "warming-up",
        }
    }
}

impl RunVerdict {
    /// Returns the verdicts on a run by Servemark's own definitions; empty without a finding.
    pub fn of_log(log: &RunLog) -> Vec<Self> {
        let (facts, policy) = (&log.header().facts, MetricPolicy::native());
        let scores = RequestScore::of_log(log, &policy);
        let saturated = saturated(facts, &scores);
        let limit = RateLimit::from_saturation(facts, &scores, || saturated.is_some());
        let settled = SettledRun::of(log, &policy, &scores, limit);
        Self::of(log, &policy, &scores, saturated, settled.as_ref())
    }

    /// Returns the verdicts on a run; empty without a finding, or if the policy asks for no
    /// intervals.
    pub(crate) fn of(
        log: &RunLog,
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        saturated: Option<String>,
        settled: Option<&SettledRun>,
    ) -> Vec<Self> {
        if policy.confidence.is_none() {
            return Vec::new();
        }
        // Where the client sent later and later, the backlog is its own and not the server's.
        let saturated = saturated.filter(|_| growth_at_server(scores).is_some());
        // A backlog that grows is no warm-up, though the level of latencies changes with it.
        let warm_up = settled.filter(|_| saturated.is_none()).and_then(SettledRun::warm_up);
        let reasons = [
            (RunVerdictKind::Saturated, saturated),
            (RunVerdictKind::WarmingUp, warm_up),
            (RunVerdictKind::ShortOutputs, short_outputs(scores)),
            (RunVerdictKind::UnknownTokens, unknown_tokens(log)),
            (RunVerdictKind::Contaminated, contaminated(log)),
        ];
        let messages = reasons.into_iter();
        messages.filter_map(|(kind, reason)| Some(Self { kind, reason: reason? })).collect()
    }
}

fn short_outputs(scores: &[RequestScore<'_>]) -> Option<String> {
    let (mut count, mut got, mut requested) = (0, 0, 0);
    for score in scores.iter().filter(|score| score.success && score.planned.output_tokens > 1) {
        // Without a tokenizer or a server's count, the length of an answer is not known.
        if let Some((tokens, _)) = score.output_tokens {
            count += 1;
            got += tokens;
            requested += u64::from(score.planned.output_tokens);
        }
    }
    (count > 0 && (got as f64) < SHORT * requested as f64).then(|| {
        let each = |tokens: u64| tokens as f64 / f64::from(count);
        format!("{:.0} tokens of {:.0} asked for, on average", each(got), each(requested))
    })
}

fn unknown_tokens(log: &RunLog) -> Option<String> {
    let (mut pieces, mut tokens) = (0, 0);
    for record in log.measured().filter(|record| record.is_success() && !record.is_document) {
        let counted_by_wire = record.deltas.rows().any(|row| row.tokens.is_some());
        let reported = record.usage.and_then(|usage| usage.completion_tokens);
        if let Some(reported) = reported.filter(|_| !counted_by_wire && record.deltas.len() > 1) {
            pieces += record.deltas.len() as u64;
            tokens += u64::from(reported);
        }
    }
    let is_off = (pieces as f64 / tokens.max(1) as f64 - 1.0).abs() > DISAGREEMENT;
    (tokens > 0 && is_off)
        .then(|| format!("{pieces} pieces for {tokens} tokens by the server's count"))
}

fn contaminated(log: &RunLog) -> Option<String> {
    Contamination::of(log).filter(Contamination::is_found).map(|found| found.words())
}

/// Share of the output tokens asked for below which answers are short.
const SHORT: f64 = 0.9;
/// Deviation of pieces from tokens above which they disagree. Servers send a last piece without
/// text, or hold one back, so a small difference means nothing.
const DISAGREEMENT: f64 = 0.1;
