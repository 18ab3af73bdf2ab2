//! Downloads of a data set's file: interrupted, continued, damaged, or done by another process.

use std::fs::{self, File};
use std::time::Duration;

use servemark_hub::DatasetSource;
use servemark_testkit::{COMMIT, HubFile, StandInHub};

use crate::{User, contents, write};

const BODY: &str = "[{\"conversations\": []}, {\"conversations\": []}]";
const CACHED: &str = "datasets--org--talk";

fn source() -> DatasetSource {
    DatasetSource::hub("org/talk", "some/talk.json")
}

fn hub(file: HubFile) -> StandInHub {
    StandInHub::start().with("datasets/org/talk/some/talk.json", file)
}

#[tokio::test]
async fn a_file_is_downloaded_into_the_shared_cache() {
    let hub = hub(HubFile::big(BODY));
    let mut user = User::of(&hub);
    let found = user.dataset(&source()).await.unwrap();
    let expected = user.cached(CACHED).join("snapshots").join(COMMIT).join("some/talk.json");
    assert_eq!((contents(&found.path).as_str(), &found.path), (BODY, &expected));
    assert_eq!(contents(&user.cached(CACHED).join("refs/main")), COMMIT);
    hub.take_requests();
    user.set("TRANSFORMERS_OFFLINE", "1");
    assert_eq!(user.dataset(&source()).await.unwrap().path, expected);
    assert_eq!(hub.take_requests(), []);
}

#[tokio::test]
async fn a_download_that_is_cut_continues_where_it_was() {
    let hub = hub(HubFile::big(BODY).cut_at(10));
    let user = User::of(&hub);
    assert_eq!(contents(&user.dataset(&source()).await.unwrap().path), BODY);
    let ranges: Vec<_> = hub
        .take_requests()
        .into_iter()
        .filter(|request| request.at_store)
        .map(|request| request.range)
        .collect();
    assert_eq!(ranges, [None, Some("bytes=10-".to_owned())]);
}

#[tokio::test]
async fn a_download_of_an_earlier_run_is_continued() {
    let file = HubFile::big(BODY);
    let hub = hub(file.clone());
    let user = User::of(&hub);
    let blobs = user.cached(CACHED).join("blobs");
    write(&blobs.join(format!("{}.incomplete", file.tag())), &BODY[..7]);
    assert_eq!(contents(&user.dataset(&source()).await.unwrap().path), BODY);
    let ranges = hub.take_requests().into_iter().filter_map(|received| received.range);
    assert_eq!(ranges.collect::<Vec<_>>(), ["bytes=7-"]);
    assert_eq!(fs::read_dir(&blobs).unwrap().count(), 1);
}

#[tokio::test]
async fn a_beginning_that_is_longer_than_the_file_is_thrown_away() {
    let file = HubFile::big(BODY);
    let user = User::of(&hub(file.clone()));
    let partial = user.cached(CACHED).join("blobs").join(format!("{}.incomplete", file.tag()));
    write(&partial, &BODY.repeat(2));
    assert_eq!(contents(&user.dataset(&source()).await.unwrap().path), BODY);
}

