//! A run log in formats of other programs.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{RUN, servemark, text};

/// Prints the sizes of both tables and the sum of the pieces' numbers of bytes.
const READ: &str = "
import sys
requests, tokens = sys.argv[1] + '/requests.parquet', sys.argv[1] + '/tokens.parquet'
READER
";

/// Programs that read the tables, each with the module that it takes.
const READERS: [(&str, &str); 3] = [
    (
        "pandas",
        "import pandas as p; r = p.read_parquet(requests); t = p.read_parquet(tokens)\n\
                print(len(r), int(r['success'].sum()), len(t), int(t['tokens'].sum()))",
    ),
    (
        "polars",
        "import polars as p; r = p.read_parquet(requests); t = p.read_parquet(tokens)\n\
                print(len(r), r['success'].sum(), len(t), t['tokens'].sum())",
    ),
    (
        "duckdb",
        "import duckdb as d\n\
                r = d.sql(f\"select count(*), sum(success::int) from '{requests}'\").fetchall()[0]\n\
                t = d.sql(f\"select count(*), sum(tokens) from '{tokens}'\").fetchall()[0]\n\
                print(*r, *map(int, t))",
    ),
];

#[test]
fn the_tables_of_a_run_are_read_by_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let done = servemark(&folder, &["export", "run.jsonl", "--parquet", "tables"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let tables = folder.path().join("tables");
    for name in ["requests.parquet", "tokens.parquet", "series.parquet"] {
        let bytes = fs::read(tables.join(name)).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name}");
    }
    for (program, reader) in READERS {
        let is_there = Command::new("python3").args(["-c", &format!("import {program}")]).output();
        if !is_there.is_ok_and(|found| found.status.success()) {
            eprintln!("skipped: python3 has no {program}");
            continue;
        }
        let script = READ.replace("READER", reader);
        let read = Command::new("python3").args(["-c", &script]).arg(&tables).output().unwrap();
        if program == "pandas" && !read.status.success() {
            eprintln!("skipped: pandas has no engine for parquet");
            continue;
        }
        let printed = text(&read.stdout);
        // The warm-up is one of the 11 requests.
        assert!(printed.starts_with("11 11 "), "{program}: {printed}{}", text(&read.stderr));
    }
}

#[test]
fn llm_ds_report_has_the_figures_and_no_key_beside_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let done = servemark(&folder, &["export", "run.jsonl", "--benchmark-report", "report.json"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let report = fs::read(folder.path().join("report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["version"], "0.2");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(keys(&report), names(&["version", "run", "scenario", "results"]));
    let all = &report["results"]["request_performance"]["aggregate"];
    assert_eq!(keys(all), names(&["requests", "latency", "throughput"]));
    assert_eq!((&all["requests"]["total"], &all["requests"]["failures"]), (&10.into(), &0.into()));
    let ttft = &all["latency"]["time_to_first_token"];
    assert_eq!(ttft["units"], "ms");
    let [p50, p90, mean] = ["p50", "p90", "mean"].map(|key| ttft[key].as_f64().unwrap());
    assert!(p50 >= 2.0 && p90 >= p50 && mean >= 2.0, "{ttft}");
    let load = &report["scenario"]["load"];
    assert_eq!(load["standardized"]["tool"], "servemark");
    assert_eq!(load["standardized"]["source"], "random");
    assert_eq!(keys(load), names(&["metadata", "standardized", "native"]));
    assert_eq!(all["throughput"]["request_rate"]["units"], "queries/s");
}

#[test]
fn a_log_that_is_missing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let done = servemark(&folder, &["export", "absent.jsonl", "--parquet", "tables"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("absent.jsonl"));
}
