//! Stub of HTTP/2 for builds without the feature `http2`. `Target::new` refuses HTTP/2 there, so no
//! connection is opened.

use std::convert::Infallible;
use std::io;

use servemark_core::Unprocessed;

use crate::boxed::BoxFuture;
use crate::failure::ConnectionLoss;
use crate::link::{HyperAnswer, HyperRequest};
use crate::stream::Stream;

#[derive(Clone, Debug)]
pub(crate) struct Http2Sender(Infallible);

impl Http2Sender {
    #[expect(clippy::unused_async, reason = "the function that it stands for waits")]
    pub(crate) async fn handshake(_stream: Stream) -> Result<Self, ConnectionLoss> {
        Err(io::Error::from(io::ErrorKind::Unsupported).into())
    }

    pub(crate) fn ask(&mut self, _request: &HyperRequest) -> BoxFuture<'_, HyperAnswer> {
        match self.0 {}
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "the function that it stands for waits")]
    pub(crate) async fn is_free(&mut self) -> bool {
        match self.0 {}
    }
}

pub(crate) fn refusal(_error: &hyper::Error) -> Option<Unprocessed> {
    None
}
