//! Finds files by name: downloaded from the hub, or from the cache if the hub is unreachable or the
//! settings forbid downloads.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use servemark_client::{ClientError, Credentials};
use servemark_core::{MonotonicClock, Progress};

use crate::cache::RepoCache;
use crate::download::Download;
use crate::hub_request::{HubRequest, Kind};
use crate::huggingface::Repository;
use crate::modelscope;
use crate::settings::Token;
use crate::sources::{HUGGING_FACE, MODEL_SCOPE, host};
use crate::table::Table;
use crate::web::Web;
use crate::{DatasetSource, HubError, HubSettings, ModelPart};

/// Finds files by name. If one of its futures is dropped, a partial download remains and the next
/// attempt continues it.
pub struct Hub<'a> {
    settings: &'a HubSettings,
    clock: MonotonicClock,
    progress: &'a dyn Progress,
}

/// The result of finding a file by name.
#[derive(Debug)]
pub struct FoundFile {
    /// The file, or the folder of a model, of a table or of several files.
    pub path: PathBuf,
    /// Why the file may be outdated, if the hub could not be reached.
    pub stale: Option<HubError>,
}

impl<'a> Hub<'a> {
    /// Creates a hub that reports downloads to `progress`.
    pub fn new(
        settings: &'a HubSettings,
        clock: MonotonicClock,
        progress: &'a dyn Progress,
    ) -> Self {
        Self { settings, clock, progress }
    }

