//! An open stream, encrypted or not.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use servemark_core::{SocketFacts, Stamp};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use crate::receive::Unread;
use crate::stamp_io::StampIo;

/// An open stream. Stamps are taken below TLS, where the socket is read.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(StampIo),
    Tls(Box<TlsStream<StampIo>>),
}

impl Stream {
    /// Returns whether the kernel knows that the other side has closed the stream or sent bytes
    /// without a request. Encrypted bytes may belong to TLS itself, such as session tickets, so
    /// under TLS only the end counts.
    pub(crate) fn is_spent(&self) -> bool {
        match self {
            Self::Plain(io) => io.unread() != Unread::Nothing,
            Self::Tls(io) => io.get_ref().0.unread() == Unread::End,
        }
    }

    /// Returns a second handle of the socket that performs the check of
    /// [`is_spent`](Self::is_spent) while another component owns the stream.
    pub(crate) fn probe(&self) -> io::Result<Probe> {
        Ok(match self {
            Self::Plain(io) => Probe { socket: io.socket()?, is_encrypted: false },
            Self::Tls(io) => Probe { socket: io.get_ref().0.socket()?, is_encrypted: true },
        })
    }

    /// Returns a second handle of the socket, for an unencrypted write on another thread.
    pub(crate) fn socket(&self) -> io::Result<TcpStream> {
        match self {
            Self::Plain(io) => io.socket(),
            Self::Tls(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Asks for transmit stamps. Under TLS it is unknown which bytes belong to a request, so there
    /// are none.
    pub(crate) fn enable_transmit_stamps(&mut self) {
        match self {
            Self::Plain(io) => io.enable_transmit_stamps(),
            Self::Tls(_) => {}
        }
    }

    fn answer_read(&self, bytes: &[u8]) {
        match self {
            Self::Plain(io) => io.answer_read(bytes),
            Self::Tls(io) => io.get_ref().0.answer_read(bytes),
        }
    }

    /// Records that `bytes` bytes were written on another thread, which cannot encrypt.
    pub(crate) fn was_written(&mut self, bytes: usize) {
        match self {
            Self::Plain(io) => io.was_written(bytes),
            Self::Tls(_) => {}
        }
    }

    /// Returns when the last written byte left, if the kernel reports it.
    pub(crate) fn transmit_time(&self) -> Option<Stamp> {
        match self {
            Self::Plain(io) => io.transmit_time(),
            Self::Tls(_) => None,
        }
    }

    /// Returns the kernel's counts since the last call, if it reports them.
    pub(crate) fn facts(&mut self) -> Option<SocketFacts> {
        match self {
            Self::Plain(io) => io.facts(),
            Self::Tls(io) => io.get_mut().0.facts(),
        }
    }
}

/// A second handle of a stream's socket, to check it without reading.
#[derive(Debug)]
pub(crate) struct Probe {
    socket: TcpStream,
    is_encrypted: bool,
}

impl Probe {
    /// Returns what [`Stream::is_spent`] returns for the stream.
    pub(crate) fn is_spent(&self) -> bool {
        match Unread::on(&self.socket) {
            Unread::Nothing => false,
            Unread::Bytes => !self.is_encrypted,
            Unread::End => true,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let stream = self.get_mut();
        ready!(match stream {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Self::Tls(io) => Pin::new(io).poll_read(cx, buffer),
        })?;
        stream.answer_read(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Self::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write_vectored(cx, pieces),
            Self::Tls(io) => Pin::new(io).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            Self::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Self::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
