//! Error messages and their advice.

use std::error::Error;

use servemark_hub::{DatasetSource, HubError};
use servemark_testkit::{HubFile, StandInHub};

use crate::{User, write};

const MODEL: &str = "org/tiny";
const CURE: &str = "give a folder that holds the tokenizer";

fn hub() -> StandInHub {
    StandInHub::start().with("models/org/tiny/tokenizer.json", HubFile::small("{}"))
}

async fn message(user: &User, model: &str) -> String {
    user.tokenizer(model).await.unwrap_err().to_string()
}

#[tokio::test]
async fn offline_without_a_copy() {
    let hub = hub();
    for variable in ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"] {
        let mut user = User::of(&hub);
        user.set(variable, "1");
        let cache = user.cached("");
        let cache = cache.to_str().unwrap().trim_end_matches('/');
        assert_eq!(
            message(&user, MODEL).await,
            format!(
                "the model org/tiny is not in the cache {cache} and {variable} forbids requests \
                 to the hub; {CURE}, or fill that cache on a machine with network access"
            )
        );
        let source = DatasetSource::of("sharegpt").unwrap();
        let error = user.dataset(&source).await.unwrap_err().to_string();
        assert!(error.contains("ShareGPT_Vicuna_unfiltered is not in the cache"), "{error}");
        assert!(error.contains("give its file (`workload.dataset.path`)"), "{error}");
        assert!(error.contains("forbids requests to the hub;"), "{error}");
        let trace = DatasetSource::of("mooncake/toolagent").unwrap();
        let error = user.dataset(&trace).await.unwrap_err().to_string();
        assert!(error.contains("forbids requests to GitHub;"), "{error}");
    }
    assert_eq!(hub.take_requests(), []);
}

#[tokio::test]
async fn a_copy_without_a_tokenizer_is_none() {
    let mut user = User::of(&hub());
    user.set("HF_HUB_OFFLINE", "yes");
    write(&user.cached("models--org--tiny/refs/main"), "0123abcd");
    write(&user.cached("models--org--tiny/snapshots/0123abcd/config.json"), "{}");
    assert!(message(&user, MODEL).await.contains("is not in the cache"));
}

#[tokio::test]
async fn no_hub_at_all() {
    let user = User::with("HF_ENDPOINT", "http://127.0.0.1:9");
    let error = user.tokenizer(MODEL).await.unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("the model org/tiny cannot be downloaded from http://127.0.0.1:9"),
        "{message}"
    );
    assert!(message.contains(CURE), "{message}");
    assert!(error.source().unwrap().to_string().contains("cannot connect"), "{error:?}");
}

#[tokio::test]
async fn a_model_behind_a_gate() {
    let hub = hub().gated("Bearer hf_right1");
    let mut user = User::of(&hub);
    for (token, disable) in [("", ""), ("hf_wrong1", ""), ("hf_right1", "1")] {
        user.set("HF_TOKEN", token);
        user.set("HF_HUB_DISABLE_IMPLICIT_TOKEN", disable);
        let error = message(&user, MODEL).await;
        assert!(error.starts_with("the hub answered 401 for the model org/tiny: "), "{error}");
        assert!(error.contains("set HF_TOKEN") && !error.contains("hf_"), "{error}");
    }
    // A cached copy must not hide that the hub denies access.
    write(&user.cached("models--org--tiny/refs/main"), "0123abcd");
    write(&user.cached("models--org--tiny/snapshots/0123abcd/tokenizer.json"), "{}");
    assert!(matches!(user.tokenizer(MODEL).await, Err(HubError::Denied { status: 401, .. })));
}

#[tokio::test]
async fn no_such_model_or_file() {
    let hub = hub().with("models/org/bare/README.md", HubFile::small("#"));
    let user = User::of(&hub);
    let error = message(&user, "org/absent").await;
    assert!(error.starts_with("the hub does not know the model org/absent"), "{error}");
    let error = message(&user, "org/bare").await;
    assert_eq!(error, format!("the model org/bare has no tokenizer among its files; {CURE}"));
    let error = user.dataset(&DatasetSource::hub("org/tiny", "absent.json")).await.unwrap_err();
    assert!(matches!(error, HubError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn names_that_lead_out_of_the_cache_are_refused() {
    let hub = hub();
    let user = User::of(&hub);
    for name in ["../etc", "a/b/c", "org/..", "", "a b", "org/"] {
        let error = user.tokenizer(name).await.unwrap_err();
        assert!(matches!(error, HubError::Name { .. }), "{name}: {error}");
    }
    assert_eq!(hub.take_requests(), []);
}

#[tokio::test]
async fn an_endpoint_that_is_none() {
    let error = User::with("HF_ENDPOINT", "ftp://h").tokenizer(MODEL).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot send requests to the hub at ftp://h");
    // A server that is not a hub: it has the route, but sends no tag.
    let store = StandInHub::start();
    let user = User::with("HF_ENDPOINT", &store.store_url(""));
    assert!(matches!(user.tokenizer(MODEL).await, Err(HubError::NotFound { .. })));
}

#[tokio::test]
async fn a_tag_that_is_a_path_is_refused() {
    let hub = StandInHub::start()
        .with("datasets/org/talk/talk.json", HubFile::small("x").tagged("../../../evil"));
    let user = User::of(&hub);
    let error = user.dataset(&DatasetSource::hub("org/talk", "talk.json")).await.unwrap_err();
    assert!(matches!(error, HubError::BadAnswer { .. }), "{error}");
}

#[tokio::test]
async fn a_cache_that_cannot_be_written() {
    let mut user = User::of(&hub());
    user.set("HF_HOME", "/dev/null/x");
    let error = user.tokenizer(MODEL).await.unwrap_err().to_string();
    assert!(error.contains("/dev/null/x/hub") && error.contains("HF_HOME"), "{error}");
}
