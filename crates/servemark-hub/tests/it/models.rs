//! A model's tokenizer, from the hub or from the cache.

use std::fs;

use servemark_hub::ModelPart;
use servemark_testkit::{COMMIT, HubFile, StandInHub};

use crate::{RecordedProgress, User, contents, write};

const MODEL: &str = "org/tiny-7B";

fn hub() -> StandInHub {
    StandInHub::start()
        .with("models/org/tiny-7B/tokenizer.json", HubFile::big("{\"model\": 1}"))
        .with("models/org/tiny-7B/tokenizer_config.json", HubFile::small("{}"))
        .with("models/org/tiny-7B/model.safetensors", HubFile::big("weights"))
        .with("models/org/tiny-7B/tokenizer.model", HubFile::big("another vocabulary"))
}

#[tokio::test]
async fn only_the_tokenizer_is_downloaded_and_only_once() {
    let (hub, progress) = (hub(), RecordedProgress::default());
    let user = User::of(&hub);
    let found = user.tokenizer_before(MODEL, &progress).await.unwrap();
    assert!(found.stale.is_none());
    assert_eq!(contents(&found.path.join("tokenizer.json")), "{\"model\": 1}");
    assert_eq!(contents(&found.path.join("tokenizer_config.json")), "{}");
    assert_eq!(fs::read_dir(&found.path).unwrap().count(), 2);
    let expected = [
        ["downloading tokenizer.json: 12", "+0", "+12", "end"],
        ["downloading tokenizer_config.json: 2", "+0", "+2", "end"],
    ];
    assert_eq!(*progress.0.lock().unwrap(), expected.concat());
    hub.take_requests();
    user.tokenizer(MODEL).await.unwrap();
    let again = hub.take_requests();
    assert!(again.iter().all(|request| !request.at_store), "{again:?}");
    let bodies = again.iter().filter(|request| request.method == "GET").count();
    assert_eq!(bodies, 1, "the list of files is asked for, and no file: {again:?}");
}

#[tokio::test]
async fn the_cache_is_laid_out_as_by_the_python_library() {
    let user = User::of(&hub());
    let found = user.tokenizer(MODEL).await.unwrap();
    let snapshot = user.cached("models--org--tiny-7B/snapshots").join(COMMIT);
    assert_eq!(found.path, snapshot);
    assert_eq!(contents(&user.cached("models--org--tiny-7B/refs/main")), COMMIT);
    let file = HubFile::big("{\"model\": 1}");
    let blob = user.cached("models--org--tiny-7B/blobs").join(file.tag());
    assert_eq!(contents(&blob), "{\"model\": 1}");
    let link = fs::read_link(snapshot.join("tokenizer.json")).unwrap();
    assert_eq!(link.to_str().unwrap(), format!("../../blobs/{}", file.tag()));
    assert!(
        !user
            .cached("models--org--tiny-7B/blobs")
            .join(format!("{}.incomplete", file.tag()))
            .exists()
    );
}

#[tokio::test]
async fn what_another_tool_downloaded_is_found_without_the_network() {
    let hub = hub();
    let mut user = User::of(&hub);
    write(&user.cached("models--org--tiny-7B/refs/main"), "0123abcd");
    write(&user.cached("models--org--tiny-7B/snapshots/0123abcd/tokenizer.json"), "theirs");
    user.set("HF_HUB_OFFLINE", "1");
    let found = user.tokenizer(MODEL).await.unwrap();
    assert_eq!(contents(&found.path.join("tokenizer.json")), "theirs");
    assert_eq!(hub.take_requests(), []);
}

#[tokio::test]
async fn an_older_copy_does_where_the_hub_is_not_there() {
    let user = User::with("HF_ENDPOINT", "http://127.0.0.1:9");
    write(&user.cached("models--org--tiny-7B/refs/main"), "0123abcd");
    write(&user.cached("models--org--tiny-7B/snapshots/0123abcd/qwen.tiktoken"), "theirs");
    let found = user.tokenizer(MODEL).await.unwrap();
    assert_eq!(found.path, user.cached("models--org--tiny-7B/snapshots/0123abcd"));
    assert!(found.stale.unwrap().to_string().contains("http://127.0.0.1:9"));
}

#[tokio::test]
async fn a_new_commit_is_noticed() {
    let user = User::of(&hub());
    write(&user.cached("models--org--tiny-7B/refs/main"), "0123abcd");
    write(&user.cached("models--org--tiny-7B/snapshots/0123abcd/tokenizer.json"), "old");
    let found = user.tokenizer(MODEL).await.unwrap();
    assert_eq!(contents(&found.path.join("tokenizer.json")), "{\"model\": 1}");
    assert_eq!(contents(&user.cached("models--org--tiny-7B/refs/main")), COMMIT);
}

#[tokio::test]
async fn the_token_is_sent_to_the_hub_alone() {
    let hub = hub().gated("Bearer hf_hunter2");
    let mut user = User::of(&hub);
    user.set("HF_TOKEN", "hf_hunter2");
    user.tokenizer(MODEL).await.unwrap();
    for received in hub.take_requests() {
        let expected = (!received.at_store).then(|| "Bearer hf_hunter2".to_owned());
        assert_eq!(received.authorization, expected, "{received:?}");
    }
}

#[tokio::test]
async fn the_token_may_be_in_its_file() {
    let hub = hub().gated("Bearer hf_filed");
    let user = User::of(&hub);
    write(&user.path(".cache/huggingface/token"), "hf_filed\n");
    user.tokenizer(MODEL).await.unwrap();
}

#[tokio::test]
async fn weights_are_downloaded_when_they_are_wanted() {
    let hub = hub().with("models/org/tiny-7B/config.json", HubFile::small("{\"shape\": 1}"));
    let user = User::of(&hub);
    let shape = user.model(MODEL, ModelPart::Shape).await.unwrap().path;
    assert_eq!(contents(&shape.join("config.json")), "{\"shape\": 1}");
    assert_eq!(fs::read_dir(&shape).unwrap().count(), 1);
    let whole = user.model(MODEL, ModelPart::Weights).await.unwrap().path;
    assert_eq!(contents(&whole.join("model.safetensors")), "weights");
    assert_eq!(fs::read_dir(&whole).unwrap().count(), 2);
}

/// A copy that lacks a file named in its index is not used.
#[tokio::test]
async fn a_copy_with_half_of_the_weights_is_none() {
    let mut user = User::of(&hub());
    user.set("HF_HUB_OFFLINE", "1");
    write(&user.cached("models--org--tiny-7B/refs/main"), "0123abcd");
    let write = |file: &str, text: &str| {
        write(&user.cached("models--org--tiny-7B/snapshots/0123abcd").join(file), text);
    };
    write("config.json", "{}");
    let index = r#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    write("model.safetensors.index.json", index);
    write("model-1.safetensors", "a");
    let error = user.model(MODEL, ModelPart::Weights).await.unwrap_err().to_string();
    assert!(error.contains("(`server.engine.engine.candle.model`)"), "{error}");
    write("model-2.safetensors", "b");
    assert!(user.model(MODEL, ModelPart::Weights).await.is_ok());
}
