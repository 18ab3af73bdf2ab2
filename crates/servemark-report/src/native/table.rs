//! Our own table, at most 100 columns wide.

use std::cmp::Ordering;
use std::io;

use servemark_core::{ArrivalClock, RunFacts};
use servemark_metrics::{
    AcceptLength, Completeness, Deviation, FailureGroup, Goodput, Metrics, Percentile, Rates,
    SessionMetrics, SteadyState, Summary, TokenTotals, TruthComparison, TurnMetrics,
};

use crate::table::{Line, Style, Table};
use crate::{Report, ReportFormat};

/// Our own table, at most 100 columns wide.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeTable;

impl ReportFormat for NativeTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let metrics = report.metrics;
        let generates = report.log.header().facts.generates();
        let mut table = Table::default();
        table.title("Servemark report");
        incomplete(&mut table, metrics);
        run(&mut table, report);
        outcome(&mut table, metrics);
        throughput(&mut table, metrics, generates);
        tokens(&mut table, &metrics.tokens, generates);
        accept_length(&mut table, metrics.accept_length);
        latencies(&mut table, metrics, generates);
        if let Some(sessions) = &metrics.sessions {
            self::sessions(&mut table, sessions);
        }
        load(&mut table, metrics);
        if let Some(goodput) = &metrics.goodput {
            self::goodput(&mut table, goodput);
        }
        if let Some(steady) = &metrics.steady_state {
            self::steady(&mut table, steady);
        }
        if let Some(truth) = &metrics.truth {
            self::truth(&mut table, truth);
        }
        table.end();
        table.write(&NativeStyle, out)
    }
}

fn incomplete(table: &mut Table, metrics: &Metrics) {
    let how = match metrics.completeness {
        Completeness::Complete => return,
        Completeness::Interrupted => "was interrupted",
        Completeness::Killed => "was killed",
    };
    let (missing, planned) = (metrics.requests.unfinished(), metrics.requests.planned);
    table.note(format!("INCOMPLETE: this run {how}; {missing} of {planned} requests are missing."));
}

fn run(table: &mut Table, report: &Report<'_>) {
    let header = report.log.header();
    let (facts, host) = (&header.facts, &header.host);
    table.section("Run");
    table.row("target", &facts.target);
    if facts.simulated {
        table.row("", "the bundled simulator: scripted latencies, not those of a server");
    }
    table.row("backend", format!("{} ({})", facts.backend, facts.api_path));
    table.row("model", &facts.model);
    table.row("tokenizer", &facts.tokenizer);
    table.row("data set", dataset(facts));
    table.row("load", asked_load(facts));
    table.row("duration", unit(Some(report.metrics.duration_s), "s"));
    table.row("client host", format!("{}, {} cores", host.system, host.cores));
    if let Some(share) = report.metrics.client_cpu_share {
        table.row("client CPU", format!("{:.1} % of one core", share * 100.0));
    }
    table.row("arrivals by", arrival_clock(report.metrics.arrivals.clock));
    table.row("definitions", &report.metrics.policy.name);
}

fn arrival_clock(clock: Option<ArrivalClock>) -> &'static str {
    match clock {
        None => "-",
        Some(ArrivalClock::User) => "the client's clock: its own lag is in every latency",
        Some(ArrivalClock::KernelBound) => "the kernel's stamps, an upper bound on HTTP/2",
        Some(ArrivalClock::Kernel) => "the kernel's stamps",
    }
}

fn dataset(facts: &RunFacts) -> String {
    format!("{}, {} requests, seed {}", facts.dataset, facts.requests, facts.seed)
}

fn asked_load(facts: &RunFacts) -> String {
    let rate = match facts.request_rate {
        Some(rate) => format!("{rate} requests/s"),
        None if facts.replayed => "as the trace says".to_owned(),
        None => "all at once".to_owned(),
    };
    match facts.max_concurrency {
        Some(limit) => format!("{rate}, at most {limit} in flight"),
        None => format!("{rate}, no limit in flight"),
    }
}

fn outcome(table: &mut Table, metrics: &Metrics) {
    let requests = metrics.requests;
    table.section("Outcome");
    table.row("ok", requests.completed);
    table.row("failed", requests.failed);
    if requests.unfinished() > 0 {
        table.row("unfinished", requests.unfinished());
    }
    metrics.failures.iter().for_each(|group| failure(table, group));
}

