//! A malicious hub: names that lead out of the cache, and files without an end.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use servemark_hub::{DatasetSource, HubError};
use servemark_testkit::{HubFile, StandInHub};

use crate::User;

/// Returns every file below a folder.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| {
        let path = entry.path();
        if path.is_dir() { files(&path) } else { vec![path.display().to_string()] }
    });
    below.collect()
}

fn table(
    user: &User,
    subset: &str,
) -> impl Future<Output = Result<servemark_hub::FoundFile, HubError>> {
    let (repository, split) = ("org/talk".to_owned(), "train".to_owned());
    let source = DatasetSource::Table { repository, subset: Some(subset.to_owned()), split };
    async move { user.dataset(&source).await }
}

#[tokio::test]
async fn a_table_whose_path_leads_out_of_the_cache_is_refused_before_anything_is_written() {
    for (subset, name) in [
        ("..", "../train/0000.parquet"),
        ("...", ".../train/0000.parquet"),
        ("", "/train/0000.parquet"),
        ("C:", "C:/train/0000.parquet"),
        ("a", "a/train/..\\..\\0.parquet"),
        ("a\\..", "a\\../train/0.parquet"),
        ("a", "a/train/\u{1b}[2J.parquet"),
    ] {
        let hub = StandInHub::start()
            .with("datasets/org/talk/a/train/9999.parquet", HubFile::small("good"))
            .with(&format!("datasets/org/talk/{name}"), HubFile::small("evil"));
        let user = User::of(&hub);
        let error = table(&user, subset).await.unwrap_err();
        assert!(matches!(error, HubError::BadAnswer { .. }), "{name}: {error}");
        assert!(error.to_string().contains("is not a path below a folder"), "{name}: {error}");
        assert_eq!(files(&user.path("")), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn a_tokenizer_whose_path_leads_out_of_the_cache_is_refused() {
    for name in ["..\\..\\evil.tiktoken", "C:evil.tiktoken"] {
        let path = format!("models/org/tiny/{name}");
        let hub = StandInHub::start().with(&path, HubFile::small("evil"));
        let mut user = User::of(&hub);
        for modelscope in ["", "true"] {
            user.set("MODELSCOPE_ENDPOINT", &hub.url());
            user.set("SGLANG_USE_MODELSCOPE", modelscope);
            let error = user.tokenizer("org/tiny").await.unwrap_err();
            assert!(matches!(error, HubError::BadAnswer { .. }), "{name}: {error}");
            assert_eq!(files(&user.path("")), Vec::<String>::new(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_file_that_says_that_it_is_too_large_is_not_downloaded() {
    let hub = StandInHub::start()
        .with("models/org/tiny/tokenizer.json", HubFile::small("x".repeat(2_000)));
    let mut user = User::of(&hub);
    user.set("SERVEMARK_HUB_MAX_BYTES", "1999");
    let error = user.tokenizer("org/tiny").await.unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, HubError::TooLarge { most: 1999, .. }), "{said}");
    assert!(said.contains("tokenizer.json has 2000 bytes"), "{said}");
    assert!(said.contains("set SERVEMARK_HUB_MAX_BYTES to a larger number"), "{said}");
    user.set("SERVEMARK_HUB_MAX_BYTES", "2000");
    user.tokenizer("org/tiny").await.unwrap();
}

#[tokio::test]
async fn a_limit_that_is_no_number_is_said() {
    let hub = StandInHub::start().with("models/org/tiny/tokenizer.json", HubFile::small("{}"));
    let mut user = User::of(&hub);
    user.set("SERVEMARK_HUB_MAX_BYTES", "2 GB");
    let error = user.tokenizer("org/tiny").await.unwrap_err().to_string();
    assert!(error.starts_with("SERVEMARK_HUB_MAX_BYTES is \"2 GB\"; give a number"), "{error}");
}

#[tokio::test]
async fn a_file_without_an_end_is_stopped_and_removed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/endless.json", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
            while stream.write_all(&[b'x'; 8192]).is_ok() {}
        }
    });
    let mut user = User::with("HF_ENDPOINT", "http://127.0.0.1:9");
    user.set("SERVEMARK_HUB_MAX_BYTES", "1000000");
    let error = user.dataset(&DatasetSource::web(url)).await.unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, HubError::TooLarge { most: 1_000_000, .. }), "{said}");
    let left = files(&user.path(""));
    assert!(!left.iter().any(|file| file.ends_with(".incomplete")), "{left:?}");
}
