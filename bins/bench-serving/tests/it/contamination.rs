//! Verdicts on the server's prefix cache by dialects whose client asks for no counts, and warnings
//! beside a JSON document.

use std::num::NonZeroUsize;
use std::process::Output;
use std::time::Duration;

use servemark_mock::{ImitatedEngine, MockServer, MockSpec};

use crate::program::{Folder, against, text};

fn server(engine: ImitatedEngine, hides_cached: bool) -> MockServer {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_millis(1));
    mock.engine = Some(engine);
    mock.cache_blocks = NonZeroUsize::new(100_000);
    mock.hides_cached = hides_cached;
    MockServer::start(mock).expect("a server")
}

const JUDGED: [&str; 2] = ["--fail-on", "contaminated"];

fn run(folder: &Folder, server: &MockServer, backend: &str, more: &[&str]) -> Output {
    let load = ["--num-prompts", "20", "--random-input-len", "120", "--random-output-len", "4"];
    let flags = [&["--backend", backend, "--no-run-log"][..], &load, more].concat();
    folder.run(&against(&server.base_url(), &flags))
}

#[test]
fn prompts_in_the_cache_fail_a_run_whose_answers_have_no_counts() {
    for backend in ["vllm", "vllm-chat", "sglang-oai", "sglang-oai-chat"] {
        let (folder, server) = (Folder::new(), server(ImitatedEngine::Vllm, false));
        let codes = [0, 3].map(|code| (code, run(&folder, &server, backend, &JUDGED)));
        for (code, output) in &codes {
            let news = text(&output.stderr);
            assert_eq!(output.status.code(), Some(*code), "{backend}: {news}");
            let is_failed = news.contains("error: --fail-on contaminated: ");
            assert_eq!(is_failed, *code == 3, "{backend}: {news}");
        }
    }
}

#[test]
fn a_verdict_that_cannot_be_reached_is_told() {
    let output = run(&Folder::new(), &server(ImitatedEngine::Vllm, true), "vllm-chat", &JUDGED);
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{news}");
    let message = "error: --fail-on contaminated: cannot be judged: neither answers nor counters \
                   of the server say how many prompt tokens came from a prefix cache; \
                   --metrics-url or --cache-audit shows it";
    assert!(news.contains(message), "{news}");
}

#[test]
fn a_document_has_its_warnings_beside_it() {
    // SGLang has no times in a stream of OpenAI's routes.
    let server = server(ImitatedEngine::Sglang, false);
    for form in [&["--server-times", "--json"][..], &["--server-times"]] {
        let output = run(&Folder::new(), &server, "sglang-oai-chat", form);
        let news = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{news}");
        let warned = news.matches("warning: no answer has the server's own times").count();
        assert_eq!(warned, 1, "{form:?}: {news}");
    }
}
