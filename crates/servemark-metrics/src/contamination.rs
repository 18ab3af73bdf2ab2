//! Prompt tokens that a server found in its prefix cache although the data set did not intend it.
//!
//! Caches of an earlier run, a warm-up with the same prompts or a data set that repeats itself make
//! prefill look faster than it is. The server's own counts show it, or else the audit of its cache.

use std::collections::HashMap;

use serde::Serialize;
use servemark_core::{RequestKey, RequestRecord, RunLog};

use crate::cache_audit::{MOST_NAMED, prompt_tokens};
use crate::series::Increases;
use crate::{CacheAudit, CacheFinding};

/// How much of the prompts came from a prefix cache, and how much was meant to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contamination {
    /// Share of the prompt tokens that came from a cache, from 0 to 1.
    pub share: f64,
    /// Share that the data set intends: the histories of conversations and, where the data set
    /// shares prefixes by design, the beginnings that prompts have in common with earlier ones.
    /// Absent if it is not known, as in run logs that lack the latter.
    pub expected_share: Option<f64>,
    /// Number of requests whose cached tokens were not intended.
    pub requests: usize,
    /// Number of requests whose cached tokens are known.
    pub counted: usize,
    /// Source of the counts.
    pub source: ContaminationSource,
    /// Confidence interval of `share`; absent if the tokens were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Zero-based positions of the first sessions whose cached tokens were not intended.
    pub first: Vec<usize>,
}

/// Source of the number of cached tokens of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContaminationSource {
    /// The server counts them in each answer.
    Answers,
    /// The server counts them over all requests.
    Counters,
    /// Estimated: times to the first token are compared with those of prompts that were in no
    /// cache, and of prompts that were in the cache.
    Audit,
}

impl Contamination {
    /// Finds the cached tokens of a run; `None` if the server reports none, neither in its answers
    /// nor by its counters, and no audit of its cache shows them.
    ///
    /// Counts that are zero may be those of a server that does not count, so an audit outweighs
    /// them. It also outweighs counts whose intended share is not known.
    pub fn of(log: &RunLog) -> Option<Self> {
        let intended = Intended::of(log);
        let counted = [
            Self::of_answers(log, &intended),
            Self::of_counters(log, &intended),
            Self::of_series(log, &intended),
        ];
        let found = || counted.iter().flatten().filter(|counted| counted.share > 0.0);
        let judged = found().find(|counted| counted.expected_share.is_some()).cloned();
        judged
            .or_else(|| CacheAudit::of(log).and_then(|audit| Self::of_audit(&audit)))
            .or_else(|| found().next().cloned())
            .or_else(|| counted.iter().flatten().next().cloned())
    }

    /// Returns whether the prompts of a data set, by its name in run logs, share prefixes by design.
    pub fn is_shared_by_design(dataset: &str) -> bool {
        SHARES_PREFIXES.contains(&dataset)
    }

    /// Returns whether the run is contaminated: at least 10 % of all prompt tokens came from a cache
    /// without being meant to, in at least 5 % of the requests where answers count them.
    pub fn is_found(&self) -> bool {
        let Some(expected) = self.expected_share else { return false };
        let are_many = self.requests as f64 >= MOST_REQUESTS * self.counted as f64;
        let is_sure = self.interval.is_none_or(|[low, _]| low > expected);
        // A warm-up that sends the first prompt ahead stays below this in all but tiny runs.
        self.share - expected >= MOST_SHARE && are_many && is_sure
    }

    /// Returns what is missing to judge whether a run is contaminated; `None` if it can be judged.
    pub fn missing(log: &RunLog) -> Option<String> {
        let is_known = |found: &Self| found.expected_share.is_some();
        let finding = CacheAudit::of(log).map(|audit| audit.finding);
        match Self::of(log) {
            Some(found) if is_known(&found) => None,
            // A share below the least one is no contamination, whatever is intended.
            Some(found) if found.share < MOST_SHARE => None,
            // Without a cache that makes prompts quicker, none made the run quicker.
            _ if finding == Some(CacheFinding::NoCache) => None,
            Some(found) => Some(format!(
                "{:.0} % of the prompt tokens came from a prefix cache, and how many the data set \
                 intends is not known; `control.cache_audit` shows it",
                found.share * 100.0
            )),
            None => Some(
                "neither answers nor counters of the server say how many prompt tokens came from a \
                 prefix cache; `control.telemetry` or `control.cache_audit` shows it"
                    .to_owned(),
            ),
        }
    }

