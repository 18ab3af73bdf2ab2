//! A test double of a model hub on loopback, and of the store to which it redirects for big files.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ring::digest::{Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use serde_json::json;

/// A test double of a hub. It answers until the test's process ends.
#[derive(Clone, Debug)]
pub struct StandInHub {
    hub: SocketAddr,
    shared: Arc<Shared>,
}

/// A file of the test hub.
#[derive(Clone, Debug)]
pub struct HubFile {
    body: Vec<u8>,
    place: FileLocation,
    tag: String,
    cut_at: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FileLocation {
    /// On the hub itself, behind a redirect to another of its routes.
    Hub,
    /// On another server, as big files are.
    Store,
}

/// A request that the hub or its store received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceivedRequest {
    /// `GET` or `HEAD`.
    pub method: String,
    /// Path and query of the request.
    pub route: String,
    /// Whether the request went to the store of large files, not to the hub itself.
    pub at_store: bool,
    /// Value of the `authorization` header, if there was one.
    pub authorization: Option<String>,
    /// Value of the `cookie` header, if there was one.
    pub cookie: Option<String>,
    /// Value of the `range` header, if there was one.
    pub range: Option<String>,
}

#[derive(Debug)]
struct Shared {
    store: SocketAddr,
    /// Files by path, such as `models/owner/name/path` or `datasets/…`.
    files: Mutex<BTreeMap<String, HubFile>>,
    /// The key that every request must carry, if one is required.
    key: Mutex<Option<String>>,
    observed: Mutex<Vec<ReceivedRequest>>,
}

impl HubFile {
    /// Creates a small file: it is on the hub, and its tag is git's checksum.
    pub fn small(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let blob = [format!("blob {}\0", body.len()).as_bytes(), &body].concat();
        let tag = hex(&digest(&SHA1_FOR_LEGACY_USE_ONLY, &blob));
        Self { place: FileLocation::Hub, tag, body, cut_at: None }
    }

    /// Creates a big file: it is in the store, and its tag is its SHA-256.
    pub fn big(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let tag = hex(&digest(&SHA256, &body));
        Self { place: FileLocation::Store, tag, body, cut_at: None }
    }

    /// Makes the connection break after `bytes` bytes, the first time.
    #[must_use]
    pub fn cut_at(self, bytes: usize) -> Self {
        Self { cut_at: Some(bytes), ..self }
    }

    /// Makes the hub report a tag that differs from that of the content.
    #[must_use]
    pub fn tagged(self, tag: &str) -> Self {
        Self { tag: tag.to_owned(), ..self }
    }

    /// Returns the tag that the hub reports, which is the file's name in a cache.
    pub fn tag(&self) -> &str {
        &self.tag
    }
}

impl StandInHub {
    /// Starts a hub without files.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no loopback interface.
    pub fn start() -> Self {
        let listen = || TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
        let (hub, store) = (listen(), listen());
        let address = |listener: &TcpListener| listener.local_addr().expect("it listens");
        let shared = Arc::new(Shared {
            store: address(&store),
            files: Mutex::default(),
            key: Mutex::default(),
            observed: Mutex::default(),
        });
        let stand_in = Self { hub: address(&hub), shared };
        stand_in.serve(hub, FileLocation::Hub);
        stand_in.serve(store, FileLocation::Store);
        stand_in
    }

    /// Adds a file such as `models/owner/name/tokenizer.json`.
    #[must_use]
    pub fn with(self, path: &str, file: HubFile) -> Self {
        lock(&self.shared.files).insert(path.to_owned(), file);
        self
    }

    /// Requires the key `authorization` for all files of the hub.
    #[must_use]
    pub fn gated(self, authorization: &str) -> Self {
        *lock(&self.shared.key) = Some(authorization.to_owned());
        self
    }

    /// Returns the value for `HF_ENDPOINT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.hub)
    }

    /// Returns the URL of a file in the store.
    pub fn store_url(&self, file: &str) -> String {
        format!("http://{}/{file}", self.shared.store)
    }

    /// Returns all requests since the last call.
    pub fn take_requests(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut *lock(&self.shared.observed))
    }

    fn serve(&self, listener: TcpListener, location: FileLocation) {
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // In some tests the client closes the connection in the middle.
                thread::spawn(move || shared.answer(&stream, location).ok());
            }
        });
    }
}

impl Shared {
    fn answer(&self, stream: &TcpStream, location: FileLocation) -> std::io::Result<()> {
        let request = read(stream, location)?;
        lock(&self.observed).push(request.clone());
        let reply = match location {
            FileLocation::Store => self.of_store(&request),
            FileLocation::Hub => self.of_hub(&request),
        };
        reply.write(stream, &request.method)
    }

    fn of_hub(&self, request: &ReceivedRequest) -> Reply {
        let key = lock(&self.key).clone();
        if key.is_some() && request.authorization != key && request.cookie != key {
            return Reply::status(401).header("x-error-code", "GatedRepo");
        }
        let path = request.route.trim_start_matches('/');
        if let Some(path) = path.strip_prefix("api/v1/") {
            return self.of_modelscope(path);
        }
        if let Some(path) = path.strip_prefix("api/resolve-cache/") {
            return self.file(path).map_or(Reply::status(404), |file| file.reply(request));
        }
        if let Some((repository, _)) = path.split_once("/revision/") {
            return self.listing(repository.trim_start_matches("api/"));
        }
        let Some((repository, rest)) = path.split_once("/resolve/") else {
            return Reply::status(404);
        };
        let kind = if repository.starts_with("datasets/") { "" } else { "models/" };
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        self.resolve(&format!("{kind}{repository}/{path}"))
    }

