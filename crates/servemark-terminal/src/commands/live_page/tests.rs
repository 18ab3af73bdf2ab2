use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use servemark::core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, RunLogWriter,
    Sample, Stamp, Usage,
};
use servemark::plan::ScoringSpec;
use servemark_testkit::browser::{Browser, Theme, View};

use super::request::PageRequest;
use super::*;

const DESK: View = View { width: 1280, theme: Theme::Light };

fn at(ms: u64) -> Stamp {
    Stamp::ZERO + Duration::from_millis(ms)
}

/// Returns the record of a request with ten tokens. Requests are due 50 ms apart.
fn record(index: usize) -> RequestRecord {
    let sample = Sample::new("prompt", 100, 10);
    let due = 1000 + 50 * index as u64;
    let mut recorder = Recorder::new(index, Phase::Measure, &sample, at(due));
    recorder.granted(at(due));
    recorder.record_sent(at(due));
    recorder.headers(at(due + 5), 200);
    for token in 0..10 {
        recorder.output(at(due + 20 + 8 * token + index as u64 % 3), Delta::content(" word"));
    }
    let mut record = recorder.finish(Ok(Finish::new(Some("stop".to_owned()))), at(due + 110));
    record.usage = Some(Usage::new(Some(100), Some(10)));
    record
}

fn header(requests: usize) -> Header {
    let mut facts = RunFacts::default();
    facts.backend = "openai".into();
    facts.target = "http://127.0.0.1:8000".into();
    facts.model = "some/model-7B".into();
    facts.requests = requests;
    Header::new(1_700_000_000_000_000_000, facts, serde_json::json!({}))
}

fn append(log: &mut RunLogWriter, indices: std::ops::Range<usize>) {
    indices.for_each(|index| log.append(&record(index)).unwrap());
}

fn status_is(text: &str) -> String {
    format!("document.getElementById('live').textContent === {text:?}")
}

#[test]
fn a_page_follows_its_run_to_the_end_and_keeps_what_the_reader_chose() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.runlog.jsonl");
    let page = LivePage::serve(0, Pages::every(Duration::from_millis(100))).unwrap();
    let mut browser = Browser::start();
    browser.visit(&page.url(), DESK);
    assert_eq!(browser.text("h1"), "The run is being prepared");

    let mut log = RunLogWriter::create(&path, &header(100)).unwrap();
    append(&mut log, 0..30);
    page.pages.turn_to(PageSource::RunLog(path.clone()));
    browser.wait_until(&status_is("running, 30 of 100 requests"));
    assert_eq!(browser.text("h1"), "some/model-7B at http://127.0.0.1:8000");
    assert_eq!(browser.text(".verdicts li"), "running\n30 of 100 requests\n");
    let text = browser.text("body");
    assert!(!text.contains("killed") && !text.contains("INCOMPLETE"), "{text}");

    // The reader zooms, switches the theme, chooses a tab, hides a line, and scrolls.
    browser.drag("#panel-ttft .stage", 0.4, 0.6);
    browser.click("#theme");
    browser.click("#tab-1");
    browser.click("#panel-e2el .keys button");
    browser.click("#panel-tokens .side button:last-child");
    browser.evaluate("document.getElementById('latencies').scrollIntoView()");
    let view = "document.querySelector('#time-tools output').textContent";
    let place = "Math.round(document.getElementById('latencies').getBoundingClientRect().top)";
    let chosen = "[document.documentElement.dataset.theme, document.querySelector('[role=tab][aria-selected=true]').id, \
                  document.querySelector('#panel-e2el .keys button').getAttribute('aria-pressed'), \
                  document.querySelectorAll('#panel-tokens tbody tr').length, document.querySelectorAll('main .plot .stage > svg').length]";
    let kept = [view, place, chosen].map(|expression| browser.evaluate(expression));
    assert!(kept[0].as_str().unwrap().contains(" to "), "{kept:?}");
    append(&mut log, 30..60);
    browser.wait_until(&status_is("running, 60 of 100 requests"));
    assert_eq!([view, place, chosen].map(|expression| browser.evaluate(expression)), kept);

    browser.click("#pause");
    let pressed = "document.getElementById('pause').getAttribute('aria-pressed')";
    assert_eq!(browser.evaluate(pressed), "true");
    append(&mut log, 60..80);
    browser.evaluate("new Promise(done => setTimeout(done, 1000))");
    assert!(browser.text(".verdicts").contains("60 of 100 requests"), "it is paused");
    browser.press("#pause", " ");
    assert_eq!(browser.evaluate(pressed), "false", "the button works by keys");
    browser.wait_until(&status_is("running, 80 of 100 requests"));

    append(&mut log, 80..100);
    let mut footer = Footer::default();
    footer.ended = at(7000);
    log.close(&footer).unwrap();
    let log = RunLog::read(&path).unwrap();
    page.finish(&Scores::of(&log, &ScoringSpec::default()), Some(&path));
    browser.wait_until(&status_is("finished"));
    assert!(browser.text(".when").contains("100 requests in"));
    assert!(!browser.text(".verdicts").contains("running"));
    assert_eq!(browser.evaluate("document.getElementById('pause').hidden"), true);
    assert_eq!(browser.evaluate(view), kept[0]);
    // Nothing more is asked of the server, which has ended.
    browser.evaluate("new Promise(done => setTimeout(done, 500))");
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn a_paused_page_shows_the_report_when_it_goes_on_after_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.runlog.jsonl");
    let page = LivePage::serve(0, Pages::every(Duration::from_millis(100))).unwrap();
    page.pages.turn_to(PageSource::RunLog(path.clone()));
    let mut log = RunLogWriter::create(&path, &header(3)).unwrap();
    append(&mut log, 0..2);
    let mut browser = Browser::start();
    browser.visit(&page.url(), View { width: 390, theme: Theme::Dark });
    browser.wait_until(&status_is("running, 2 of 3 requests"));
    let width = browser.evaluate("document.documentElement.scrollWidth");
    assert_eq!(width, 390, "nothing is wider than the screen");
    browser.click("#pause");
    // The command fails: the page is made of the log as it is.
    append(&mut log, 2..3);
    drop(page);
    assert!(browser.text(".verdicts").contains("2 of 3 requests"));
    browser.click("#pause");
    browser.wait_until(&status_is("finished"));
    assert!(browser.text(".when").contains("3 requests in"));
    assert_eq!(browser.faults(), [""; 0]);
}

