//! Hugging Face's API and cache.

use std::path::PathBuf;

use serde::Deserialize;
use servemark_core::Progress;

use crate::cache::{RepoCache, checked};
use crate::download::Download;
use crate::hub_request::{HubRequest, Kind, checked_path};
use crate::table::Table;
use crate::url::escape;
use crate::web::{Reply, Web};
use crate::{HubError, ModelPart};

/// One repository, at the head of its main branch.
pub(crate) struct Repository<'a> {
    pub(crate) web: &'a Web,
    pub(crate) endpoint: &'a str,
    pub(crate) cache: RepoCache,
    pub(crate) wanted: &'a HubRequest,
    pub(crate) progress: &'a dyn Progress,
}

/// The commit of a branch and the files in it.
#[derive(Debug, Deserialize)]
struct Listing {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Debug, Deserialize)]
struct Sibling {
    rfilename: String,
}

/// The hub's metadata of a file.
#[derive(Debug)]
struct Metadata {
    commit: String,
    tag: String,
    size: Option<u64>,
}

impl Listing {
    /// Returns the files of a part of a model, or all files. A path that would lead out of the
    /// cache is an error, so nothing is downloaded.
    fn files_of(&self, part: Option<ModelPart>, url: &str) -> Result<Vec<&str>, HubError> {
        let files: Vec<&str> =
            self.siblings.iter().map(|sibling| sibling.rfilename.as_str()).collect();
        let files = part.map_or(files.clone(), |part| part.of(&files));
        check_all(&files, url)?;
        Ok(files)
    }
}

/// Parses a hub's listing and returns the files of a part of a model, or all files. This is how a
/// download treats the hub's answer, made available without a hub.
pub fn listed_files(answer: &[u8], part: Option<ModelPart>) -> Result<Vec<String>, HubError> {
    let url = "the listing";
    let listing: Listing = serde_json::from_slice(answer).map_err(|error| HubError::BadAnswer {
        url: url.to_owned(),
        why: format!("is not the JSON that was expected: {error}"),
    })?;
    checked(&listing.sha, url)?;
    Ok(listing.files_of(part, url)?.into_iter().map(str::to_owned).collect())
}

