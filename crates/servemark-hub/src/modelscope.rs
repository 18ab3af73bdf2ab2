//! ModelScope's API and cache.

use std::path::PathBuf;

use serde::Deserialize;
use servemark_client::{ClientError, Credentials};
use servemark_core::Progress;

use crate::download::Download;
use crate::hub_request::{HubRequest, Kind, checked_path};
use crate::settings::ModelScopeSettings;
use crate::url::escape;
use crate::web::Web;
use crate::{HubError, ModelPart};

/// One model or data set, at the head of its default branch.
pub(crate) struct Repository<'a> {
    pub(crate) web: &'a Web,
    pub(crate) settings: &'a ModelScopeSettings,
    pub(crate) wanted: &'a HubRequest,
    pub(crate) progress: &'a dyn Progress,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ModelScopeAnswer {
    data: Files,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Files {
    files: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    path: String,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    sha256: Option<String>,
}

impl Repository<'_> {
    /// Downloads a part of a model and returns its folder.
    pub(crate) async fn files(&self, part: ModelPart) -> Result<PathBuf, HubError> {
        let files = self.listing().await?;
        let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let names = part.of(&names);
        if names.is_empty() {
            return Err(self.wanted.no_model(part));
        }
        let endpoint = &self.settings.endpoint;
        names.iter().try_for_each(|name| checked_path(name, endpoint).map(drop))?;
        for file in files.iter().filter(|file| names.contains(&file.path.as_str())) {
            self.file(file).await?;
        }
        Ok(self.snapshot())
    }

    /// Downloads a file of a data set.
    pub(crate) async fn newest_file(&self, name: &str) -> Result<PathBuf, HubError> {
        let files = self.listing().await?;
        let missing = || {
            let known: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            self.wanted.no_part(format!("file {name}"), known.join(", "))
        };
        self.file(files.iter().find(|file| file.path == name).ok_or_else(missing)?).await?;
        Ok(self.snapshot().join(name))
    }

    /// Returns a data set's file in the cache, if it is there.
    pub(crate) fn cached_file(&self, name: &str) -> Option<PathBuf> {
        Some(self.snapshot().join(name)).filter(|path| path.is_file())
    }

    async fn listing(&self) -> Result<Vec<Entry>, HubError> {
        let url = self.url(match self.wanted.kind {
            Kind::Dataset => {
                "/tree?Revision=master&Root=/&Recursive=True&PageNumber=1&PageSize=200"
            }
            Kind::Model(_) => "/files?Revision=master&Recursive=True",
        });
        let answer: ModelScopeAnswer = self.web.json(self.wanted, &url).await?;
        Ok(answer.data.files)
    }

    /// Returns the folder of a model in the cache, in the current or an older layout, if it holds
    /// the whole part.
    pub(crate) fn cached(&self, part: ModelPart) -> Option<PathBuf> {
        let older = self.wanted.name.replace('.', "___");
        let models = [self.settings.cache.join("models"), self.settings.cache.join("hub/models")];
        let older = models.map(|models| models.join(&older));
        let mut folders = [self.snapshot()].into_iter().chain(older);
        folders.find(|folder| part.is_in(folder))
    }

    /// Downloads a file, unless one of equal size is already there.
    async fn file(&self, file: &Entry) -> Result<(), HubError> {
        let path = escape(&file.path);
        let url = self.url(&format!("?Revision={BRANCH}&FilePath={path}"));
        let to = self.snapshot().join(&file.path);
        let lock = self
            .settings
            .cache
            .join(".lock")
            .join(format!("{}.lock", self.wanted.name.replace('/', "--")));
        let is_same = to.metadata().is_ok_and(|there| Some(there.len()) == file.size);
        let download = Download {
            web: self.web,
            wanted: self.wanted,
            progress: self.progress,
            url: self.web.url(&url)?,
            to,
            size: file.size,
            tag: file.sha256.clone(),
        };
        if is_same { Ok(()) } else { download.run(&lock).await }
    }

    fn url(&self, rest: &str) -> String {
        let (endpoint, name) = (&self.settings.endpoint, &self.wanted.name);
        format!("{endpoint}/api/v1/{}/{name}/repo{rest}", self.shelf())
    }

    fn snapshot(&self) -> PathBuf {
        let name = self.wanted.name.replace('/', "--");
        self.settings.cache.join(self.shelf()).join(name).join("snapshots").join(BRANCH)
    }

    fn shelf(&self) -> &'static str {
        match self.wanted.kind {
            Kind::Dataset => "datasets",
            Kind::Model(_) => "models",
        }
    }
}

/// Returns the credentials; ModelScope takes the token as a session cookie.
pub(crate) fn credentials(settings: &ModelScopeSettings) -> Result<Credentials, ClientError> {
    match &settings.token {
        Some(token) => Credentials::new().header("cookie", &format!("m_session_id={token}")),
        None => Ok(Credentials::new()),
    }
}

const BRANCH: &str = "master";
