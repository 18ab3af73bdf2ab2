//! Two results that AISBench's users published, reproduced from requests that fit their figures.
//!
//! The first is a run of ten texts for which every figure of both tables is known. The ten requests
//! were chosen to give all of these figures; the times between their events are constructed. The
//! second is a run of 1,500 pictures for which the second table is known.

use serde_json::Value;
use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Planned, Recorder, RequestRecord, RunFacts, RunLog,
    Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::{AisbenchOptions, AisbenchTable, PrefillRow, Report};

use crate::report_text;

#[test]
fn ten_texts_give_the_published_tables() {
    let requests = TEXTS.into_iter().enumerate().map(|(index, text)| of_text(index, text));
    let table = tables_of(requests.collect(), 32);
    let published = include_str!("../../../../fixtures/aisbench/published/text.txt");
    assert_eq!(table.split_once('\n').unwrap().1, published);
}

#[test]
fn fifteen_hundred_pictures_give_the_published_table() {
    let table = tables_of((0..1500).map(of_picture).collect(), 16);
    let second = &table[table.rfind('╒').unwrap()..];
    assert_eq!(second, include_str!("../../../../fixtures/aisbench/published/mmstar.txt"));
    let names = ["E2EL", "TTFT", "TPOT", "ITL", "InputTokens", "OutputTokens"];
    let rows = table.lines().filter(|line| line.contains(" total "));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split('│').map(str::trim).collect()).collect();
    assert!(rows.iter().zip(names).all(|(row, name)| row[1] == name), "{rows:?}");
    assert_eq!(rows[4][3..11], ["0.0", "0.0", "0.0", "0.0", "0.0", "0.0", "0.0", "1500"]);
    assert_eq!(rows[5][3..10], ["256.0"; 7]);
    assert_eq!(rows[6][1], "OutputTokenThroughput");
    assert_eq!(rows[7][1], "Benchmark Duration", "there is no prefill throughput");
}

/// Nanoseconds to the end and to the first event, prompt tokens and output tokens.
type Text = (u64, u64, u32, u32);
const TEXTS: [Text; 10] = [
    (3_081_567_759, 429_165_233, 34, 69),
    (4_121_739_704, 418_796_978, 171, 100),
    (4_132_889_000, 346_716_064, 216, 100),
    (LONGEST, 433_779_920, 228, 100),
    (4_124_005_000, 414_056_609, 169, 99),
    (3_429_764_600, 406_242_022, 41, 79),
    (3_889_985_740, 394_478_736, 52, 92),
    (3_981_118_197, 439_729_763, 62, 92),
    (3_986_684_023, 417_010_843, 130, 95),
    (4_040_915_977, 415_649_833, 131, 95),
];
const LONGEST: u64 = 4_175_330_000;

/// Returns the record of a text. The longest request is sent last, so that the run takes 4175.4485
/// ms.
fn of_text(index: usize, (end, first, prompt, output): Text) -> RequestRecord {
    let sent = if end == LONGEST { 4_175_448_500 - LONGEST } else { index as u64 };
    let gaps = gaps(index, end - first);
    record(index, sent, [vec![first], gaps].concat(), (Some(prompt), output))
}

/// Returns inter-event times with the given total: one slow gap per request, equal gaps at the
/// published percentiles, the remainder, and zeros for events that arrived together with the
/// previous one. All requests together have 900.
fn gaps(index: usize, total: u64) -> Vec<u64> {
    let slow = if index == 0 { 156_500_000 } else { 117_100_000 };
    let mut gaps = vec![slow];
    gaps.extend([39_200_000; 13]);
    gaps.extend([39_000_000; 16]);
    let left = total - gaps.iter().sum::<u64>();
    gaps.extend(vec![38_900_000; (left / 38_900_000) as usize]);
    gaps.push(left % 38_900_000);
    gaps.extend([0; 2]);
    gaps
}

/// Returns the record of a picture. Sixteen clients each send the next request shortly after an
/// answer.
fn of_picture(index: usize) -> RequestRecord {
    const DURATION_NS: u64 = 6_190_905_000;
    const ALL: u64 = 582_099_681_600;
    let sent = (index / 16) as u64 * (ALL - DURATION_NS) / 93;
    let gaps = [vec![400_000_000], vec![22_000_000; 256]].concat();
    let last = DURATION_NS - gaps.iter().sum::<u64>();
    record(index, sent, [gaps, vec![last]].concat(), (None, 256))
}

fn record(
    index: usize,
    sent: u64,
    gaps: Vec<u64>,
    (prompt, output): (Option<u32>, u32),
) -> RequestRecord {
    let at = Stamp::from_nanos(sent);
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 0, output), at);
    recorder.record_sent(at);
    let mut now = sent;
    for gap in gaps {
        now += gap;
        recorder.at(Stamp::from_nanos(now)).delta(Delta::content("x"));
    }
    recorder.at(Stamp::from_nanos(now)).usage(Usage::new(prompt, Some(output)));
    recorder.body(Stamp::from_nanos(now), 1);
    let mut record = recorder.finish(Ok(Finish::default()), Stamp::from_nanos(now));
    record.planned = Planned::default();
    record.planned.prompt_tokens = 0;
    record
}

/// Returns the tables in the format of the AISBench version that the figures were published with.
fn tables_of(records: Vec<RequestRecord>, limit: usize) -> String {
    let mut facts = RunFacts::default();
    "/v1/chat/completions".clone_into(&mut facts.api_path);
    facts.max_concurrency = Some(limit);
    let log = RunLog::new(Header::new(0, facts, Value::Null), records, Some(Footer::default()));
    let metrics = Metrics::score(&log, &MetricPolicy::aisbench());
    let options = AisbenchOptions::new("vllm-api-stream-chat", "synthetic");
    let table = AisbenchTable::new(options.with_prefill(PrefillRow::OfRun));
    report_text(&table, &Report::new(&log, &metrics, &Audit::of(&log)))
}
