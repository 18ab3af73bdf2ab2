//! Models and data sets on ModelScope.

use servemark_hub::{DatasetSource, HubError};
use servemark_testkit::{HubFile, StandInHub};

use crate::{User, contents, write};

const MODEL: &str = "org/tiny-0.5B";

fn hub() -> StandInHub {
    StandInHub::start()
        .with("models/org/tiny-0.5B/tokenizer.json", HubFile::small("{}"))
        .with("models/org/tiny-0.5B/model.safetensors", HubFile::small("weights"))
}

fn user(hub: &StandInHub) -> User {
    let mut user = User::with("MODELSCOPE_ENDPOINT", &hub.url());
    user.set("SGLANG_USE_MODELSCOPE", "TRUE");
    user
}

#[tokio::test]
async fn a_tokenizer_comes_from_its_default_branch() {
    let hub = hub();
    let user = user(&hub);
    let found = user.tokenizer(MODEL).await.unwrap();
    let expected = user.path(".cache/modelscope/models/org--tiny-0.5B/snapshots/master");
    assert_eq!(found.path, expected);
    assert_eq!(contents(&found.path.join("tokenizer.json")), "{}");
    assert!(!found.path.join("model.safetensors").exists());
    let repo = "/api/v1/models/org/tiny-0.5B/repo";
    let routes: Vec<_> = hub.take_requests().into_iter().map(|seen| seen.route).collect();
    let expected = [
        format!("{repo}/files?Revision=master&Recursive=True"),
        format!("{repo}?Revision=master&FilePath=tokenizer.json"),
    ];
    assert_eq!(routes, expected);
    user.tokenizer(MODEL).await.unwrap();
    assert_eq!(hub.take_requests().len(), 1, "only the list is asked for again");
}

#[tokio::test]
async fn a_file_of_a_data_set_comes_from_there_wherever_the_models_are() {
    let file = "datasets/AI-ModelScope/HC3-Chinese/open_qa.jsonl";
    let hub = StandInHub::start().with(file, HubFile::small("rows"));
    let mut user = User::with("MODELSCOPE_ENDPOINT", &hub.url());
    let source = DatasetSource::of("modelscope/openqa").unwrap();
    let found = user.dataset(&source).await.unwrap();
    let folder = "datasets/AI-ModelScope--HC3-Chinese/snapshots/master";
    let expected = user.path(".cache/modelscope").join(folder).join("open_qa.jsonl");
    assert_eq!((&found.path, contents(&found.path).as_str()), (&expected, "rows"));
    let repo = "/api/v1/datasets/AI-ModelScope/HC3-Chinese/repo";
    let routes: Vec<_> = hub.take_requests().into_iter().map(|seen| seen.route).collect();
    let listing =
        format!("{repo}/tree?Revision=master&Root=/&Recursive=True&PageNumber=1&PageSize=200");
    let download = format!("{repo}?Revision=master&FilePath=open_qa.jsonl");
    assert_eq!(routes, [listing, download]);
    user.set("HF_HUB_OFFLINE", "1");
    assert_eq!(user.dataset(&source).await.unwrap().path, expected);
    let missing = DatasetSource::of("modelscope/longalpaca").unwrap();
    let error = user.dataset(&missing).await.unwrap_err().to_string();
    assert!(error.contains("AI-ModelScope/LongAlpaca-12k"), "{error}");
}

#[tokio::test]
async fn the_token_is_the_cookie_of_a_session() {
    let hub = hub().gated("m_session_id=ms-hunter2");
    let mut user = user(&hub);
    assert!(matches!(user.tokenizer(MODEL).await, Err(HubError::Denied { .. })));
    user.set("MODELSCOPE_API_TOKEN", "ms-hunter2");
    user.tokenizer(MODEL).await.unwrap();
}

#[tokio::test]
async fn copies_of_both_layouts_are_found_offline() {
    for layout in [
        "models/org--tiny-0.5B/snapshots/master",
        "models/org/tiny-0___5B",
        "hub/models/org/tiny-0___5B",
    ] {
        let hub = hub();
        let mut user = user(&hub);
        user.set("HF_HUB_OFFLINE", "1");
        let error = user.tokenizer(MODEL).await.unwrap_err().to_string();
        assert!(error.contains(".cache/modelscope") && error.contains("HF_HUB_OFFLINE"), "{error}");
        let folder = user.path(".cache/modelscope").join(layout);
        write(&folder.join("tokenizer.json"), "theirs");
        assert_eq!(user.tokenizer(MODEL).await.unwrap().path, folder);
        assert_eq!(hub.take_requests(), []);
    }
}
