//! Runs the `servemark` program as a user does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod ab;
mod aisbench;
mod anatomy;
mod cluster;
mod command_lines;
mod compare;
mod coordinator_access;
mod damaged;
mod document;
mod engines;
mod evalscope;
mod explore;
mod export;
mod gates;
mod hostile_files;
mod hostile_text;
#[cfg(unix)]
mod mock_server;
mod one_batch;
mod pages;
mod rerun;
mod run_file;
mod schema;
mod shapes;
mod sweeps;
mod until;
mod vllm_runs;
mod widths;

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

fn servemark(folder: &TempDir, args: &[&str]) -> Output {
    command(folder, args).output().expect("the program starts")
}

fn command(folder: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
    for variable in ["API_KEY", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "OPENAI_API_KEY"] {
        command.env_remove(variable);
    }
    command.args(args).current_dir(folder.path());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const RUN: [&str; 13] = [
    "python3",
    "-m",
    "sglang.bench_serving",
    "--simulate",
    "ttft=2ms,itl=1ms",
    "--num-prompt",
    "10",
    "--random-input",
    "8",
    "--random-output",
    "4",
    "--run-log",
    "run.jsonl",
];

#[test]
fn a_run_is_scored_again_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let slos = ["--goodput", "ttft:1", "tpot:50", "--layout", "sglang"];
    // `--print-requests` also shows the text of each answer, so texts are read again.
    let requests = ["--print-requests", "--backend", "sglang-oai-chat"];
    for more in [&[][..], &slos, &requests] {
        let run = servemark(&folder, &[&RUN[..], &["--overwrite"], more].concat());
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let score = servemark(&folder, &["score", "run.jsonl"]);
        let news = text(&score.stderr);
        assert_eq!(score.status.code(), Some(0), "{news}");
        assert!(score.stdout.len() > 1_000);
        // Before its table, a run also prints the lines that SGLang's client prints.
        let (run, score) = (text(&run.stdout), text(&score.stdout));
        assert!(run.ends_with(&score), "{run}\n{score}");
        assert!(!news.contains("another audit"), "{news}");
    }
}

#[test]
fn a_torn_log_is_scored_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let path = folder.path().join("run.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let torn: String = whole.lines().take(6).flat_map(|line| [line, "\n"]).collect();
    fs::write(&path, torn + "{\"request\": {\"ind").unwrap();
    let score = servemark(&folder, &["score", "run.jsonl"]);
    assert_eq!(score.status.code(), Some(0), "{}", text(&score.stderr));
    assert!(text(&score.stdout).to_lowercase().contains("incomplete"));
}

#[test]
fn a_score_fails_on_the_verdict_that_the_run_failed_on() {
    let folder = tempfile::tempdir().unwrap();
    let fruitless = "--simulate-fault status:500/1 --warmup-requests 0 --tolerate-failures 1 \
                     --fail-on-verdict suspect";
    let fruitless: Vec<&str> = fruitless.split_whitespace().collect();
    let run = servemark(&folder, &[&RUN[..], &fruitless].concat());
    assert_eq!(run.status.code(), Some(3), "{}", text(&run.stderr));
    let score = servemark(&folder, &["score", "run.jsonl"]);
    let news = text(&score.stderr);
    assert_eq!(score.status.code(), Some(3), "{news}");
    assert!(news.contains("error: --fail-on-verdict suspect: the client audit is"), "{news}");
    assert!(!news.contains("another audit"), "{news}");
}

#[test]
fn a_run_and_its_score_fail_on_the_verdicts_that_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let fruitless = "--simulate-fault status:500/1 --warmup-requests 0 --tolerate-failures 1 \
                     --fail-on saturated,suspect";
    let fruitless: Vec<&str> = fruitless.split_whitespace().collect();
    let run = servemark(&folder, &[&RUN[..], &fruitless].concat());
    assert_eq!(run.status.code(), Some(3), "{}", text(&run.stderr));
    let score = servemark(&folder, &["score", "run.jsonl"]);
    assert_eq!(score.status.code(), Some(3), "{}", text(&score.stderr));
    let news = text(&score.stderr);
    assert!(news.contains("error: --fail-on suspect: suspect: load"), "{news}");
    let spared = servemark(&folder, &["score", "run.jsonl", "--fail-on", "short-outputs"]);
    assert_eq!(spared.status.code(), Some(0), "{}", text(&spared.stderr));
    let unknown = servemark(&folder, &["score", "run.jsonl", "--fail-on", "slow"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown.stderr));
    assert!(text(&unknown.stderr).contains("there are saturated, warming-up, short-outputs"));
}

#[test]
fn a_verdict_on_the_run_is_told_and_failed_on_whatever_the_table() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let path = folder.path().join("run.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    // More tokens were requested than received. The edited line has no checksum any more.
    let wanted = |line: &str| match line.rsplit_once(",\"crc32\":") {
        Some((line, _)) if line.starts_with("{\"request\"") => {
            line.replace("\"output_tokens\":", "\"output_tokens\":9") + "}\n"
        }
        _ => line.to_owned() + "\n",
    };
    fs::write(&path, log.lines().map(wanted).collect::<String>()).unwrap();
    let args = ["score", "run.jsonl", "--as", "sglang", "--fail-on", "short-outputs"];
    let score = servemark(&folder, &args);
    let news = text(&score.stderr);
    assert_eq!(score.status.code(), Some(3), "{news}");
    assert!(news.contains("Run verdict: short-outputs: "), "{news}");
    assert!(news.contains("error: --fail-on short-outputs: "), "{news}");
    assert!(!text(&score.stdout).contains("short-outputs"), "the peer's table is the peer's");
}

