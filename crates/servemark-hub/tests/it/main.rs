//! A stand-in for the hub on loopback, and a cache in a temporary folder.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod datasets;
mod failures;
mod hostile;
mod models;
mod modelscope;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use servemark_core::{MonotonicClock, NoProgress, Progress};
use servemark_hub::{DatasetSource, FoundFile, Hub, HubError, HubSettings, ModelPart};
use servemark_testkit::StandInHub;
use tempfile::TempDir;

/// A user: environment variables and a home folder.
struct User {
    home: TempDir,
    variables: BTreeMap<String, String>,
}

impl User {
    fn of(hub: &StandInHub) -> Self {
        Self::with("HF_ENDPOINT", &hub.url())
    }

    fn with(name: &str, value: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let variables = [("HOME", home.path().to_str().unwrap()), (name, value)];
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self { variables: variables.map(own).into(), home }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    fn settings(&self) -> HubSettings {
        HubSettings::from_variables(|name| self.variables.get(name).cloned())
    }

    async fn tokenizer(&self, model: &str) -> Result<FoundFile, HubError> {
        self.tokenizer_before(model, &NoProgress).await
    }

    async fn model(&self, model: &str, part: ModelPart) -> Result<FoundFile, HubError> {
        Hub::new(&self.settings(), MonotonicClock::start(), &NoProgress).model(model, part).await
    }

    async fn tokenizer_before(
        &self,
        model: &str,
        progress: &dyn Progress,
    ) -> Result<FoundFile, HubError> {
        Hub::new(&self.settings(), MonotonicClock::start(), progress)
            .model(model, ModelPart::Tokenizer)
            .await
    }

    async fn dataset(&self, source: &DatasetSource) -> Result<FoundFile, HubError> {
        let settings = self.settings();
        Hub::new(&settings, MonotonicClock::start(), &NoProgress).dataset(source).await
    }

    fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    /// Returns the path of a file in the hub's cache.
    fn cached(&self, below: &str) -> PathBuf {
        self.path(".cache/huggingface/hub").join(below)
    }
}

/// Records the reported progress.
#[derive(Default)]
struct RecordedProgress(Mutex<Vec<String>>);

impl Progress for RecordedProgress {
    fn begin(&self, work: &str, total: u64) {
        self.0.lock().unwrap().push(format!("{work}: {total}"));
    }
    fn advance(&self, steps: u64) {
        self.0.lock().unwrap().push(format!("+{steps}"));
    }
    fn end(&self) {
        self.0.lock().unwrap().push("end".to_owned());
    }
}

#[track_caller]
fn contents(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[track_caller]
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
