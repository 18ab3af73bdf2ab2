//! Downloads one file. A download continues where an earlier attempt was interrupted, and the file
//! gets its final name only when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock, Progress};
use tokio::time::{Instant, sleep_until};

use crate::HubError;
use crate::checksum::Checksum;
use crate::error::disk;
use crate::hub_request::HubRequest;
use crate::url::Url;
use crate::web::Web;

/// A file to be downloaded.
pub(crate) struct Download<'a> {
    pub(crate) web: &'a Web,
    pub(crate) wanted: &'a HubRequest,
    pub(crate) progress: &'a dyn Progress,
    /// The source.
    pub(crate) url: Url,
    /// The destination.
    pub(crate) to: PathBuf,
    /// The size in bytes, if known.
    pub(crate) size: Option<u64>,
    /// The hub's tag for the contents, usually a checksum.
    pub(crate) tag: Option<String>,
}

impl Download<'_> {
    /// Downloads the file, unless another process did so while this one waited for the lock.
    pub(crate) async fn run(&self, lock: &Path) -> Result<(), HubError> {
        let _locked = hold(lock, self.web.clock()).await?;
        if self.to.exists() {
            return Ok(());
        }
        let most = self.wanted.most_bytes()?;
        self.check_size(self.size.unwrap_or_default(), most, "")?;
        let partial = partial(&self.to);
        let name = self.to_string();
        self.progress.begin_bytes(&format!("downloading {name}"), self.size.unwrap_or(0));
        let filled = self.fill(&partial, most).await;
        self.progress.end();
        filled?;
        self.verify(&partial)?;
        fs::rename(&partial, &self.to).map_err(disk(&self.to))
    }

    /// Downloads what the partial file lacks. If the connection is lost, it tries again for as long
    /// as each attempt adds data.
    async fn fill(&self, partial: &Path, most: u64) -> Result<(), HubError> {
        make_folder_of(partial)?;
        self.progress.advance(length(partial));
        loop {
            let before = length(partial);
            if self.size == Some(before) && before > 0 {
                return Ok(());
            }
            match self.append(partial, before, most).await {
                Err(error) if error.is_cut() && length(partial) > before => {}
                // The partial file is not a prefix of the file on the server.
                Err(HubError::Status { status: 416, .. }) if before > 0 => {
                    fs::remove_file(partial).map_err(disk(partial))?;
                }
                done => return done,
            }
        }
    }

    /// Fails if the size exceeds the limit, as announced or as received so far.
    fn check_size(&self, size: u64, most: u64, and_more: &str) -> Result<(), HubError> {
        if size <= most {
            return Ok(());
        }
        let (url, what) = (self.url.to_string(), self.wanted.to_string());
        Err(HubError::TooLarge { url, size: format!("{size} bytes{and_more}"), what, most })
    }

    async fn append(&self, partial: &Path, from: u64, most: u64) -> Result<(), HubError> {
        let mut reply = self.web.body(self.wanted, &self.url, from).await?;
        let continues = from > 0 && reply.fetch.status() == 206;
        let mut length = if continues { from } else { 0 };
        let announced = reply.fetch.header("content-length").and_then(|size| size.parse().ok());
        self.check_size(length.saturating_add(announced.unwrap_or(0)), most, "")?;
        let opened = if continues {
            OpenOptions::new().append(true).open(partial)
        } else {
            File::create(partial)
        };
        let mut file = opened.map_err(disk(partial))?;
        let server = reply.url.server().to_string();
        let lost = |error| self.wanted.unreachable(server.clone(), error);
        while let Some(bytes) = reply.fetch.next().await.map_err(lost)? {
            length += bytes.len() as u64;
            if let Err(error) = self.check_size(length, most, " or more") {
                drop(file);
                fs::remove_file(partial).map_err(disk(partial))?;
                return Err(error);
            }
            file.write_all(&bytes).map_err(disk(partial))?;
            // The data differs from the hub's, which the comparison of checksum or size will
            // report.
            if self.size.is_some_and(|size| length > size) {
                break;
            }
            self.progress.advance(bytes.len() as u64);
        }
        Ok(())
    }

    /// Compares the file's checksum or size with the hub's. A file that differs is deleted, because
    /// the next attempt would continue it.
    fn verify(&self, partial: &Path) -> Result<(), HubError> {
        let found = length(partial);
        let tag = self.tag.as_deref();
        let (expected, found) = match tag.and_then(Checksum::of).zip(tag) {
            Some((checksum, tag)) => {
                (tag.to_owned(), checksum.compute(partial).map_err(disk(partial))?)
            }
            None => (bytes(self.size.unwrap_or(found)), bytes(found)),
        };
        if expected == found {
            return Ok(());
        }
        fs::remove_file(partial).map_err(disk(partial))?;
        Err(HubError::Checksum { url: self.url.to_string(), expected, found })
    }
}

/// Writes the last part of the URL's path.
impl std::fmt::Display for Download<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = self.url.to_string();
        f.write_str(url.rsplit('/').next().unwrap_or_default())
    }
}

/// Waits until no other process downloads the same file. The lock file is that of the Python tools.
async fn hold(path: &Path, clock: MonotonicClock) -> Result<File, HubError> {
    make_folder_of(path)?;
    let file = File::create(path).map_err(disk(path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => {
                sleep_until(Instant::from_std(clock.instant(clock.now() + PAUSE))).await;
            }
            Err(fs::TryLockError::Error(error)) => return Err(disk(path)(error)),
        }
    }
}

pub(crate) fn make_folder_of(path: &Path) -> Result<(), HubError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(disk(folder))
}

fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".incomplete");
    name.into()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn bytes(count: u64) -> String {
    format!("{count} bytes")
}

const PAUSE: Duration = Duration::from_millis(100);