#[test]
fn a_score_says_when_the_run_log_has_another_audit() {
    let folder = tempfile::tempdir().unwrap();
    servemark(&folder, &RUN);
    let path = folder.path().join("run.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    // The edited line has no checksum any more.
    let (log, _) = log.rsplit_once(",\"crc32\":").unwrap();
    fs::write(&path, log.replace("\"judged\":", "\"weighed\":") + "}\n").unwrap();
    let score = servemark(&folder, &["score", "run.jsonl"]);
    let news = text(&score.stderr);
    assert_eq!(score.status.code(), Some(0), "{news}");
    assert!(news.contains("The run log has another audit, by servemark"), "{news}");
}

#[track_caller]
fn refuses(args: &[&str], words: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = servemark(&folder, args);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    for word in words {
        assert!(err.contains(word), "{word:?} is not in {err}");
    }
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    refuses(&["vllm", "bench", "startup"], &["servemark has no vllm bench startup"]);
    refuses(&["evalscope", "eval"], &["servemark has no evalscope eval"]);
    refuses(&["score", "absent.jsonl"], &["absent.jsonl"]);
    refuses(&["vllm"], &["--help"]);
}

#[test]
fn a_run_says_how_many_requests_its_figures_take() {
    let folder = tempfile::tempdir().unwrap();
    let run = servemark(&folder, &[&RUN[..], &["--num-prompt", "40"]].concat());
    let news = text(&run.stderr);
    let line = news.lines().find(|line| line.starts_with("for +-2 % of the mean TTFT: "));
    // With a busy machine, the run may be too short to be judged.
    let ends = [" by 40)", "(this run of 40 is too short: "];
    assert!(line.is_some_and(|line| ends.iter().any(|end| line.contains(end))), "{news}");
    let score = servemark(&folder, &["score", "run.jsonl"]);
    assert!(text(&score.stderr).contains(line.unwrap()), "{}", text(&score.stderr));
    let json = servemark(&folder, &["score", "run.jsonl", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let planning = document["planning"].as_array().unwrap();
    let mean = planning.iter().find(|plan| plan["figure"] == "ttft_ms.mean").unwrap();
    assert!(mean["requests"].as_u64().unwrap() > 0, "{mean}");
    assert_eq!(mean["asked_percent"], 2.0);
    // The peer's table alone adds no native line.
    let peer = servemark(&folder, &["score", "run.jsonl", "--layout", "sglang"]);
    assert!(!text(&peer.stderr).contains("for +-2 %"), "{}", text(&peer.stderr));
}

#[test]
fn help_and_versions_are_given_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for (line, words) in [
        (&["vllm", "--help"][..], "usage: servemark vllm bench COMMAND"),
        (&["vllm", "-V"], "servemark 0."),
        (&["vllm", "bench", "-V"], "servemark 0."),
        (&["bench-serving", "-V"], "servemark 0."),
        (&["evalscope", "-V"], "servemark 0."),
        (&["help", "compare"], "Compare results before and after a change"),
        (&["help", "vllm", "bench", "serve"], "Examples:"),
        (&["bench-serving", "--help"], "Examples:"),
        (&["evalscope", "perf", "--help"], "Examples:"),
        (&["help"], "usage: servemark [URL]"),
    ] {
        let reported = servemark(&folder, line);
        assert_eq!(reported.status.code(), Some(0), "{line:?}: {}", text(&reported.stderr));
        assert!(text(&reported.stdout).contains(words), "{line:?}: {}", text(&reported.stdout));
    }
}

#[test]
fn an_undecided_share_says_how_many_requests_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let run = servemark(&folder, &[&RUN[..], &["--slo", "success>=99%"]].concat());
    let news = text(&run.stderr);
    assert_eq!(run.status.code(), Some(6), "{news}");
    assert!(news.contains("it takes at least 299 requests"), "{news}");
}

#[test]
fn a_file_of_lines_in_place_of_an_array_is_told_with_the_data_set_that_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("lines.jsonl"), "{\"a\": 1}\n{\"a\": 2}\n").unwrap();
    let line = ["bench-serving", "--simulate", "--dataset-name", "sharegpt", "--dataset-path"];
    let run = servemark(&folder, &[&line[..], &["lines.jsonl"]].concat());
    let news = text(&run.stderr);
    assert!(news.contains("the data set custom"), "{news}");
}

#[test]
fn a_web_page_in_place_of_an_answer_is_told() {
    use std::io::{Read as _, Write as _};

    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let page = "<!DOCTYPE html><html><body>Welcome</body></html>";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let answer = format!("{head}Content-Length: {}\r\n\r\n{page}", page.len());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let run = servemark(&folder, &[&address]);
    let news = text(&run.stderr);
    assert_eq!(run.status.code(), Some(4), "{news}");
    assert!(news.contains("but with a web page"), "{news}");
    let given = ["--model", "m", "--backend", "vllm-chat", "--num-prompts", "1"];
    let load = ["--dataset-name", "random-ids", "--random-input", "4", "--random-output", "4"];
    let tokenizer =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/spm-unigram-botchan-1000");
    let url = format!("http://{address}");
    let target = ["bench-serving", "--base-url", &url, "--tokenizer", tokenizer];
    let run = servemark(&folder, &[&target[..], &given, &load].concat());
    let news = text(&run.stderr);
    assert!(news.contains("with a web page"), "{news}");
}