    /// Returns the finding as a sentence.
    pub(crate) fn words(&self) -> String {
        let share = self.share * 100.0;
        let expected = self.expected_share.unwrap_or_default() * 100.0;
        let interval = self.interval.map(|ends| ends.map(|end| format!("{:.0}", end * 100.0)));
        let interval = interval.map(|[low, high]| format!(" ({low} to {high} %)"));
        let interval = interval.unwrap_or_default();
        let message = format!(
            "{share:.0} %{interval} of the prompt tokens came from a prefix cache, and the data set \
             intends {expected:.0} %"
        );
        match self.first.as_slice() {
            [] => message,
            first => {
                let first: Vec<String> = first.iter().map(usize::to_string).collect();
                let (requests, counted) = (self.requests, self.counted);
                format!(
                    "{message}: {requests} of {counted} requests, the first are {}",
                    first.join(", ")
                )
            }
        }
    }

    /// Returns the verdict of an audit; `None` if the audited prompts do not suffice for one.
    fn of_audit(audit: &CacheAudit) -> Option<Self> {
        Some(Self {
            share: audit.share?,
            expected_share: Some(audit.expected_share),
            requests: audit.requests,
            counted: audit.prompts,
            source: ContaminationSource::Audit,
            interval: audit.interval,
            first: audit.first.clone(),
        })
    }

    fn of_answers(log: &RunLog, intended: &Intended) -> Option<Self> {
        let records: HashMap<RequestKey, &RequestRecord> =
            log.measured().map(|record| (record.key(), record)).collect();
        let (mut cached, mut meant, mut all) = (0.0, 0.0, 0.0);
        let (mut counted, mut requests, mut first) = (0, 0, Vec::new());
        for record in log.measured().filter(|record| record.is_success()) {
            let Some(found) = record.usage.and_then(|usage| usage.cached_tokens) else { continue };
            let prompt = prompt_tokens(record);
            let history = history(record, &records);
            let reusable = history.max(intended.tokens(record)).min(prompt);
            counted += 1;
            cached += f64::from(found);
            meant += f64::from(reusable);
            all += f64::from(prompt);
            let least = FEWEST_TOKENS.max(prompt / 10);
            if found.saturating_sub(reusable) >= least && intended.is_known {
                requests += 1;
                if first.len() < MOST_NAMED {
                    first.push(record.index);
                }
            }
        }
        let share = |tokens: f64| if all > 0.0 { tokens / all } else { 0.0 };
        let expected_share = intended.is_known.then(|| share(meant));
        (counted > 0).then(|| Self {
            share: share(cached),
            expected_share,
            requests,
            counted,
            source: ContaminationSource::Answers,
            interval: None,
            first,
        })
    }

    /// Takes the server's counters that were read for the run.
    fn of_counters(log: &RunLog, intended: &Intended) -> Option<Self> {
        let work = log.footer()?.server_counters.as_ref()?;
        let (before, after) =
            (work.before.prefix_cache.as_ref(), work.after.prefix_cache.as_ref()?);
        let grown = |after: i64, before: Option<i64>| (after - before.unwrap_or_default()) as f64;
        let hits = grown(after.hits, before.map(|cache| cache.hits));
        let queries = grown(after.queries, before.map(|cache| cache.queries));
        Self::by_counters(log, intended, hits, queries)
    }

    /// Takes the server's counters among the series that were read beside the run.
    fn of_series(log: &RunLog, intended: &Intended) -> Option<Self> {
        let increases = Increases::of(log)?;
        let (mut found, mut all) = (0.0, 0.0);
        for source in 0..log.telemetry().sources.len() {
            let sum = |names: &[&str]| -> Option<f64> {
                names.iter().map(|name| increases.of_source(source, name)).sum()
            };
            let known = PROMPT_TOKENS.iter().find_map(|(hits, all)| sum(hits).zip(sum(all)));
            let (hits, queries) = known.unwrap_or_default();
            found += hits;
            all += queries;
        }
        Self::by_counters(log, intended, found, all)
    }

