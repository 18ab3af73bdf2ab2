//! Throughput, token counts and their sources.

use servemark_core::Header;
use servemark_metrics::{AcceptLength, Metrics, ServerCounts, TokenTotals};

use super::style::{absent, unit};
use crate::table::Table;

pub(super) fn throughput(table: &mut Table, metrics: &Metrics, generates: bool) {
    let rates = &metrics.throughput;
    table.section("Throughput");
    table.row("requests", unit(rates.requests_per_s, "/s"));
    if !generates {
        table.row("items", unit(metrics.items.items_per_s, "/s"));
    }
    table.row("input tokens", unit(rates.input_tokens_per_s, "/s"));
    if !generates {
        return;
    }
    table.row("output tokens", unit(rates.output_tokens_per_s, "/s"));
    table.row("all tokens", unit(rates.total_tokens_per_s, "/s"));
    table.row("fullest second", format!("{} output tokens", rates.peak_output_tokens_per_s));
}

pub(super) fn tokens(table: &mut Table, metrics: &Metrics, header: &Header) {
    let (tokens, by) = (&metrics.tokens, Counter::of(header));
    let count = |count: Option<u64>| count.map_or_else(absent, |count| count.to_string());
    table.section("Tokens");
    table.row("input", input(tokens));
    if header.engine.is_some() {
        table.row("  by the engine", count(metrics.items.server_tokens));
    } else {
        by_server(table, &metrics.server_counts);
    }
    if tokens.cached.is_some() {
        table.row("  from a cache", count(tokens.cached));
    }
    if !header.facts.generates() {
        return;
    }
    table.row("output", count(tokens.output));
    table.row("  counted by", sources(tokens, &by));
    table.row("  retokenized", count(tokens.output_retokenized));
    table.row("  pieces by", pieces(tokens, &by));
    let without_text = metrics.server_counts.without_text;
    if without_text > 0 {
        table.note(format!("  {without_text} answers had counted tokens but no text"));
    }
}

/// Writes, if the server counted prompts, its total beside the planned total of the same answers.
fn by_server(table: &mut Table, counts: &ServerCounts) {
    let ServerCounts { prompt_answers, prompt_tokens, planned_prompt_tokens, .. } = counts;
    if *prompt_answers > 0 {
        let message = format!("{prompt_tokens} in {prompt_answers} answers");
        table.row("  by the server", format!("{message}, {planned_prompt_tokens} planned"));
    }
}

/// Names of the sources of token counts other than Servemark's tokenizer.
struct Counter {
    answers: &'static str,
    pieces: &'static str,
}

impl Counter {
    fn of(header: &Header) -> Self {
        match header.engine {
            Some(_) => Self { answers: "the engine", pieces: "the engine" },
            None => Self { answers: "the server's usage", pieces: "the stream's own counts" },
        }
    }
}

/// Writes the accept length of the run, or else the server's average since its start.
pub(super) fn accept_length(table: &mut Table, accept_length: AcceptLength) {
    let text = match (accept_length.of_run, accept_length.since_start) {
        (Some(length), _) => {
            format!("{length:.2}, this run ({} requests)", accept_length.requests)
        }
        (None, Some(length)) => format!("{length:.2}, the server's average since its start"),
        (None, None) => return,
    };
    table.row("accept length", text);
}

fn input(tokens: &TokenTotals) -> String {
    match tokens.input_vision {
        0 => tokens.input.to_string(),
        vision => format!("{} ({} text, {vision} images)", tokens.input, tokens.input_text),
    }
}

fn sources(tokens: &TokenTotals, counter: &Counter) -> String {
    let by = tokens.sources;
    listed(&[
        (counter.answers, by.usage),
        ("our tokenizer", by.retokenized),
        (counter.pieces, by.deltas),
        ("the length asked for", by.requested),
        ("no source", by.unknown),
    ])
}

fn pieces(tokens: &TokenTotals, counter: &Counter) -> String {
    let by = tokens.events;
    listed(&[
        (counter.pieces, by.wire),
        ("our tokenizer", by.retokenized),
        ("no source, taken as one token each", by.assumed_one),
    ])
}

/// Lists the names with counts above zero, as `name (count)`.
fn listed(counts: &[(&str, usize)]) -> String {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let words: Vec<_> = some.map(|(name, count)| format!("{name} ({count})")).collect();
    if words.is_empty() { absent() } else { words.join(", ") }
}