#[tokio::test]
async fn a_damaged_download_is_thrown_away() {
    for file in [HubFile::big(BODY), HubFile::small(BODY)] {
        let wrong = file.tag().replace(|digit: char| digit != 'e', "e");
        let user = User::of(&hub(file.clone().tagged(&wrong)));
        let error = user.dataset(&source()).await.unwrap_err().to_string();
        assert!(error.contains(&format!("found {}, expected {wrong}", file.tag())), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert_eq!(fs::read_dir(user.cached(CACHED).join("blobs")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_tag_that_is_no_checksum_is_a_name() {
    let user = User::of(&hub(HubFile::small(BODY).tagged("some-tag")));
    assert_eq!(contents(&user.dataset(&source()).await.unwrap().path), BODY);
    assert_eq!(contents(&user.cached(CACHED).join("blobs/some-tag")), BODY);
}

#[tokio::test]
async fn two_processes_do_not_download_the_same() {
    let file = HubFile::big(BODY);
    let hub = hub(file.clone());
    let user = User::of(&hub);
    let lock = user.cached(".locks").join(CACHED).join(format!("{}.lock", file.tag()));
    write(&lock, "");
    let held = File::open(&lock).unwrap();
    held.lock().unwrap();
    let source = source();
    let mut waiting = Box::pin(user.dataset(&source));
    let waited = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
    assert!(waited.is_err(), "it waits for the lock");
    // The other process has finished, and the file is there.
    write(&user.cached(CACHED).join("blobs").join(file.tag()), BODY);
    held.unlock().unwrap();
    assert_eq!(contents(&waiting.await.unwrap().path), BODY);
    assert!(hub.take_requests().iter().all(|received| !received.at_store));
}

#[tokio::test]
async fn a_file_of_no_hub_is_kept_in_a_folder_of_its_own() {
    let hub = hub(HubFile::big(BODY));
    let mut user = User::of(&hub);
    user.set("HF_TOKEN", "hf_hunter2");
    let source = DatasetSource::web(hub.store_url("datasets/org/talk/some/talk.json"));
    let found = user.dataset(&source).await.unwrap();
    assert_eq!(
        (contents(&found.path).as_str(), found.path),
        (BODY, user.path(".cache/servemark/talk.json"))
    );
    let received = hub.take_requests();
    assert!(received.len() == 1 && received[0].authorization.is_none(), "{received:?}");
    user.dataset(&source).await.unwrap();
    assert_eq!(hub.take_requests(), []);
}

fn table(subset: Option<&str>, split: &str) -> DatasetSource {
    let (subset, split) = (subset.map(str::to_owned), split.to_owned());
    DatasetSource::Table { repository: "org/talk".to_owned(), subset, split }
}

fn tables(files: &[&str]) -> StandInHub {
    let start = StandInHub::start();
    let with = |hub: StandInHub, file: &&str| {
        hub.with(&format!("datasets/org/talk/{file}"), HubFile::big(*file))
    };
    files.iter().fold(start, with)
}

#[tokio::test]
async fn the_tables_of_a_split_are_downloaded_and_no_others() {
    let names = ["main/train/0000.parquet", "main/train/0001.parquet", "main/test/0000.parquet"];
    let hub = tables(&[&names[..], &["README.md"]].concat());
    let mut user = User::of(&hub);
    let folder = user.dataset(&table(None, "train")).await.unwrap().path;
    assert!(folder.ends_with("main"), "{}", folder.display());
    assert_eq!(contents(&folder.join("train/0001.parquet")), names[1]);
    assert!(!folder.join("test").exists());
    hub.take_requests();
    user.set("HF_HUB_OFFLINE", "1");
    assert_eq!(user.dataset(&table(Some("main"), "train")).await.unwrap().path, folder);
    assert!(user.dataset(&table(None, "test")).await.is_err(), "it was never downloaded");
    assert_eq!(hub.take_requests(), []);
}

#[tokio::test]
async fn a_part_that_is_not_there_is_named_with_those_that_are() {
    let hub = tables(&["a/partial-train/0000.parquet", "b/train/0000.parquet"]);
    let user = User::of(&hub);
    for (subset, split, expected) in [
        (
            None,
            "train",
            "no default subset (choose one with `workload.dataset.subset`); it has a, b",
        ),
        (Some("c"), "train", "no subset \"c\"; it has a, b"),
        (Some("a"), "test", "no split \"test\"; it has train"),
    ] {
        let error = user.dataset(&table(subset, split)).await.unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    let folder = user.dataset(&table(Some("a"), "train")).await.unwrap().path;
    assert!(folder.join("partial-train/0000.parquet").is_file());
}

#[tokio::test]
async fn several_files_are_downloaded_into_one_folder() {
    let hub = tables(&["one.json", "two.json", "three.json"]);
    let user = User::of(&hub);
    let files = vec!["one.json".to_owned(), "two.json".to_owned()];
    let source = DatasetSource::Files { repository: "org/talk".to_owned(), files };
    let folder = user.dataset(&source).await.unwrap().path;
    assert_eq!(contents(&folder.join("two.json")), "two.json");
    assert!(!folder.join("three.json").exists());
}
