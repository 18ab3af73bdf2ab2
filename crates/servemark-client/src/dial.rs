//! Opens a connection: look-up, TCP, TLS, and what each of them took.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use servemark_core::{Clock, Connection, MonotonicClock};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::client::TlsStream;

use crate::error::{ClientError, ClientErrorKind};
use crate::stamp_io::{StampIo, Wire};
use crate::stream::Stream;
use crate::target::{HttpVersion, Target};
use crate::tls;

/// An open stream to a target.
#[derive(Debug)]
pub(crate) struct Dialed {
    pub(crate) stream: Stream,
    pub(crate) wire: Arc<Wire>,
    pub(crate) cost: Connection,
}

/// Opens a stream to the target. Without a time-out of its own: the caller watches.
pub(crate) async fn dial(target: &Target, clock: MonotonicClock) -> Result<Dialed, ClientError> {
    let start = clock.now();
    let tcp = connect(target).await.map_err(|error| unreachable(target, error))?;
    let io = StampIo::new(tcp, clock);
    let wire = io.wire();
    let connected = clock.now();
    let connect_ns = nanos(connected.since(start));
    let Some(connector) = target.tls() else {
        let cost = Connection::New { connect_ns, tls_ns: None };
        return Ok(Dialed { stream: Stream::Plain(io), wire, cost });
    };
    let stream = connector.connect(server_name(target)?, io).await;
    let stream = stream.map_err(|error| handshake_failed(target, error))?;
    check_protocol(target, &stream)?;
    let cost = Connection::New { connect_ns, tls_ns: Some(nanos(clock.now().since(connected))) };
    Ok(Dialed { stream: Stream::Tls(Box::new(stream)), wire, cost })
}

/// Looks the name up anew each time, as a load balancer by DNS wants it, and tries every address.
async fn connect(target: &Target) -> io::Result<TcpStream> {
    let base = target.base_url();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup_host((base.host(), base.port())).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn server_name(target: &Target) -> Result<ServerName<'static>, ClientError> {
    ServerName::try_from(target.base_url().host().to_owned()).map_err(|error| {
        let message = format!("{} has no host that TLS can verify", target.base_url());
        ClientError::new(ClientErrorKind::Tls, message).caused_by(error)
    })
}

/// A server without ALPN speaks HTTP/1.1; HTTP/2 has to be agreed upon.
fn check_protocol(target: &Target, stream: &TlsStream<StampIo>) -> Result<(), ClientError> {
    let agreed = stream.get_ref().1.alpn_protocol();
    if target.http_version() == HttpVersion::Http1
        || agreed == Some(tls::protocol(HttpVersion::Http2))
    {
        return Ok(());
    }
    let message = format!("{} does not offer HTTP/2; ask it over HTTP/1.1", target.base_url());
    Err(ClientError::new(ClientErrorKind::Tls, message))
}

fn unreachable(target: &Target, error: io::Error) -> ClientError {
    let base = target.base_url();
    let cure = match error.kind() {
        io::ErrorKind::ConnectionRefused => "; is the server running?",
        io::ErrorKind::AddrNotAvailable => "; no local port is left, open fewer connections",
        _ => "",
    };
    let message = format!("cannot connect to {base}{cure}");
    ClientError::new(ClientErrorKind::Connect, message).caused_by(error)
}

/// The handshake speaks through `io::Error`: what rustls objects to is TLS, a lost connection is
/// not.
fn handshake_failed(target: &Target, error: io::Error) -> ClientError {
    let objected = matches!(error.get_ref(), Some(inner) if inner.is::<rustls::Error>());
    let (kind, what) = if objected {
        (ClientErrorKind::Tls, "no TLS handshake with")
    } else {
        (ClientErrorKind::Connect, "the connection was lost in the TLS handshake with")
    };
    ClientError::new(kind, format!("{what} {}", target.base_url())).caused_by(error)
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
