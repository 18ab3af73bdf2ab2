use proptest::prelude::*;

use super::*;

#[track_caller]
fn round_trips(log: &DeltaLog, json: &str) {
    assert_eq!(serde_json::to_string(log).unwrap(), json);
    let back: DeltaLog = serde_json::from_str(json).unwrap();
    assert_eq!(&back, log);
}

#[test]
fn a_plain_answer_is_two_columns() {
    let mut log = DeltaLog::with_capacity(2);
    log.push(Stamp::from_nanos(1), Delta::content("a"));
    log.push(Stamp::from_nanos(3), Delta::content("bc"));
    round_trips(&log, r#"{"at":[1,3],"bytes":[1,2]}"#);
}

#[test]
fn a_lag_is_kept_where_it_is_known() {
    let (arrived, read_at) = (Stamp::from_nanos(1), Stamp::from_nanos(30_001));
    let mut log = DeltaLog::default();
    log.push(Arrival::new(arrived, read_at), Delta::content("a"));
    round_trips(&log, r#"{"at":[1],"bytes":[1],"lag_us":[30]}"#);
}

#[test]
fn counts_and_kinds_are_kept_when_they_say_something() {
    let mut log = DeltaLog::default();
    log.push(Stamp::ZERO, Delta::content("a").of_kind(DeltaKind::Reasoning));
    log.push(Stamp::ZERO, Delta::content("b").with_tokens(Some(2)));
    round_trips(
        &log,
        r#"{"at":[0,0],"bytes":[1,1],"tokens":[null,2],"kinds":["reasoning","content"]}"#,
    );
}

/// Returns a stream of a thousand tokens, 20 ms apart, each read 50 us after its arrival.
fn stream(counted: Option<u32>) -> DeltaLog {
    let mut log = DeltaLog::with_capacity(1000);
    for token in 0..1000 {
        let at = Stamp::from_nanos(60_000_000_000 + token * 20_000_000);
        let read_at = Stamp::from_nanos(at.as_nanos() + 50_000);
        log.push(Arrival::new(at, read_at), Delta::content(" token").with_tokens(counted));
    }
    log
}

#[test]
fn a_row_takes_seven_bytes_and_what_was_reserved_is_enough() {
    for counted in [None, Some(1)] {
        let mut log = stream(counted);
        assert_eq!(log.packed_bytes(), DeltaLog::with_capacity(1000).packed_bytes());
        log.compact();
        assert!(log.packed_bytes() <= 7 * 1000 + 10, "{}", log.packed_bytes());
        assert_eq!((log.rows().len(), log.rows().count()), (1000, 1000));
        assert_eq!(log.first_at(), Some(Stamp::from_nanos(60_000_000_000)));
        assert_eq!(log.last_at(), log.rows().last().map(|row| row.at));
    }
}

#[test]
fn an_empty_log_has_no_times() {
    let log = DeltaLog::default();
    assert_eq!((log.first_at(), log.last_at(), log.rows().next()), (None, None, None));
}

#[test]
fn columns_of_different_lengths_are_refused() {
    let refusal = |json: &str| serde_json::from_str::<DeltaLog>(json).unwrap_err().to_string();
    let message = "`deltas` has 2 values in `at` and 1 in `bytes`";
    assert!(refusal("{\"at\":[1,2],\"bytes\":[3]}").starts_with(message));
    let message = "`deltas` has 2 values in `at` and 0 in `bytes`";
    assert!(refusal("{\"at\":[1,2]}").starts_with(message));
    let message = "`deltas` has 1 values in `at` and 2 in `tokens`";
    assert!(refusal("{\"at\":[1],\"bytes\":[3],\"tokens\":[1,1]}").starts_with(message));
}

/// Numbers of every size, small ones as often as large ones.
fn sizes() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(number, less)| number >> less)
}

/// Stamps in any order, and rising stamps as a stream has them.
fn stamps() -> impl Strategy<Value = Vec<u64>> {
    let forward = prop::collection::vec(0u64..5_000_000_000, 40).prop_map(|gaps| {
        gaps.iter()
            .scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect()
    });
    prop_oneof![prop::collection::vec(sizes(), 40), forward]
}

fn rows() -> impl Strategy<Value = Vec<DeltaRow>> {
    let kinds = vec![DeltaKind::Content, DeltaKind::Reasoning, DeltaKind::ToolCall];
    let size = || prop_oneof![0u32..300, sizes().prop_map(|size| size as u32)];
    let words = (prop::option::of(prop_oneof![Just(1), size()]), prop::sample::select(kinds));
    let rows = prop::collection::vec((size(), words, size()), 0..40);
    (stamps(), rows).prop_map(|(stamps, rows)| {
        let rows = stamps.into_iter().zip(rows);
        let row = |(at, (bytes, (tokens, kind), lag_us))| DeltaRow {
            at: Stamp::from_nanos(at),
            bytes,
            tokens,
            kind,
            lag_us,
        };
        rows.map(row).collect()
    })
}

proptest! {
    /// Rows are kept for any order of stamps and any size of numbers.
    #[test]
    fn every_row_comes_back_from_memory_and_from_a_file(rows in rows()) {
        let mut log = DeltaLog::default();
        for &row in &rows {
            log.push_row(row);
        }
        prop_assert_eq!(log.rows().collect::<Vec<_>>(), rows.clone());
        let json = serde_json::to_string(&log).unwrap();
        let back: DeltaLog = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(back.rows().collect::<Vec<_>>(), rows);
        prop_assert_eq!(back, log);
    }
}
