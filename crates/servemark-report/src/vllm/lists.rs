//! The lists of per-request values in a result.

use serde_json::{Value, json};
use servemark_core::{DeltaKind, RequestRecord};
use servemark_metrics::RequestScore;

use super::entries::Entries;
use crate::Report;

/// The per-request details in a result. Closed: all of them or a few. SGLang's line has none without
/// `Full`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ResultDetails {
    /// Latencies and queue times in the client.
    #[default]
    Brief,
    /// Also lengths, times, texts and errors (`--save-detailed`).
    Full,
}

impl ResultDetails {
    /// Returns all details if they were asked for.
    pub fn of(is_requested: bool) -> Self {
        if is_requested { Self::Full } else { Self::Brief }
    }
}

/// One list per key, with an entry per request in the order of the plan, failed ones included.
pub(super) struct Lists<'r, 'a> {
    pub(super) scores: &'r [RequestScore<'a>],
    pub(super) records: Vec<&'a RequestRecord>,
    pub(super) details: ResultDetails,
}

impl<'r, 'a> Lists<'r, 'a> {
    pub(super) fn of(
        report: &Report<'a>,
        scores: &'r [RequestScore<'a>],
        details: ResultDetails,
    ) -> Self {
        Self { scores, records: report.log.measured().collect(), details }
    }

    /// Writes the lists of a run that generates tokens.
    pub(super) fn of_tokens(&self, out: &mut Entries) {
        self.detail(out, "input_lens", |lists| lists.each(|score| json!(score.prompt_tokens)));
        self.detail(out, "output_lens", |lists| {
            lists.each(|score| json!(score.output_token_count()))
        });
        self.detail(out, "ttfts", |lists| lists.each(|score| json!(score.ttft_s)));
        // The inter-token latencies, one per token, are serialized directly from the records.
        self.detail(out, GAPS, |_| Value::Null);
        out.put("latencies", self.each(latency));
        self.detail(out, "start_times", |lists| lists.each(|score| json!(score.start_s)));
        out.put("queue_times", self.each(|score| json!(score.waited_s)));
        self.detail(out, "generated_texts", |lists| lists.recorded(answer));
        self.detail(out, "errors", |lists| lists.recorded(error));
    }

    /// Writes the lists of an embedding or rerank run.
    pub(super) fn of_items(&self, out: &mut Entries) {
        self.detail(out, "input_lens", |lists| lists.each(|score| json!(score.prompt_tokens)));
        out.put("latencies", self.each(latency));
        out.put("queue_times", self.each(|score| json!(score.waited_s)));
        self.detail(out, "errors", |lists| lists.recorded(error));
    }

    /// Writes the server's own times, if it reported any.
    pub(super) fn of_server(&self, out: &mut Entries) {
        // vLLM's client knows these two times alone; other servers report further ones.
        let queue = |record: &RequestRecord| record.server_times.as_ref()?.queue_ms;
        let ttft = |record: &RequestRecord| record.server_times.as_ref()?.ttft_ms;
        if self.records.iter().all(|record| queue(record).or(ttft(record)).is_none()) {
            return;
        }
        let seconds = |ms: Option<f64>| json!(ms.map(|ms| ms / 1000.0));
        self.detail(out, "server_queue_times", |lists| {
            lists.recorded(|record| seconds(queue(record)))
        });
        self.detail(out, "server_ttfts", |lists| lists.recorded(|record| seconds(ttft(record))));
    }

    /// Writes a long list, if details were requested.
    fn detail(&self, out: &mut Entries, key: &str, list: impl FnOnce(&Self) -> Value) {
        if self.details == ResultDetails::Full {
            out.put(key, list(self));
        }
    }

    fn each(&self, entry: impl Fn(&RequestScore<'a>) -> Value) -> Value {
        self.scores.iter().map(entry).collect()
    }

    fn recorded(&self, entry: impl Fn(&RequestRecord) -> Value) -> Value {
        self.records.iter().map(|record| entry(record)).collect()
    }
}

/// Key of the list of inter-token latencies.
pub(super) const GAPS: &str = "itls";

/// Returns the latency in seconds; zero for a failure.
fn latency(score: &RequestScore<'_>) -> Value {
    json!(if score.success { score.latency_s } else { 0.0 })
}

/// Returns the text of the answer, without its reasoning.
fn answer(record: &RequestRecord) -> Value {
    let is_answer = |kind: DeltaKind| kind == DeltaKind::Content && record.is_success();
    let pieces = record.pieces().filter(|(row, _)| is_answer(row.kind)).map(|(_, text)| text);
    pieces.collect::<String>().into()
}

fn error(record: &RequestRecord) -> Value {
    record.outcome.as_ref().map_or_else(|error| &*error.message, |_| "").into()
}
