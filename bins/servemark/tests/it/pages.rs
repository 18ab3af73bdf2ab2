//! Pages of runs and comparisons, written by the commands.

use std::fs;

use servemark_mock::{MockServer, MockSpec};
use servemark_testkit::browser::{Browser, View};

use crate::schema::documents;
use crate::{RUN, servemark, text};

#[test]
fn an_old_log_has_a_page_and_two_have_one_of_their_comparison() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let written = |args: &[&str]| {
        let output = servemark(&folder, args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let news = text(&output.stderr);
        assert!(news.lines().any(|line| line == "Page: page.html"), "{news}");
        fs::read_to_string(folder.path().join("page.html")).unwrap()
    };
    let score = ["score", "run.jsonl", "--html", "page.html"];
    let page = written(&score);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("servemark rerun run.jsonl runs this plan again."));
    assert_eq!(page, written(&score), "a log gives the same page each time");
    let page = written(&["compare", "run.jsonl", "run.jsonl", "--html", "page.html", "--force"]);
    assert!(page.contains("<title>Comparison · Servemark</title>"));
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let log = fs::read(folder.path().join("run.jsonl")).unwrap();
    for page in ["missing/page.html", "run.jsonl"] {
        for command in [&["score", "run.jsonl"][..], &["compare", "run.jsonl", "run.jsonl"]] {
            let output = servemark(&folder, &[command, &["--html", page]].concat());
            assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
            assert!(output.stdout.is_empty());
        }
    }
    assert_eq!(fs::read(folder.path().join("run.jsonl")).unwrap(), log, "the log is as it was");
}

/// Opens a page in every view, switches the theme, and zooms a plot if the page has one.
fn works_in_every_view(browser: &mut Browser, page: &str, name: &str) {
    for view in View::all() {
        browser.open(page, view);
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(width, view.width, "{name} is wider than {view:?}");
        let colour = "getComputedStyle(document.body).backgroundColor";
        let before = browser.evaluate(colour);
        browser.click("#theme");
        assert_ne!(browser.evaluate(colour), before, "{name}: the theme of {view:?}");
        browser.evaluate("delete localStorage.servemarkTheme");
        if browser.count(".plot .stage > svg") > 0 {
            browser.drag(".plot .stage", 0.3, 0.6);
            browser.press(".plot .stage", "Escape");
        }
        assert_eq!(browser.faults(), [""; 0], "{name} in {view:?}");
    }
}

#[test]
fn every_page_that_a_command_leaves_works_in_every_view() {
    let folder = tempfile::tempdir().unwrap();
    let server = MockServer::start(MockSpec::default()).unwrap();
    servemark(&folder, &RUN);
    fs::copy(folder.path().join("run.jsonl"), folder.path().join("other.jsonl")).unwrap();
    let mut browser = Browser::start();
    let mut opened = 0;
    for (_, kept, line) in documents(&server.base_url()) {
        let Some(kept) = kept else { continue };
        let args: Vec<&str> = line.iter().map(String::as_str).collect();
        let done = servemark(&folder, &args);
        let page = fs::read_to_string(folder.path().join(kept).join("report.html"));
        let page = page.unwrap_or_else(|error| panic!("{error}: {}", text(&done.stderr)));
        works_in_every_view(&mut browser, &page, &line.join(" "));
        opened += 1;
    }
    assert!(opened >= 10, "{opened} pages");
    servemark(&folder, &["compare", "run.jsonl", "other.jsonl", "--html", "page.html", "--force"]);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    works_in_every_view(&mut browser, &page, "compare");
}