    /// Answers with the metadata of a file and a redirect to its content, on the hub or in the
    /// store.
    fn resolve(&self, path: &str) -> Reply {
        let Some(file) = self.file(path) else { return Reply::status(404) };
        let to = match file.place {
            FileLocation::Hub => format!("/api/resolve-cache/{path}"),
            FileLocation::Store => format!("http://{}/{path}?signature=sig-hunter2", self.store),
        };
        let reply = Reply::status(302).header("location", &to).header("x-repo-commit", COMMIT);
        reply
            .header("x-linked-etag", &format!("\"{}\"", file.tag))
            .header("x-linked-size", &file.body.len().to_string())
    }

    fn of_store(&self, request: &ReceivedRequest) -> Reply {
        let path = request.route.split('?').next().unwrap_or_default().trim_start_matches('/');
        let Some(file) = self.file(path) else { return Reply::status(404) };
        if let Some(file) = lock(&self.files).get_mut(path) {
            file.cut_at = None;
        }
        file.reply(request)
    }

    fn listing(&self, repository: &str) -> Reply {
        let files = self.names_of(repository);
        if files.is_empty() {
            return Reply::status(404).header("x-error-code", "RepoNotFound");
        }
        let files: Vec<_> = files.iter().map(|file| json!({"rfilename": file})).collect();
        Reply::json(&json!({"id": repository, "sha": COMMIT, "siblings": files}))
    }

    fn of_modelscope(&self, route: &str) -> Reply {
        let Some((repository, question)) = route.split_once("/repo") else {
            return Reply::status(404);
        };
        if let Some((_, path)) = question.split_once("FilePath=") {
            let file = self.file(&format!("{repository}/{path}"));
            return file.map_or(Reply::status(404), |file| Reply::of(200, file.body));
        }
        let entry = |path: String| {
            let body = self.file(&format!("{repository}/{path}")).expect("it is listed").body;
            json!({"Path": path, "Size": body.len(), "Sha256": hex(&digest(&SHA256, &body))})
        };
        let files: Vec<_> = self.names_of(repository).into_iter().map(entry).collect();
        Reply::json(&json!({"Code": 200, "Data": {"Files": files}}))
    }

    fn names_of(&self, repository: &str) -> Vec<String> {
        let prefix = format!("{repository}/");
        let files = lock(&self.files);
        files.keys().filter_map(|path| Some(path.strip_prefix(&prefix)?.to_owned())).collect()
    }

    fn file(&self, path: &str) -> Option<HubFile> {
        lock(&self.files).get(path).cloned()
    }
}

impl HubFile {
    fn reply(&self, request: &ReceivedRequest) -> Reply {
        let from = request.range.as_deref().and_then(|range| {
            range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok()
        });
        let mut reply = match from {
            Some(from) if from < self.body.len() => {
                let whole = self.body.len();
                Reply::of(206, self.body[from..].to_vec())
                    .header("content-range", &format!("bytes {from}-{}/{whole}", whole - 1))
            }
            Some(_) => Reply::status(416),
            None => Reply::of(200, self.body.clone()),
        };
        reply.cut_at = self.cut_at;
        reply.header("etag", &format!("\"{}\"", self.tag)).header("x-repo-commit", COMMIT)
    }
}

/// An answer after which the connection is closed.
struct Reply {
    status: u16,
    headers: String,
    body: Vec<u8>,
    cut_at: Option<usize>,
}

impl Reply {
    fn status(status: u16) -> Self {
        Self::of(status, Vec::new())
    }

    fn json(value: &serde_json::Value) -> Self {
        Self::of(200, value.to_string().into_bytes())
    }

    fn of(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: String::new(), body, cut_at: None }
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.extend([name, ": ", value, "\r\n"]);
        self
    }

    fn write(&self, mut to: &TcpStream, method: &str) -> std::io::Result<()> {
        let (status, length) = (self.status, self.body.len());
        let head = format!(
            "HTTP/1.1 {status} X\r\n{}content-length: {length}\r\nconnection: close\r\n\r\n",
            self.headers
        );
        to.write_all(head.as_bytes())?;
        if method != "HEAD" {
            to.write_all(&self.body[..self.cut_at.unwrap_or(length).min(length)])?;
        }
        to.flush()
    }
}

fn read(stream: &TcpStream, location: FileLocation) -> std::io::Result<ReceivedRequest> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut words = first.split(' ').map(str::to_owned);
    let at_store = location == FileLocation::Store;
    let mut request = ReceivedRequest { at_store, ..ReceivedRequest::default() };
    request.method = words.next().unwrap_or_default();
    request.route = words.next().unwrap_or_default();
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else { break };
        let value = Some(value.to_owned());
        match name {
            "authorization" => request.authorization = value,
            "cookie" => request.cookie = value,
            "range" => request.range = value,
            _ => {}
        }
    }
    Ok(request)
}

fn hex(digest: &Digest) -> String {
    digest.as_ref().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The commit at the head of every branch of the test hub.
pub const COMMIT: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
