//! Addresses of metrics that cannot be read: warnings and gaps, and a run that goes on.

use std::net::TcpListener;

use servemark_testkit::{ExporterAnswer, ScriptedExporter};

use crate::program::{Folder, simulated, text};

const WAITING: &str = "vllm:num_requests_waiting 3\n";

/// Returns a text of two million bytes with one known metric at its end.
fn long_text() -> String {
    let noise = format!("noise{{filling=\"{:x<25}\"}} 1\n", "");
    noise.repeat(2_000_000 / noise.len()) + WAITING
}

#[test]
fn bad_addresses_of_metrics_are_warnings_and_gaps() {
    let folder = Folder::new();
    let exporter = ScriptedExporter::start(|_| ExporterAnswer::Text(WAITING.to_owned()));
    let missing = ScriptedExporter::start(|_| ExporterAnswer::Status(404));
    let silent = ScriptedExporter::start(|_| ExporterAnswer::Silence);
    let page = "<!DOCTYPE html>\n<html><body>busy 1</body></html>\n";
    let page = ScriptedExporter::start(move |_| ExporterAnswer::Text(page.to_owned()));
    let long = ScriptedExporter::start(|_| ExporterAnswer::Text(long_text()));
    // Nothing listens any more at the address of a listener that is gone.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bad = [
        format!("http://{closed}/closed"),
        missing.url("/missing?key=hush-hush").replace("http://", "http://me:s3cr3t@"),
        page.url("/page"),
        silent.url("/silent"),
        exporter.url("/plain").replace("http://", "https://"),
    ];
    let good = [exporter.url("/metrics"), long.url("/long")];
    let urls = bad.iter().chain(&good).chain(&good[..1]);
    let flags = urls.flat_map(|url| ["--metrics-url", url]);
    let more =
        ["--metrics-interval", "0.1", "--run-log", "run.jsonl", "--request-rate", "12", "--full"];
    let output = folder.run(&simulated(&more.into_iter().chain(flags).collect::<Vec<_>>()));
    let (table, news, log) = (text(&output.stdout), text(&output.stderr), folder.read("run.jsonl"));
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(table.contains("Successful requests:                     12"), "{table}");
    for name in ["closed", "missing", "page", "silent", "plain"] {
        let warned = news.lines().filter(|line| line.contains(&format!("/{name}: ")));
        assert_eq!(warned.count(), 1, "{name}: {news}");
        let gap = table.lines().filter(|line| line.contains("  gap ") && line.contains(name));
        assert_eq!(gap.count(), 1, "{name}: {table}");
    }
    assert_eq!(news.lines().filter(|line| line.contains("is given twice")).count(), 1, "{news}");
    for name in ["metrics", "long"] {
        let seen =
            table.lines().filter(|line| line.starts_with("Seen at ") && line.ends_with(name));
        assert_eq!(seen.count(), 1, "{name}: {table}");
    }
    for secret in ["hush", "s3cr3t", "bWU6czNjcjN0"] {
        assert!(![&table, &news, &log].iter().any(|text| text.contains(secret)), "{secret}");
    }
}