fn failure(table: &mut Table, group: &FailureGroup) {
    table.row(&format!("  {}", group.kind), group.count);
    for example in &group.messages {
        table.note(format!("    {} x {}", example.count, one_line(&example.message)));
    }
}

fn throughput(table: &mut Table, metrics: &Metrics, generates: bool) {
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

fn tokens(table: &mut Table, tokens: &TokenTotals, generates: bool) {
    let count = |count: Option<u64>| count.map_or_else(absent, |count| count.to_string());
    table.section("Tokens");
    table.row("input", input(tokens));
    if tokens.cached.is_some() {
        table.row("  from a cache", count(tokens.cached));
    }
    if !generates {
        return;
    }
    table.row("output", count(tokens.output));
    table.row("  counted by", sources(tokens));
    table.row("  retokenized", count(tokens.output_retokenized));
    table.row("  pieces by", pieces(tokens));
}

/// The run's own, else what the server has seen since it was started.
fn accept_length(table: &mut Table, accept_length: AcceptLength) {
    let told = match (accept_length.of_run, accept_length.since_start) {
        (Some(length), _) => {
            format!("{length:.2}, this run ({} requests)", accept_length.requests)
        }
        (None, Some(length)) => format!("{length:.2}, the server's average since its start"),
        (None, None) => return,
    };
    table.row("accept length", told);
}

fn input(tokens: &TokenTotals) -> String {
    match tokens.input_vision {
        0 => tokens.input.to_string(),
        vision => format!("{} ({} text, {vision} images)", tokens.input, tokens.input_text),
    }
}

fn sources(tokens: &TokenTotals) -> String {
    let by = tokens.sources;
    listed(&[
        ("the server's usage", by.usage),
        ("our tokenizer", by.retokenized),
        ("the stream's own counts", by.deltas),
        ("the length asked for", by.requested),
        ("nobody", by.unknown),
    ])
}

fn pieces(tokens: &TokenTotals) -> String {
    let by = tokens.events;
    listed(&[
        ("the stream's own counts", by.wire),
        ("our tokenizer", by.retokenized),
        ("nobody, taken as one token each", by.assumed_one),
    ])
}

/// Those that are not zero, with their counts.
fn listed(counts: &[(&str, usize)]) -> String {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let words: Vec<_> = some.map(|(name, count)| format!("{name} ({count})")).collect();
    if words.is_empty() { absent() } else { words.join(", ") }
}

fn latencies(table: &mut Table, metrics: &Metrics, generates: bool) {
    let (service, response) = (&metrics.latencies, &metrics.response);
    let of_tokens = [("TTFT", &service.ttft), ("TPOT", &service.tpot), ("ITL", &service.itl)];
    let mut from_sent = if generates { of_tokens.to_vec() } else { Vec::new() };
    from_sent.push(("E2E", &service.e2el));
    let mut from_due = if generates { vec![("TTFT", &response.ttft)] } else { Vec::new() };
    from_due.push(("E2E", &response.e2el));
    grid(table, "Service times, from sent (ms)", &from_sent);
    grid(table, "Response times, from due (ms)", &from_due);
    grid(table, "The client's part (ms)", &own_part(metrics));
}

/// The client's lag shows only where the kernel tells it.
fn own_part(metrics: &Metrics) -> Vec<(&'static str, &Summary)> {
    let (waits, arrivals) = (&metrics.waits, &metrics.arrivals);
    let mut rows = vec![
        ("queue wait", &waits.queue),
        ("send lag", &waits.send_lag),
        ("connect", &waits.connect),
    ];
    if arrivals.lag.samples > 0 {
        rows.extend([("read lag", &arrivals.lag), ("of first pieces", &arrivals.first_lag)]);
    }
    rows
}

fn sessions(table: &mut Table, sessions: &SessionMetrics) {
    let SessionMetrics { begun, ended_early, turns_unsent, turns, .. } = sessions;
    table.section("Sessions");
    table.row("begun", begun);
    if *ended_early > 0 {
        table.row("ended early", format!("{ended_early} (turns never sent: {turns_unsent})"));
    }
    let labels: Vec<String> = turns.iter().map(turn_label).collect();
    let labels = || labels.iter().map(String::as_str);
    let ttfts: Vec<_> = labels().zip(turns.iter().map(|turn| &turn.ttft)).collect();
    grid(table, "TTFT by turn (ms)", &ttfts);
    table.grid("Prompts by turn", ["requests", "failed", "tokens", "cached"]);
    for (label, turn) in labels().zip(turns) {
        let cached =
            turn.cached_share.map_or_else(absent, |share| format!("{:.1} %", share * 100.0));
        let counts = [turn.requests, turn.failed].map(|count| count.to_string());
        let tokens = [number(turn.mean_prompt_tokens), cached];
        table.cells(label, counts.into_iter().chain(tokens).collect());
    }
}

fn turn_label(turn: &TurnMetrics) -> String {
    format!("turn {}{}", turn.turn, if turn.and_later { " on" } else { "" })
}

/// A grid of latencies, one row each. What a sample is too small for is left out, and a note below
/// says what it takes.
fn grid(table: &mut Table, title: &str, rows: &[(&str, &Summary)]) {
    let percentiles = rows.first().map_or(&[][..], |(_, summary)| &summary.percentiles);
    let percents: Vec<f64> = percentiles.iter().map(Percentile::percent).collect();
    let heads: Vec<_> = percents.iter().map(|percent| format!("p{percent}")).collect();
    let heads = heads.iter().map(String::as_str);
    table.grid(title, ["samples", "mean", "+/- 95 %"].into_iter().chain(heads).chain(["max"]));
    for (label, summary) in rows {
        table.cells(label, cells(summary, &percents));
    }
    too_few(table, rows);
}

fn cells(summary: &Summary, percents: &[f64]) -> Vec<String> {
    let half = summary.mean_interval_ms.map(|interval| (interval.high_ms - interval.low_ms) / 2.0);
    let mut cells = vec![summary.samples.to_string(), number(summary.mean_ms), number(half)];
    cells.extend(percents.iter().map(|&percent| number(summary.percentile_ms(percent))));
    cells.push(number(summary.max_ms));
    cells
}

/// Says of each percentile that is left out somewhere how many samples it takes.
fn too_few(table: &mut Table, rows: &[(&str, &Summary)]) {
    let needs = rows.iter().flat_map(|(_, summary)| {
        summary.percentiles.iter().filter_map(|percentile| match *percentile {
            Percentile::TooFew { percent, missing_samples } => {
                Some((summary.samples + missing_samples, percent))
            }
            Percentile::Known { .. } => None,
        })
    });
    let mut needs: Vec<_> = needs.collect();
    needs.sort_by(|left, right| left.partial_cmp(right).unwrap_or(Ordering::Equal));
    needs.dedup();
    let needs: Vec<_> =
        needs.iter().map(|(samples, percent)| format!("p{percent} takes {samples}")).collect();
    if !needs.is_empty() {
        table.note(format!("  -: too few samples; {}", needs.join(", ")));
    }
}

fn load(table: &mut Table, metrics: &Metrics) {
    let Rates { asked_per_s, scheduled_per_s, sent_per_s, .. } = metrics.rates;
    let concurrency = &metrics.concurrency;
    table.section("Load as offered");
    table.row("asked for", unit(asked_per_s, "/s"));
    table.row("scheduled", unit(scheduled_per_s, "/s"));
    table.row("sent", unit(sent_per_s, "/s"));
    table.row("in flight, mean", number(concurrency.mean));
    table.row("in flight, peak", concurrency.peak);
    table.row("connections", connections(metrics));
    table.row("pieces per read", number(metrics.arrivals.pieces_per_read));
}

fn connections(metrics: &Metrics) -> String {
    let waits = &metrics.waits;
    let (opened, reused) = (waits.connect.samples, waits.reused_connections);
    match waits.ahead_connections {
        0 => format!("{opened} opened, {reused} reused"),
        ahead => format!("{ahead} opened ahead, {opened} opened, {reused} reused"),
    }
}

fn goodput(table: &mut Table, goodput: &Goodput) {
    let percent = |share: Option<f64>| unit(share.map(|share| share * 100.0), "% of all requests");
    table.section("Goodput");
    table.row("good requests", unit(goodput.requests_per_s, "/s"));
    table.row("all objectives", percent(goodput.attainment));
    for result in &goodput.by_slo {
        let label = format!("{} <= {} ms", result.slo.metric.name(), result.slo.limit_ms);
        table.row(&label, percent(result.attainment));
    }
}

fn steady(table: &mut Table, steady: &SteadyState) {
    table.section("Steady state");
    table.row("in flight, least", least_in_flight(steady));
    table.row("from, to", format!("{:.3} s, {:.3} s", steady.window_start, steady.window_end));
    table.row("duration", unit(Some(steady.duration), "s"));
    table.row("completed", steady.completed);
    table.row("in flight, mean", number(Some(steady.average_concurrency)));
    table.row("input tokens", unit(Some(steady.input_throughput), "/s"));
    table.row("output tokens", unit(Some(steady.output_throughput), "/s"));
    table.row("  retokenized", unit(steady.output_throughput_retokenized, "/s"));
    let peak = unit(Some(steady.peak_output_throughput), "output tokens");
    table.row("fullest second", peak);
}

fn least_in_flight(steady: &SteadyState) -> String {
    let percent = steady.concurrency_ratio.get() * 100.0;
    let (least, peak) = (steady.concurrency_threshold, steady.peak_concurrency);
    format!("{least}, {percent} % of the peak of {peak}")
}

fn truth(table: &mut Table, truth: &TruthComparison) {
    table.grid("Against the bundled simulator's own log (ms)", ["reported", "truth", "difference"]);
    let rows = [
        ("mean TTFT", Some(truth.mean_ttft)),
        ("p99 TTFT", Some(truth.p99_ttft)),
        ("max TTFT", Some(truth.max_ttft)),
        ("p99 ITL", truth.p99_itl),
        ("max ITL", truth.max_itl),
    ];
    for (label, deviation) in rows {
        if let Some(deviation) = deviation {
            table.cells(label, deviation_cells(deviation));
        }
    }
    table.note(format!("  {}", compared(truth)));
}

fn deviation_cells(deviation: Deviation) -> Vec<String> {
    let Deviation { reported_ms, truth_ms, difference_ms, .. } = deviation;
    let microseconds = |value: f64| format!("{value:.3}");
    vec![microseconds(reported_ms), microseconds(truth_ms), format!("{difference_ms:+.3}")]
}

fn compared(truth: &TruthComparison) -> String {
    format!(
        "{} requests compared, {} without truth, {} with another number of pieces",
        truth.requests, truth.without_truth, truth.other_pieces
    )
}

/// Three significant digits or so, and never more than fit a column.
fn number(value: Option<f64>) -> String {
    match value {
        None => absent(),
        Some(value) if value.abs() >= 10_000.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 100.0 => format!("{value:.1}"),
        Some(value) if value.abs() >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

fn unit(value: Option<f64>, unit: &str) -> String {
    match value {
        None => absent(),
        Some(_) => format!("{} {unit}", number(value)),
    }
}

fn absent() -> String {
    "-".to_owned()
}

/// A server's words on one line that fits.
fn one_line(message: &str) -> String {
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let words: String = message.chars().map(clean).take(MESSAGE_WIDTH + 1).collect();
    match words.char_indices().nth(MESSAGE_WIDTH - 3) {
        Some((cut, _)) if words.chars().count() > MESSAGE_WIDTH => format!("{}...", &words[..cut]),
        _ => words,
    }
}

const MESSAGE_WIDTH: usize = 84;

/// Labels of eighteen columns, cells of nine.
struct NativeStyle;

impl Style for NativeStyle {
    fn line(&self, line: &Line) -> String {
        match line {
            Line::Title(title) => title.clone(),
            Line::Section(title, heads) if heads.is_empty() => format!("\n{title}"),
            Line::Section(title, heads) => format!("\n{title}\n{:18}{}", "", columns(heads)),
            Line::Row(label, value) => format!("  {label:<17} {value}").trim_end().to_owned(),
            Line::Cells(label, cells) => format!("  {label:<16}{}", columns(cells)),
            Line::Note(note) => note.clone(),
            Line::End => String::new(),
        }
    }
}

fn columns(cells: &[String]) -> String {
    let padded: Vec<_> = cells.iter().map(|cell| format!(" {cell:>8}")).collect();
    padded.concat()
}