impl Repository<'_> {
    /// Downloads a part of a model and returns its folder.
    pub(crate) async fn model(&self, part: ModelPart) -> Result<PathBuf, HubError> {
        let url = format!("{}/api/models/{}/revision/{MAIN}", self.endpoint, self.wanted.name);
        let listing: Listing = self.web.json(self.wanted, &url).await?;
        let commit = checked(&listing.sha, &url)?;
        let files = listing.files_of(Some(part), &url)?;
        if files.is_empty() {
            return Err(self.wanted.no_model(part));
        }
        for file in files {
            self.file(&commit, file).await?;
        }
        self.cache.point(MAIN, &commit)?;
        Ok(self.cache.snapshot(&commit))
    }

    /// Downloads a file of the main branch.
    pub(crate) async fn newest_file(&self, file: &str) -> Result<PathBuf, HubError> {
        let (commit, path) = self.file(MAIN, file).await?;
        self.cache.point(MAIN, &commit)?;
        Ok(path)
    }

    /// Downloads several files of the main branch and returns their folder.
    pub(crate) async fn newest_files(&self, files: &[String]) -> Result<PathBuf, HubError> {
        let mut revision = MAIN.to_owned();
        for file in files {
            (revision, _) = self.file(&revision, file).await?;
        }
        self.cache.point(MAIN, &revision)?;
        Ok(self.cache.snapshot(&revision))
    }

    /// Downloads the tables of a subset that hold a split and returns the subset's folder.
    pub(crate) async fn table(&self, table: Table<'_>) -> Result<PathBuf, HubError> {
        let branch = escape(TABLES).replace('/', "%2F");
        let url = format!("{}/api/datasets/{}/revision/{branch}", self.endpoint, self.wanted.name);
        let listing: Listing = self.web.json(self.wanted, &url).await?;
        let commit = checked(&listing.sha, &url)?;
        let files: Vec<&str> =
            listing.siblings.iter().map(|sibling| sibling.rfilename.as_str()).collect();
        let (subset, files) = table.select_files(&files, self.wanted)?;
        check_all(&files, &url)?;
        for file in files {
            self.file(&commit, file).await?;
        }
        self.cache.point(TABLES, &commit)?;
        Ok(self.cache.snapshot(&commit).join(subset))
    }

    /// Returns the folder of the files in the cache, if all of them are there.
    pub(crate) fn cached_files(&self, files: &[String]) -> Option<PathBuf> {
        let folder = self.cache.newest(MAIN)?;
        files.iter().all(|file| folder.join(file).is_file()).then_some(folder)
    }

    /// Returns the folder of a subset's tables in the cache, if the split is there.
    pub(crate) fn cached_table(&self, table: Table<'_>) -> Option<PathBuf> {
        table.cached(&self.cache.newest(TABLES)?)
    }

    /// Returns the folder of a model in the cache, if it holds the whole part.
    pub(crate) fn cached_model(&self, part: ModelPart) -> Option<PathBuf> {
        self.cache.newest(MAIN).filter(|folder| part.is_in(folder))
    }

    /// Returns a file in the cache, if it is there.
    pub(crate) fn cached_file(&self, file: &str) -> Option<PathBuf> {
        Some(self.cache.newest(MAIN)?.join(file)).filter(|path| path.is_file())
    }

    /// Downloads a file of a revision unless it is in the cache. Returns the commit and the file's
    /// path.
    async fn file(&self, revision: &str, file: &str) -> Result<(String, PathBuf), HubError> {
        let url = self.url(revision, file);
        checked_path(file, &url)?;
        let reply = self.web.head(self.wanted, &url).await?;
        let Metadata { commit, tag, size } = metadata(&reply, &url)?;
        let download = Download {
            web: self.web,
            wanted: self.wanted,
            progress: self.progress,
            url: reply.elsewhere.unwrap_or(reply.url),
            to: self.cache.blob(&tag),
            size,
            tag: Some(tag.clone()),
        };
        if !download.to.exists() {
            download.run(&self.cache.lock(&tag)).await?;
        }
        let path = self.cache.link(&commit, file, &tag)?;
        Ok((commit, path))
    }

    fn url(&self, revision: &str, file: &str) -> String {
        let prefix = match self.wanted.kind {
            Kind::Dataset => "datasets/",
            Kind::Model(_) => "",
        };
        let HubRequest { name, .. } = self.wanted;
        format!("{}/{prefix}{name}/resolve/{revision}/{}", self.endpoint, escape(file))
    }
}

/// Checks all paths before the first download: none may lead out of the cache.
fn check_all(files: &[&str], url: &str) -> Result<(), HubError> {
    files.iter().try_for_each(|file| checked_path(file, url).map(drop))
}

fn metadata(reply: &Reply, url: &str) -> Result<Metadata, HubError> {
    let header = |name| reply.fetch.header(name);
    let missing =
        |name| move || HubError::BadAnswer { url: url.to_owned(), why: format!("has no {name}") };
    let tag = header("x-linked-etag").or_else(|| header("etag")).ok_or_else(missing("ETag"))?;
    let commit = header("x-repo-commit").ok_or_else(missing("X-Repo-Commit"))?;
    let length = header("content-length").filter(|_| reply.elsewhere.is_none());
    let size = header("x-linked-size").or(length).and_then(|size| size.parse().ok());
    let tag = tag.trim_start_matches("W/").trim_matches('"');
    Ok(Metadata { commit: checked(commit, url)?, tag: checked(tag, url)?, size })
}

const MAIN: &str = "main";

/// The branch on which the hub keeps the Parquet tables that it generates for every data set.
const TABLES: &str = "refs/convert/parquet";
