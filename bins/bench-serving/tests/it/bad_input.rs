use servemark_mock::{MockServer, MockSpec};

use crate::program::{Folder, simulated, text};

/// Asserts that the program refuses with this exit code and with all of these words on standard
/// error, prints no table to standard output and does not panic.
#[track_caller]
fn refuses(folder: &Folder, args: &[&str], code: i32, words: &[&str]) {
    let output = folder.run(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{err}");
    assert!(!out.contains("Benchmark Result"), "{out}");
    assert!(code != 2 || !out.contains("Starting warmup"), "{out}");
    assert!(!err.contains("panicked"), "{err}");
    for word in words {
        assert!(err.contains(word), "{word:?} is not in {err}");
    }
}

const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");

#[test]
fn what_is_no_flag_or_name() {
    let folder = Folder::new();
    refuses(&folder, &["--no-such-flag"], 2, &["--no-such-flag"]);
    refuses(&folder, &["--dataset-name", "sharegtp"], 2, &["sharegtp", "sharegpt"]);
    refuses(&folder, &["--backend", "gserver"], 2, &["gserver is not implemented"]);
    refuses(&folder, &["--random", "5"], 2, &["ambiguous option: --random could match"]);
}

#[test]
fn numbers_that_cannot_be() {
    let folder = Folder::new();
    refuses(&folder, &simulated(&["--num-prompts", "0"]), 2, &["--num-prompts"]);
    refuses(&folder, &simulated(&["--request-rate", "0"]), 2, &["inf"]);
    refuses(&folder, &simulated(&["--request-rate", "-3"]), 2, &["-3"]);
    refuses(&folder, &simulated(&["--random-range-ratio", "1.5"]), 2, &["1.5"]);
    refuses(&folder, &simulated(&["--num-prompts", "many"]), 2, &["invalid int value: 'many'"]);
}

#[test]
fn files_that_are_not_there_or_not_right() {
    let folder = Folder::new();
    let file = |path| {
        let more = ["--dataset-name", "custom", "--dataset-path", path, "--tokenizer", TOKENIZER];
        simulated(&more)
    };
    refuses(&folder, &file("absent.jsonl"), 2, &["absent.jsonl"]);
    let bad = folder.write("bad.jsonl", "{\"conversations\": []}\n{\"conversations\": oops}\n");
    let strict = [&file(&bad)[..], &["--bad-lines", "fail"]].concat();
    refuses(&folder, &strict, 2, &["bad.jsonl:2"]);
    let trace = |path| {
        let more = ["--dataset-name", "azure-trace", "--dataset-path", path];
        simulated(&[&more[..], &["--tokenizer", TOKENIZER, "--use-trace-timestamps"]].concat())
    };
    let bad = folder.write("bad.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nNaN,1,1\n");
    refuses(&folder, &trace(&bad), 2, &["bad.csv:2", "is not a date and time"]);
    let no_tokenizer = simulated(&["--tokenizer", "."]);
    refuses(&folder, &no_tokenizer, 2, &["tokenizer.json", "as the tokenizer"]);
}

/// There is no server, and the wait for it would take an hour.
#[test]
fn a_file_of_another_layout_is_told_before_the_server_is_waited_for() {
    let folder = Folder::new();
    let lines = folder.write("lines.jsonl", "{\"conversations\": []}\n{\"conversations\": []}\n");
    let ask = |dataset| {
        let server = ["--base-url", "http://127.0.0.1:9", "--model", "m", "--tokenizer", TOKENIZER];
        let data = ["--dataset-name", dataset, "--dataset-path", &lines];
        [&server[..], &data, &["--ready-check-timeout-sec", "3600"]].concat()
    };
    for dataset in ["sharegpt", "random"] {
        refuses(&folder, &ask(dataset), 2, &["lines.jsonl:1", "the data set custom"]);
    }
}

#[test]
fn lines_that_are_not_json_are_left_out_with_a_warning_as_sglang_leaves_them_out() {
    let folder = Folder::new();
    let talk = r#"{"conversations": [{"value": "How are you?"}, {"value": "Very well."}]}"#;
    let path = folder.write("talks.jsonl", &format!("{talk}\noops\n{talk}\n"));
    let more = ["--dataset-name", "custom", "--dataset-path", &path, "--tokenizer", TOKENIZER];
    let output = folder.run(&simulated(&[&more[..], &["--num-prompts", "20"]].concat()));
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let warning = "warning: lines left out: 1; the first is ";
    assert!(err.contains(warning) && err.contains("talks.jsonl:2: "), "{err}");
    assert!(err.contains("--bad-lines fail stops there instead"), "{err}");
    let fewer = "warning: 20 requests or conversations were asked for, and the data set custom has 2 \
                 that can be sent";
    assert!(err.contains(fewer), "{err}");
}

#[test]
fn files_that_cannot_be_written() {
    let folder = Folder::new();
    let log = simulated(&["--run-log", "/dev/full"]);
    refuses(&folder, &log, 1, &["/dev/full", "No space left"]);
    // The result is written after the tables, so the tables are printed.
    let output = folder.run(&simulated(&["--output-file", "/dev/full"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("Successful requests:"));
    assert!(text(&output.stderr).contains("cannot append the result to /dev/full"));
}

#[test]
fn servers_that_are_not_there_or_not_right() {
    let folder = Folder::new();
    let ask = |url, backend| {
        vec![
            "--base-url",
            url,
            "--backend",
            backend,
            "--model",
            "m",
            "--tokenizer",
            TOKENIZER,
            "--dataset-name",
            "random-ids",
            "--num-prompts",
            "2",
            "--ready-check-timeout-sec",
            "1",
        ]
    };
    refuses(&folder, &ask("http://127.0.0.1:9", "vllm"), 4, &["127.0.0.1:9", "running"]);
    let chat_only = MockSpec::default().with_fault("status:404/1".parse().unwrap());
    let server = MockServer::start(chat_only).unwrap();
    let url = server.base_url();
    refuses(&folder, &ask(&url, "vllm"), 5, &["404", "/v1/completions", "by a chat backend"]);
    refuses(&folder, &ask("ftp://h", "vllm"), 2, &["--base-url", "http://"]);
}

#[test]
fn more_connections_than_the_machine_has() {
    let folder = Folder::new();
    let many = simulated(&["--num-prompts", "3000000"]);
    refuses(&folder, &many, 2, &["file descriptors", "free"]);
}
