//! Ranks that find each other through a NATS server.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, RequestErrorKind};
use bytes::Bytes;
use futures_util::StreamExt;
use servemark::{ExitCode, RankError};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::coordinator::{
    Coordinator, CoordinatorError, CoordinatorFuture, MOST_WAITING, Message, Reply, Subscription,
};
use crate::pause::pause;

/// Carries messages through a NATS server.
#[derive(Debug)]
pub struct Nats {
    client: Client,
    /// The runtime on which the connection lives.
    runtime: Option<Runtime>,
}

/// How a NATS server lets a client in, as NATS knows it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NatsAccess {
    /// File with a user's credentials (`.creds`).
    pub credentials: Option<PathBuf>,
    /// Token of the server.
    pub token: Option<String>,
    /// Name and password of a user.
    pub user: Option<(String, String)>,
    /// File with the certificates by which the server's is checked, besides those of the system.
    pub root_certificates: Option<PathBuf>,
    /// Files with this client's certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl Nats {
    /// Connects to a server such as `nats://host:4222` or `tls://host:4222`. Tries again until
    /// `patience` is over, because the server may start later than this program. Blocks the calling
    /// thread.
    pub fn connect(url: &str, access: &NatsAccess, patience: Duration) -> Result<Self, RankError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nats")
            .enable_all()
            .build()
            .map_err(|error| RankError::new(error.to_string(), ExitCode::Internal))?;
        let client = runtime.block_on(connected(url, access, patience))?;
        Ok(Self { client, runtime: Some(runtime) })
    }
}

async fn connected(
    url: &str,
    access: &NatsAccess,
    patience: Duration,
) -> Result<Client, RankError> {
    let usage = |message: String| RankError::new(message, ExitCode::Usage);
    let connecting = async {
        loop {
            let options = options(access).await.map_err(usage)?;
            match options.connect(url).await {
                Ok(client) => return Ok(client),
                Err(error) if is_refusal(&error) => {
                    return Err(usage(format!(
                        "the coordinator {url} refuses this client: {error}"
                    )));
                }
                Err(error) if is_failed_encryption(&error) => {
                    return Err(usage(format!(
                        "no encrypted connection to the coordinator {url}: {error} (the \
                         authority of its certificate must be known here)"
                    )));
                }
                Err(_) => pause(RECONNECT).await,
            }
        }
    };
    if let Ok(connected) = tokio::time::timeout(patience, connecting).await {
        return connected;
    }
    let last = match options(access).await {
        Ok(options) => options.connect(url).await.err().map(|error| error.to_string()),
        Err(error) => Some(error),
    };
    let reason = last.unwrap_or_else(|| "it answered too late".to_owned());
    Err(RankError::new(
        format!("the coordinator {url} cannot be reached ({reason}): does nats-server run there?"),
        ExitCode::NotReady,
    ))
}

/// Returns whether another try would be refused in the same way.
fn is_refusal(error: &async_nats::ConnectError) -> bool {
    use async_nats::ConnectErrorKind::{Authentication, AuthorizationViolation, ServerParse};
    matches!(error.kind(), Authentication | AuthorizationViolation | ServerParse)
}

/// Returns whether the files with certificates cannot be used, or one side did not accept the other's
/// certificate, which TLS reports as invalid data of the connection.
fn is_failed_encryption(error: &async_nats::ConnectError) -> bool {
    if error.kind() == async_nats::ConnectErrorKind::Tls {
        return true;
    }
    let first = std::error::Error::source(error);
    let mut causes = std::iter::successors(first, |cause| cause.source());
    causes.any(|cause| {
        let error = cause.downcast_ref::<std::io::Error>();
        error.is_some_and(|error| error.kind() == std::io::ErrorKind::InvalidData)
    })
}

async fn options(access: &NatsAccess) -> Result<ConnectOptions, String> {
    let mut options = ConnectOptions::new()
        .name("servemark")
        .connection_timeout(CONNECT)
        .ping_interval(PING)
        .reconnect_delay_callback(|_| RECONNECT);
    if let Some(path) = &access.credentials {
        let of_file = options.credentials_file(path).await;
        options = of_file.map_err(|error| {
            format!("the coordinator's credentials {} cannot be read: {error}", path.display())
        })?;
    }
    if let Some(token) = &access.token {
        options = options.token(token.clone());
    }
    if let Some((name, password)) = &access.user {
        options = options.user_and_password(name.clone(), password.clone());
    }
    if let Some(path) = &access.root_certificates {
        options = options.add_root_certificates(path.clone());
    }
    if let Some((certificate, key)) = &access.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(options)
}

impl Drop for Nats {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Coordinator for Nats {
    fn publish(&self, subject: String, payload: Bytes) -> CoordinatorFuture<'_, ()> {
        Box::pin(async move {
            let published = self.client.publish(subject, payload).await;
            published.map_err(|error| CoordinatorError::Connection(error.to_string()))
        })
    }

    fn request(
        &self,
        subject: String,
        payload: Bytes,
        patience: Duration,
    ) -> CoordinatorFuture<'_, Bytes> {
        Box::pin(async move {
            let request = async_nats::Request::new().payload(payload).timeout(Some(patience));
            let reply = self.client.send_request(subject.clone(), request).await;
            match reply {
                Ok(message) => Ok(message.payload),
                Err(error) => Err(match error.kind() {
                    RequestErrorKind::NoResponders => CoordinatorError::NoResponder { subject },
                    // A lost connection is built up again, so it is only a matter of time.
                    _ => CoordinatorError::TimedOut(patience),
                }),
            }
        })
    }

    fn subscribe(&self, subject: String) -> CoordinatorFuture<'_, Subscription> {
        Box::pin(async move {
            let failed =
                |error: &dyn std::fmt::Display| CoordinatorError::Connection(error.to_string());
            let mut incoming =
                self.client.subscribe(subject).await.map_err(|error| failed(&error))?;
            // The subscription must be at the server before anything is expected from it.
            self.client.flush().await.map_err(|error| failed(&error))?;
            let (sender, receiver) = mpsc::channel(MOST_WAITING);
            let client = self.client.clone();
            tokio::spawn(async move {
                while let Some(message) = incoming.next().await {
                    let reply = message.reply.map(|to| answer(client.clone(), to));
                    if sender.send(Message::new(message.payload, reply)).await.is_err() {
                        break;
                    }
                }
            });
            Ok(Subscription::new(receiver))
        })
    }
}

fn answer(client: Client, to: async_nats::Subject) -> Reply {
    Reply::new(move |payload| {
        Box::pin(async move {
            let published = client.publish(to, payload).await;
            published.map_err(|error| CoordinatorError::Connection(error.to_string()))
        })
    })
}

/// Time for one try to connect.
const CONNECT: Duration = Duration::from_secs(3);

/// Pause before a lost connection is built up again.
const RECONNECT: Duration = Duration::from_millis(250);

/// Time between two questions whether the server is still there. A cut network is noticed by it.
const PING: Duration = Duration::from_secs(2);
