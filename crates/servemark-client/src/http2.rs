//! Connections over HTTP/2. Several requests share each of them.

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use servemark_core::Unprocessed;

use crate::boxed::BoxFuture;
use crate::failure::{ConnectionLoss, causes};
use crate::link::{HyperAnswer, HyperRequest, drive};
use crate::stream::Stream;

/// Sends requests over a connection. Clones send over the same one.
#[derive(Clone, Debug)]
pub(crate) struct Http2Sender(http2::SendRequest<Full<Bytes>>);

impl Http2Sender {
    /// Performs the protocol handshake; the connection is given to a task.
    pub(crate) async fn handshake(stream: Stream) -> Result<Self, ConnectionLoss> {
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            // The others wait for the server's limit, which arrives with its first bytes.
            .initial_max_send_streams(1)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(drive(connection));
        Ok(Self(sender))
    }

    /// Sends a request as a stream of its own.
    pub(crate) fn ask(&mut self, request: &HyperRequest) -> BoxFuture<'_, HyperAnswer> {
        Box::pin(self.0.try_send_request(request.clone()))
    }

    /// Returns whether the connection is known to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits until another request can be sent; returns false if none can.
    pub(crate) async fn is_free(&mut self) -> bool {
        self.0.ready().await.is_ok()
    }
}

/// Returns what HTTP/2 guarantees about a stream that the server ended: a stream that was refused,
/// or whose id is above the last one of a GOAWAY, was not processed (RFC 9113, 8.7). Streams up to
/// the last id end with an I/O error instead.
pub(crate) fn refusal(error: &hyper::Error) -> Option<Unprocessed> {
    let error = causes(error).find_map(|cause| cause.downcast_ref::<h2::Error>())?;
    match error {
        error if !error.is_remote() => None,
        error if error.is_go_away() => Some(Unprocessed::GoAway),
        error if error.reason() == Some(h2::Reason::REFUSED_STREAM) => {
            Some(Unprocessed::RefusedStream)
        }
        _ => None,
    }
}

/// Flow-control windows so large that they never throttle the server under test; the protocol's
/// default of 64 KiB for all streams together would.
const STREAM_WINDOW: u32 = 16 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;
