//! Fetches a file from a server: a plain GET or HEAD whose answer is read in pieces. It is not
//! measured.

use bytes::Bytes;
use http::{HeaderMap, Method};
use servemark_core::MonotonicClock;

use crate::boxed::BoxFuture;
use crate::direct::Progress;
use crate::error::ClientError;
use crate::exchange::Exchange;
use crate::link::Unobserved;
use crate::pool::Pool;
use crate::request;
use crate::target::Target;
use crate::watch::Watch;

/// The answer to a GET or a HEAD, with any status. The caller follows redirects, because it knows
/// which hosts may see the credentials.
///
/// Dropping it closes its connection.
#[derive(Debug)]
pub struct Fetch {
    exchange: Exchange,
    watch: Watch,
}

impl Fetch {
    /// Sends a GET for `route` with `headers` and waits for the head of the answer.
    pub async fn get(
        target: &Target,
        route: &str,
        headers: &HeaderMap,
        clock: MonotonicClock,
    ) -> Result<Self, ClientError> {
        Self::ask(Method::GET, target, route, headers, clock).await
    }

    /// Sends a HEAD for `route` with `headers` and waits for the answer.
    pub async fn head(
        target: &Target,
        route: &str,
        headers: &HeaderMap,
        clock: MonotonicClock,
    ) -> Result<Self, ClientError> {
        Self::ask(Method::HEAD, target, route, headers, clock).await
    }

    fn ask<'a>(
        method: Method,
        target: &'a Target,
        route: &'a str,
        headers: &'a HeaderMap,
        clock: MonotonicClock,
    ) -> BoxFuture<'a, Result<Self, ClientError>> {
        Box::pin(async move {
            let request = request::build(target, method, route, headers, Bytes::new())?;
            let mut watch = Watch::start(clock, target.timeouts());
            let pool = Pool::new(target.clone(), clock);
            let exchange = Exchange::begin(&pool, request, &mut watch, &mut Unobserved).await?;
            Ok(Self { exchange, watch })
        })
    }

    /// Returns the status of the answer.
    pub fn status(&self) -> u16 {
        self.exchange.status().as_u16()
    }

    /// Returns a header of the answer, if it is present and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.exchange.headers().get(name)?.to_str().ok()
    }

    /// Returns the next bytes of the body; `None` at its end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let (mut bytes, mut progress) = (Vec::new(), Progress::More);
        while bytes.is_empty() && progress == Progress::More {
            let keep = |_, piece: &[u8]| bytes.extend_from_slice(piece);
            progress = self.exchange.read(&mut self.watch, keep).await?;
        }
        Ok((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// Reads the rest of the body, truncated at `limit` bytes.
    pub async fn collect(&mut self, limit: usize) -> Result<Vec<u8>, ClientError> {
        self.exchange.collect(&mut self.watch, limit).await
    }
}