    /// Returns what a server counted for all of its clients; `None` if that is nothing. In
    /// conversations, counters do not tell histories from what was not intended.
    fn by_counters(log: &RunLog, intended: &Intended, found: f64, all: f64) -> Option<Self> {
        let is_known = intended.is_known && !log.converses();
        (all > 0.0).then(|| Self {
            share: found / all,
            expected_share: is_known.then_some(intended.share),
            requests: 0,
            counted: 0,
            source: ContaminationSource::Counters,
            interval: None,
            first: Vec::new(),
        })
    }
}

/// What the first prompts of a run are meant to have in common with earlier ones.
#[derive(Debug, Default)]
struct Intended {
    is_known: bool,
    /// Share of the tokens of all first prompts.
    share: f64,
    /// Tokens by the position of the session.
    tokens: HashMap<usize, u32>,
}

impl Intended {
    fn of(log: &RunLog) -> Self {
        if !Contamination::is_shared_by_design(&log.header().facts.dataset) {
            return Self { is_known: true, ..Self::default() };
        }
        let planned = log.footer().map_or(&[][..], |footer| footer.shared_prefixes.as_slice());
        let tokens: HashMap<usize, u32> =
            planned.iter().map(|prefix| (prefix.index, prefix.tokens)).collect();
        let (mut shared, mut all) = (0.0, 0.0);
        for record in log.measured().filter(|record| record.turn == 0) {
            let Some(found) = tokens.get(&record.index) else { continue };
            shared += f64::from(*found);
            all += f64::from(record.planned.prompt_tokens);
        }
        let share = if all > 0.0 { shared / all } else { 0.0 };
        Self { is_known: all > 0.0, share, tokens }
    }

    /// Returns the tokens that a first prompt is meant to share. A run log that has only the prompts
    /// of an audit lacks those of other prompts; they are taken to share as much on average.
    #[expect(clippy::cast_sign_loss, reason = "shares are not below zero")]
    fn tokens(&self, record: &RequestRecord) -> u32 {
        if record.turn > 0 {
            return 0;
        }
        self.tokens.get(&record.index).copied().unwrap_or_else(|| {
            let tokens = (self.share * f64::from(record.planned.prompt_tokens)).round();
            tokens as u32
        })
    }
}

/// Returns the number of tokens that a later turn has in common with the turn before it: its prompt
/// and its answer.
fn history(record: &RequestRecord, records: &HashMap<RequestKey, &RequestRecord>) -> u32 {
    let Some(turn) = record.turn.checked_sub(1) else { return 0 };
    records.get(&(record.index, turn)).map_or(u32::MAX, |earlier| {
        let output = earlier.usage.and_then(|usage| usage.completion_tokens);
        prompt_tokens(earlier).saturating_add(output.unwrap_or(earlier.planned.output_tokens))
    })
}

/// Names of counters: of the prompt tokens that were found in a cache, and of all of them.
const PROMPT_TOKENS: [(&[&str], &[&str]); 3] = [
    (&["prefix_hits"], &["prefix_queries"]),
    (&["cached_tokens"], &["prompt_tokens"]),
    (&["cached_tokens"], &["cached_tokens", "computed_prompt_tokens"]),
];

/// Data sets whose prompts share prefixes by design.
const SHARES_PREFIXES: [&str; 5] =
    ["agentic-trace", "generated-shared-prefix", "mooncake", "prefix_repetition", "timed_trace"];

/// Fewest unintended tokens of a request that count: a chat template and a first block are shared
/// by all prompts.
const FEWEST_TOKENS: u32 = 32;

/// Share of the requests from which a run is contaminated.
const MOST_REQUESTS: f64 = 0.05;

/// Share of the prompt tokens from which a run is contaminated.
const MOST_SHARE: f64 = 0.1;
