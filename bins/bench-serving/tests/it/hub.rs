//! Tokenizers and data sets by name, from a stand-in for the hub.

use std::fs;
use std::process::Output;

use servemark_testkit::{HubFile, StandInHub};

use crate::program::{Folder, SMALL, text};

fn fixture(path: &str) -> Vec<u8> {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
    fs::read(format!("{fixtures}/{path}")).expect("a fixture")
}

fn hub() -> StandInHub {
    let talks = fixture("prompts/sharegpt_format_dummy_500.json");
    let talks_path = "datasets/anon8231489123/ShareGPT_Vicuna_unfiltered/\
                      ShareGPT_V3_unfiltered_cleaned_split.json";
    StandInHub::start()
        .with(
            "models/org/tiny/tokenizer.json",
            HubFile::big(fixture("tokenizers/gpt2/tokenizer.json")),
        )
        .with(talks_path, HubFile::big(talks))
        .gated("Bearer hf_hunter2")
}

fn run(folder: &Folder, variables: &[(&str, &str)], dataset: &str) -> Output {
    let more =
        ["--tokenizer", "org/tiny", "--dataset-name", dataset, "--run-log", "log", "--overwrite"];
    folder.run_with(variables, &[&SMALL[..], &more].concat())
}

#[test]
fn a_tokenizer_and_a_data_set_are_downloaded_once() {
    let (folder, hub) = (Folder::new(), hub());
    let url = hub.url();
    let variables = [("HF_ENDPOINT", url.as_str()), ("HF_TOKEN", "hf_hunter2")];
    let output = run(&folder, &variables, "sharegpt");
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(table.contains("Successful requests:                     12"), "{table}");
    assert!(news.contains("Looking up the tokenizer of org/tiny on the hub."), "{news}");
    assert!(news.contains("Looking up the data set sharegpt on the hub."), "{news}");
    let log = folder.read("log");
    assert!(log.contains("\"tokenizer\":\"org/tiny\""), "the log keeps the name");
    for written in [&table, &news, &log] {
        assert!(!written.contains("hunter2"), "a token or a signature was written");
    }
    hub.take_requests();
    let offline = [&variables[..], &[("HF_HUB_OFFLINE", "1")]].concat();
    for dataset in ["sharegpt", "random"] {
        let output = run(&folder, &offline, dataset);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(hub.take_requests(), []);
}

#[test]
fn modelscope_has_the_tokenizer_where_it_is_asked_to() {
    let (folder, hub) = (Folder::new(), hub().gated("m_session_id=ms-hunter2"));
    let url = hub.url();
    let variables = [
        ("SGLANG_USE_MODELSCOPE", "true"),
        ("MODELSCOPE_ENDPOINT", url.as_str()),
        ("MODELSCOPE_API_TOKEN", "ms-hunter2"),
    ];
    let output = run(&folder, &variables, "random-ids");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_had_says_what_to_do() {
    let (folder, hub) = (Folder::new(), hub());
    let url = hub.url();
    let fails = |variables: &[(&str, &str)], words: &[&str]| {
        let variables = [&[("HF_ENDPOINT", url.as_str())], variables].concat();
        let output = run(&folder, &variables, "random-ids");
        let news = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{news}");
        for word in words {
            assert!(news.contains(word), "{word:?} is not in {news}");
        }
    };
    fails(
        &[("HF_HUB_OFFLINE", "1")],
        &["org/tiny", "HF_HUB_OFFLINE", "give a folder that holds the tokenizer"],
    );
    fails(&[], &["401", "HF_TOKEN"]);
    fails(
        &[("HF_ENDPOINT", "http://127.0.0.1:9")],
        &["127.0.0.1:9", "give a folder that holds the tokenizer"],
    );
}
