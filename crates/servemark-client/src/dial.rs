//! Opens connections: look-up, TCP and TLS, with the time of each.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use servemark_core::{Clock, Connection, MonotonicClock};
use servemark_target::HttpVersion;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::client::TlsStream;

use crate::error::{ClientError, ClientErrorKind};
use crate::stamp_io::{StampIo, Wire};
use crate::stream::Stream;
use crate::target::Target;
use crate::tls::{self, TlsAdvice};

/// An open stream to a target.
#[derive(Debug)]
pub(crate) struct Dialed {
    pub(crate) stream: Stream,
    pub(crate) wire: Arc<Wire>,
    pub(crate) cost: Connection,
}

/// Opens a stream to the target. It has no time-out of its own: the caller sets one.
pub(crate) async fn dial(target: &Target, clock: MonotonicClock) -> Result<Dialed, ClientError> {
    let start = clock.now();
    let tcp = connect(target).await?;
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

/// Opens a TCP connection. Looks the name up each time, as load balancing by DNS requires, and
/// tries all addresses.
pub(crate) async fn connect(target: &Target) -> Result<TcpStream, ClientError> {
    let base = target.base_url();
    let addresses = lookup_host((base.host(), base.port())).await;
    let mut last = None;
    for address in addresses.map_err(|error| unknown(target, error))? {
        let stream = TcpStream::connect(address).await;
        match stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(unreachable(target, error)),
        }
    }
    let nowhere = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    Err(last.unwrap_or_else(|| unknown(target, nowhere())))
}

/// Returns the error of a failed look-up. It is permanent unless the resolver failed temporarily.
fn unknown(target: &Target, error: io::Error) -> ClientError {
    let base = target.base_url();
    // The standard library hides the resolver's error code, so the C library's text is searched.
    let words = error.to_string();
    let is_for_now = ["Temporary failure", "Try again"].iter().any(|phrase| words.contains(phrase));
    let message = format!("cannot find the address of {}; is the name right?", base.host());
    ClientError::new(ClientErrorKind::Connect, message).caused_by(error).permanent_if(!is_for_now)
}

fn server_name(target: &Target) -> Result<ServerName<'static>, ClientError> {
    ServerName::try_from(target.base_url().host().to_owned()).map_err(|error| {
        let message = format!("{} has no host that TLS can verify", target.base_url());
        ClientError::new(ClientErrorKind::Tls, message).caused_by(error)
    })
}

/// Checks the negotiated protocol. Without ALPN a server speaks HTTP/1.1; HTTP/2 must be
/// negotiated.
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
        io::ErrorKind::ConnectionRefused => {
            ", which refused the connection; is the server running?"
        }
        io::ErrorKind::ConnectionReset => ", which reset the connection while it was opened",
        io::ErrorKind::AddrNotAvailable => "; no local port is left, open fewer connections",
        _ => "",
    };
    let message = format!("cannot connect to {base}{cure}");
    ClientError::new(ClientErrorKind::Connect, message).caused_by(error)
}

/// Returns the error of a failed handshake, which TLS reports as an `io::Error`: an error of rustls
/// is a TLS error, any other is a lost connection.
fn handshake_failed(target: &Target, error: io::Error) -> ClientError {
    let base = target.base_url();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(advice) = inner.map(|error| TlsAdvice::of(error, base.host())) else {
        let message = format!(
            "the connection was lost in the TLS handshake with {base}; servers without TLS do that: is \
             this port for http://?"
        );
        return ClientError::new(ClientErrorKind::Connect, message).caused_by(error);
    };
    let message = format!("no TLS handshake with {base}{}", advice.cure);
    ClientError::new(ClientErrorKind::Tls, message)
        .caused_by(error)
        .permanent_if(advice.is_permanent)
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