#[test]
fn a_command_that_ends_before_its_run_says_so() {
    let page = LivePage::serve(0, Pages::every(Duration::from_millis(100))).unwrap();
    let mut browser = Browser::start();
    browser.visit(&page.url(), DESK);
    drop(page);
    browser.wait_until(&status_is("finished"));
    assert_eq!(browser.text("h1"), "The command has ended");
    assert_eq!(browser.faults(), [""; 0]);
}

/// Sends bytes and returns the answer.
fn ask(page: &LivePage, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(page.server.address()).unwrap();
    let mut answer = Vec::new();
    // A server that closes with unread bytes resets the connection, at any of these steps.
    let sent = stream.write_all(bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
    let _ = sent.and_then(|()| stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn garbage_is_refused_and_the_page_is_still_served() {
    let page = LivePage::serve(0, Pages::default()).unwrap();
    for (request, status) in [
        (&b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"[..], "403 "),
        (b"GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 "),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405 "),
        (b"\x00\xff\xfe\r\n\r\n", "400 "),
        (b"no end", "400 "),
        (b"", "400 "),
        ("x".repeat(20_000).as_bytes(), ""),
    ] {
        let answer = ask(&page, request);
        assert!(status.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert!(!answer.contains("<html"), "{answer}");
    }
    let page = ask(&page, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("connect-src &#39;self&#39;") || page.contains("connect-src 'self'"));
}

#[test]
fn a_taken_port_is_refused_with_what_to_do() {
    let first = LivePage::open(0).unwrap();
    let port = first.server.address().port();
    let refused = LivePage::open(port).unwrap_err().to_string();
    assert!(refused.starts_with(&format!("--live cannot serve a page at 127.0.0.1:{port} (")));
    assert!(refused.ends_with("give another port, or 0 for any free one"), "{refused}");
}

#[test]
fn pages_are_kept_until_the_next_may_be_made() {
    let pages = Pages::every(Duration::from_secs(60));
    let sent = |asked: PageRequest| {
        let mut sent = None;
        let answered = pages.answer(
            asked,
            || true,
            |page| {
                sent = Some(String::from_utf8_lossy(page).into_owned());
                Ok(())
            },
        );
        answered.unwrap();
        sent
    };
    let first = sent(PageRequest::After(0)).unwrap();
    assert!(first.contains("\"version\":1"), "{first}");
    assert_eq!(sent(PageRequest::After(0)).unwrap(), first, "it is not made again");
    // A browser that is gone gets nothing, and its thread does not wait.
    assert_eq!(sent(PageRequest::After(1)), None);
    assert_eq!(sent(PageRequest::Last), None);
    pages.finish(|version| version.to_string().into_bytes());
    assert_eq!(
        [PageRequest::After(0), PageRequest::After(1), PageRequest::Last].map(sent),
        [(); 3].map(|()| Some("2".to_owned()))
    );
}
