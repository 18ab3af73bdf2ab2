//! Explains why the numbers of a peer's table differ from the native table.

use servemark_metrics::{Metrics, OutputEvents, OutputSources, PromptTokenRule};
use servemark_plan::Layout;

use crate::Scores;

impl Scores<'_> {
    /// Explains, one line per difference, why token counts or the TTFT in a peer's table differ
    /// from the native table. Empty unless both tables are printed.
    pub fn differences(&self) -> Vec<String> {
        if !self.has_table(Layout::Native) {
            return Vec::new();
        }
        let printed = PEERS.into_iter().filter(|(layout, _)| self.has_table(*layout));
        let of = |(layout, name)| between(name, self.metrics(layout), self.metrics(Layout::Native));
        printed.flat_map(of).collect()
    }
}

fn between(name: &str, peer: &Metrics, ours: &Metrics) -> impl Iterator<Item = String> {
    let lines = [first_tokens(name, peer, ours), output(name, peer, ours), input(name, peer, ours)];
    lines.into_iter().flatten()
}

/// Compares the mean TTFT if the peer counts any event as the first token.
fn first_tokens(name: &str, peer: &Metrics, ours: &Metrics) -> Option<String> {
    let (theirs, here) = (peer.latencies.ttft.mean_ms?, ours.latencies.ttft.mean_ms?);
    let counts_all = peer.policy.others.events == OutputEvents::Every;
    (counts_all && (theirs - here).abs() >= SHOWN_MS).then(|| {
        format!(
            "mean TTFT is {theirs:.2} ms in {name}'s table and {here:.2} ms in ours: there the first \
             event of an answer counts as its first token, be it a role without text; here the first \
             event with output does"
        )
    })
}

fn output(name: &str, peer: &Metrics, ours: &Metrics) -> Option<String> {
    let (theirs, here) = (peer.tokens.output?, ours.tokens.output?);
    (theirs != here).then(|| {
        let (by, by_us) = (counted_by(&peer.tokens.sources), counted_by(&ours.tokens.sources));
        format!(
            "output tokens are {theirs} in {name}'s table, by {by}, and {here} in ours, by {by_us}"
        )
    })
}

fn input(name: &str, peer: &Metrics, ours: &Metrics) -> Option<String> {
    let (theirs, here) = (peer.tokens.input, ours.tokens.input);
    let by = |metrics: &Metrics| match metrics.policy.prompt_tokens {
        PromptTokenRule::Server => "the server's count",
        PromptTokenRule::PlannedAlone if metrics.tokens.input == 0 => "no count of conversations",
        _ => "the plan's count",
    };
    (theirs != here).then(|| {
        let (by, by_us) = (by(peer), by(ours));
        format!(
            "input tokens are {theirs} in {name}'s table, by {by}, and {here} in ours, by {by_us}"
        )
    })
}

/// Names the sources of the output token counts, beginning with the one that counted the most
/// requests.
fn counted_by(sources: &OutputSources) -> String {
    let mut named = [
        (sources.usage, "the server's count"),
        (sources.retokenized, "our tokenizer"),
        (sources.deltas, "the counts of the pieces"),
        (sources.requested, "the length that was asked for"),
    ];
    named.sort_by_key(|(requests, _)| std::cmp::Reverse(*requests));
    let counting = named.iter().filter(|(requests, _)| *requests > 0).map(|(_, name)| *name);
    counting.collect::<Vec<_>>().join(" and ")
}

/// Layouts of peers and the names of the peers.
const PEERS: [(Layout, &str); 4] = [
    (Layout::Aisbench, "AISBench"),
    (Layout::Evalscope, "evalscope"),
    (Layout::Sglang, "SGLang"),
    (Layout::Vllm, "vLLM"),
];

/// Half of the last digit shown in tables, in milliseconds.
const SHOWN_MS: f64 = 0.005;

#[cfg(test)]
mod tests {
    use servemark_core::{
        Delta, Finish, Header, Phase, Recorder, RunFacts, RunLog, Sample, Sink as _, Stamp, Usage,
    };
    use servemark_plan::ScoringSpec;
    use servemark_report::EvalscopeStyle;

    use super::*;

    /// Returns the differences for an answer that begins with a role without text, to a request
    /// for two tokens.
    fn differences_of(layouts: Vec<Layout>) -> Vec<String> {
        let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("hi", 1, 2), Stamp::ZERO);
        let ms = |ms: u64| Stamp::from_nanos(ms * 1_000_000);
        recorder.record_sent(ms(1));
        recorder.headers(ms(2), 200);
        recorder.body(ms(3), 10);
        recorder.at(ms(11)).delta(Delta::content("a"));
        let mut usage = Usage::default();
        (usage.prompt_tokens, usage.completion_tokens) = (Some(7), Some(3));
        recorder.at(ms(12)).usage(usage);
        let record = recorder.finish(Ok(Finish::default()), ms(12));
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let log = RunLog::new(header, vec![record], None);
        let mut scoring = ScoringSpec { layouts, ..ScoringSpec::default() };
        scoring.evalscope.style = EvalscopeStyle::V1_0;
        Scores::of(&log, &scoring).differences()
    }

    #[test]
    fn why_two_tables_of_a_page_differ_is_told() {
        let [ttft, input] =
            differences_of(vec![Layout::Evalscope, Layout::Native]).try_into().unwrap();
        assert!(ttft.starts_with("mean TTFT is 2.00 ms in evalscope's table and 10.00 ms in ours"));
        assert!(ttft.contains("a role without text"), "{ttft}");
        let counts = "7 in evalscope's table, by the server's count, and 1 in ours, by the plan's";
        assert!(input.contains(counts), "{input}");
    }

    #[test]
    fn nothing_is_told_where_one_table_stands_alone() {
        assert_eq!(differences_of(vec![Layout::Evalscope]), Vec::<String>::new());
        assert_eq!(differences_of(vec![Layout::Native]), Vec::<String>::new());
    }
}