    /// Returns where models are published, in words: `the hub`, or `ModelScope` if the settings
    /// select it.
    pub fn models_place(&self) -> &'static str {
        if self.settings.models_from_modelscope { MODEL_SCOPE } else { HUGGING_FACE }
    }

    /// Finds the folder with this part of the model `owner/name`.
    pub async fn model(&self, name: &str, part: ModelPart) -> Result<FoundFile, HubError> {
        if self.settings.models_from_modelscope {
            return self.modelscope_model(name, part).await;
        }
        self.hub_model(name, part).await
    }

    /// Finds the file or folder of a data set.
    pub async fn dataset(&self, source: &DatasetSource) -> Result<FoundFile, HubError> {
        match source {
            DatasetSource::Hub { repository, file } => self.hub_file(repository, file).await,
            DatasetSource::Files { repository, files } => self.hub_files(repository, files).await,
            DatasetSource::ModelScope { repository, file } => {
                self.modelscope_file(repository, file).await
            }
            DatasetSource::Table { repository, subset, split } => {
                let table = Table { subset: subset.as_deref(), split };
                self.hub_table(repository, table).await
            }
            DatasetSource::Web { url } => self.web_file(url).await,
        }
    }

    /// Finds the folder that holds the files.
    async fn hub_files(&self, repository: &str, files: &[String]) -> Result<FoundFile, HubError> {
        let wanted = self.hub_request(Kind::Dataset, repository);
        wanted.check_name()?;
        let web = self.web()?;
        let repository = self.repository(&web, &wanted);
        let newest = Box::pin(repository.newest_files(files));
        self.newest_or_cached(&wanted, newest, || repository.cached_files(files)).await
    }

    /// Finds the folder that holds the subset's tables.
    async fn hub_table(&self, repository: &str, table: Table<'_>) -> Result<FoundFile, HubError> {
        let wanted = self.hub_request(Kind::Dataset, repository);
        wanted.check_name()?;
        let web = self.web()?;
        let repository = self.repository(&web, &wanted);
        let newest = Box::pin(repository.table(table));
        self.newest_or_cached(&wanted, newest, || repository.cached_table(table)).await
    }

    async fn hub_model(&self, name: &str, part: ModelPart) -> Result<FoundFile, HubError> {
        let wanted = self.hub_request(Kind::Model(part), name);
        wanted.check_name()?;
        let web = self.web()?;
        let repository = self.repository(&web, &wanted);
        let newest = Box::pin(repository.model(part));
        self.newest_or_cached(&wanted, newest, || repository.cached_model(part)).await
    }

    async fn modelscope_model(&self, name: &str, part: ModelPart) -> Result<FoundFile, HubError> {
        let wanted = self.modelscope_request(Kind::Model(part), name);
        wanted.check_name()?;
        let web = self.modelscope_web()?;
        let model = self.modelscope(&web, &wanted);
        let newest = Box::pin(model.files(part));
        self.newest_or_cached(&wanted, newest, || model.cached(part)).await
    }

    async fn modelscope_file(&self, repository: &str, file: &str) -> Result<FoundFile, HubError> {
        let wanted = self.modelscope_request(Kind::Dataset, repository);
        wanted.check_name()?;
        let web = self.modelscope_web()?;
        let repository = self.modelscope(&web, &wanted);
        let newest = Box::pin(repository.newest_file(file));
        self.newest_or_cached(&wanted, newest, || repository.cached_file(file)).await
    }

    fn modelscope_request(&self, kind: Kind, name: &str) -> HubRequest {
        let cache = self.settings.modelscope.cache.clone();
        let most_bytes = self.settings.most_bytes.clone();
        let token = "set MODELSCOPE_API_TOKEN";
        let place = MODEL_SCOPE.to_owned();
        HubRequest { kind, name: name.to_owned(), cache, place, token, most_bytes }
    }

    fn modelscope_web(&self) -> Result<Web, HubError> {
        let settings = &self.settings.modelscope;
        Web::new(&settings.endpoint, modelscope::credentials(settings), self.clock)
    }

    fn modelscope<'r>(
        &'r self,
        web: &'r Web,
        wanted: &'r HubRequest,
    ) -> modelscope::Repository<'r> {
        let (settings, progress) = (&self.settings.modelscope, self.progress);
        modelscope::Repository { web, settings, wanted, progress }
    }

    async fn hub_file(&self, repository: &str, file: &str) -> Result<FoundFile, HubError> {
        let wanted = self.hub_request(Kind::Dataset, repository);
        wanted.check_name()?;
        let web = self.web()?;
        let repository = self.repository(&web, &wanted);
        let newest = Box::pin(repository.newest_file(file));
        self.newest_or_cached(&wanted, newest, || repository.cached_file(file)).await
    }

    /// Finds a file that is in no repository; it is downloaded once and never refreshed.
    async fn web_file(&self, url: &str) -> Result<FoundFile, HubError> {
        let mut wanted = self.hub_request(Kind::Dataset, url);
        wanted.cache.clone_from(&self.settings.own_cache);
        wanted.place = host(url);
        let name = url.rsplit('/').next().unwrap_or_default();
        let path = wanted.cache.join(name);
        if path.is_file() {
            return Ok(FoundFile { path, stale: None });
        }
        let download = Box::pin(self.download(&wanted, url, &path));
        self.newest_or_cached(&wanted, download, || None).await
    }

    async fn download(
        &self,
        wanted: &HubRequest,
        url: &str,
        path: &Path,
    ) -> Result<PathBuf, HubError> {
        let web = Web::new(url, Ok(Credentials::new()), self.clock)?;
        let url = web.url(url)?;
        let to = path.to_owned();
        let progress = self.progress;
        let lock = path.with_extension("lock");
        let download = Download { web: &web, wanted, progress, url, to, size: None, tag: None };
        download.run(&lock).await?;
        Ok(download.to)
    }

    /// Awaits the download, with a cached copy as the fallback for temporary errors. If the
    /// settings forbid downloads, `newest` is never polled and no socket is opened.
    async fn newest_or_cached(
        &self,
        wanted: &HubRequest,
        newest: impl Future<Output = Result<PathBuf, HubError>>,
        cached: impl Fn() -> Option<PathBuf>,
    ) -> Result<FoundFile, HubError> {
        if let Some(variable) = self.settings.offline {
            let path = cached().ok_or_else(|| wanted.offline(variable))?;
            return Ok(FoundFile { path, stale: None });
        }
        match newest.await {
            Ok(path) => Ok(FoundFile { path, stale: None }),
            Err(error) if error.is_passing() => match cached() {
                Some(path) => Ok(FoundFile { path, stale: Some(error) }),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    fn hub_request(&self, kind: Kind, name: &str) -> HubRequest {
        let (name, cache) = (name.to_owned(), self.settings.cache.clone());
        let most_bytes = self.settings.most_bytes.clone();
        let place = HUGGING_FACE.to_owned();
        HubRequest { kind, name, cache, place, token: "set HF_TOKEN", most_bytes }
    }

    fn web(&self) -> Result<Web, HubError> {
        Web::new(&self.settings.endpoint, credentials(&self.settings.token), self.clock)
    }

    fn repository<'r>(&'r self, web: &'r Web, wanted: &'r HubRequest) -> Repository<'r> {
        Repository {
            web,
            endpoint: &self.settings.endpoint,
            cache: RepoCache::new(&self.settings.cache, wanted),
            wanted,
            progress: self.progress,
        }
    }
}

impl fmt::Debug for Hub<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("settings", self.settings).finish_non_exhaustive()
    }
}

/// Returns the token as credentials, if there is one. A token file that cannot be read counts as
/// absent, as in the Python tools.
fn credentials(token: &Token) -> Result<Credentials, ClientError> {
    let token = match token {
        Token::None => None,
        Token::Given(token) => Some(token.clone()),
        Token::File(path) => fs::read_to_string(path).ok(),
    };
    let token = token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    token.map_or_else(|| Ok(Credentials::new()), |token| Credentials::new().bearer(token))
}
