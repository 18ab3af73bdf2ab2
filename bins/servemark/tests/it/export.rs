//! A run log in formats of other programs.

use std::fs;
use std::process::Command;

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
    for name in ["requests.parquet", "tokens.parquet"] {
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
fn a_log_that_is_missing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let done = servemark(&folder, &["export", "absent.jsonl", "--parquet", "tables"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("absent.jsonl"));
}
