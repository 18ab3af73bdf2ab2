//! HTTP requests to a hub. Redirects are followed, and the hub's token is sent to no other server.

use std::time::Duration;

use http::header::{HeaderMap, HeaderValue, RANGE};
use servemark_client::{BaseUrl, ClientError, Credentials, Fetch, Target, TargetSpec};
use servemark_core::MonotonicClock;

use crate::HubError;
use crate::hub_request::HubRequest;
use crate::url::Url;

/// A client of one hub and of the servers to which it redirects.
#[derive(Debug)]
pub(crate) struct Web {
    home: BaseUrl,
    /// Credentials that are sent only to the hub.
    credentials: Credentials,
    clock: MonotonicClock,
}

/// The two kinds of request to a hub.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// HEAD, answered by the hub itself: it describes a file before it redirects to its storage.
    Head,
    /// GET from a byte offset, answered by any server.
    Body { from: u64 },
}

/// An answer and its origin.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) fetch: Fetch,
    /// The URL that was answered.
    pub(crate) url: Url,
    /// The URL of a redirect that was not followed.
    pub(crate) elsewhere: Option<Url>,
}

impl Web {
    /// Creates a client of the hub at `endpoint` with these credentials.
    pub(crate) fn new(
        endpoint: &str,
        credentials: Result<Credentials, ClientError>,
        clock: MonotonicClock,
    ) -> Result<Self, HubError> {
        let fail = |source| HubError::Endpoint { endpoint: endpoint.to_owned(), source };
        let home = Url::parse(endpoint).map_err(fail)?.server().clone();
        Ok(Self { home, credentials: credentials.map_err(fail)?, clock })
    }

    pub(crate) fn clock(&self) -> MonotonicClock {
        self.clock
    }

    /// Requests the hub's metadata of a file.
    pub(crate) async fn head(&self, wanted: &HubRequest, url: &str) -> Result<Reply, HubError> {
        let reply = self.ask(Ask::Head, wanted, self.url(url)?).await?;
        reply.accepted(wanted)
    }

    /// Requests a file from a byte offset on.
    pub(crate) async fn body(
        &self,
        wanted: &HubRequest,
        url: &Url,
        from: u64,
    ) -> Result<Reply, HubError> {
        self.ask(Ask::Body { from }, wanted, url.clone()).await?.accepted(wanted)
    }

    /// Requests a short JSON document.
    pub(crate) async fn json<T: serde::de::DeserializeOwned>(
        &self,
        wanted: &HubRequest,
        url: &str,
    ) -> Result<T, HubError> {
        let mut reply = self.body(wanted, &self.url(url)?, 0).await?;
        let lost = |error| wanted.unreachable(url.to_owned(), error);
        let body = reply.fetch.collect(MOST).await.map_err(lost)?;
        serde_json::from_slice(&body).map_err(|error| HubError::BadAnswer {
            url: url.to_owned(),
            why: format!("is not the JSON that was expected: {error}"),
        })
    }

    pub(crate) fn url(&self, text: &str) -> Result<Url, HubError> {
        Url::parse(text)
            .map_err(|source| HubError::Endpoint { endpoint: self.home.to_string(), source })
    }

    async fn ask(&self, ask: Ask, wanted: &HubRequest, mut url: Url) -> Result<Reply, HubError> {
        for _ in 0..MOST_REDIRECTS {
            let lost = |error| wanted.unreachable(url.server().to_string(), error);
            let fetch = self.once(ask, &url).await.map_err(lost)?;
            let next = redirect(&fetch, &url)?;
            match next {
                None => return Ok(Reply { fetch, url, elsewhere: None }),
                Some(next) if matches!(ask, Ask::Head) && next.server() != url.server() => {
                    return Ok(Reply { fetch, url, elsewhere: Some(next) });
                }
                Some(next) => url = next,
            }
        }
        Err(HubError::BadAnswer { url: url.to_string(), why: "redirects too often".to_owned() })
    }

    async fn once(&self, ask: Ask, url: &Url) -> Result<Fetch, ClientError> {
        let is_home = *url.server() == self.home;
        let credentials = if is_home { self.credentials.clone() } else { Credentials::new() };
        let target = Target::new(&spec(url.server()), credentials)?;
        let mut headers = HeaderMap::new();
        headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        match ask {
            Ask::Head => Fetch::head(&target, url.route(), &headers, self.clock).await,
            Ask::Body { from } => {
                if from > 0 {
                    headers.insert(RANGE, range(from));
                }
                Fetch::get(&target, url.route(), &headers, self.clock).await
            }
        }
    }
}

impl Reply {
    fn accepted(self, wanted: &HubRequest) -> Result<Self, HubError> {
        match self.fetch.status() {
            200 | 206 => Ok(self),
            300..400 if self.elsewhere.is_some() => Ok(self),
            status => Err(wanted.refused(status, &self.url)),
        }
    }
}

/// Returns the target of a redirect, or `None` if the answer is not one.
fn redirect(fetch: &Fetch, url: &Url) -> Result<Option<Url>, HubError> {
    if !matches!(fetch.status(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let bad = |why: &str| HubError::BadAnswer { url: url.to_string(), why: why.to_owned() };
    let location = fetch.header("location").ok_or_else(|| bad("redirects without an address"))?;
    url.follow(location).map(Some).map_err(|_| bad("redirects to an invalid address"))
}

fn range(from: u64) -> HeaderValue {
    HeaderValue::try_from(format!("bytes={from}-")).expect("digits can be sent")
}

/// Returns a target with time-outs for a person who waits for the run to start.
fn spec(server: &BaseUrl) -> TargetSpec {
    let mut spec = TargetSpec::new(server.clone());
    spec.timeouts.connect = Duration::from_secs(10);
    spec.timeouts.first_byte = Duration::from_secs(60);
    spec.timeouts.idle = Duration::from_secs(60);
    spec
}

const MOST_REDIRECTS: usize = 10;
/// The size limit of a JSON document in bytes, well above the listing of a repository.
const MOST: usize = 64 << 20;
