//! Target for run logs.

use servemark::Scores;
use servemark::core::RunLogReader;
use servemark::plan::{Layout, ScoringSpec};

use crate::scratch;

/// Reads any bytes as a run log: the log is scored or refused. The first byte chooses the layout of
/// the tables.
pub fn run_log(bytes: &[u8]) {
    let Some((layout, text)) = scratch::choice(bytes, LAYOUTS.len()) else { return };
    let path = scratch::file("run.jsonl", text);
    let Ok(reader) = RunLogReader::open(&path) else { return };
    let Ok(log) = reader.into_log() else { return };
    let scoring = ScoringSpec {
        layouts: vec![LAYOUTS[layout]],
        print_requests: layout == 0,
        plots: layout == 0,
        ..ScoringSpec::default()
    };
    let scores = Scores::of(&log, &scoring);
    let mut tables = Vec::new();
    scores.write_tables(&mut tables).expect("memory takes all that is written");
    String::from_utf8(tables).expect("tables are text");
    let _ = scores.audit().to_string();
    let _ = scores.exit_code();
}

const LAYOUTS: [Layout; 6] = [
    Layout::Sglang,
    Layout::Native,
    Layout::Vllm,
    Layout::Aisbench,
    Layout::Evalscope,
    Layout::Embedding,
];
