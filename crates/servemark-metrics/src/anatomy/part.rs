//! The names of the parts.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of a request's time. Each part ends where the next one begins.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum RequestPart {
    /// From due until the concurrency limit let the request pass.
    GateWait,
    /// From the instant at which the request was due and let through until its first byte was
    /// passed to the kernel; contains the opening of a connection.
    SendLag,
    /// From the first byte that the client passed to its kernel until the server had received the
    /// request.
    RequestTransit,
    /// From the reception until the request was in the engine's queue.
    ServerFrontend,
    /// In the engine's queue.
    ServerQueue,
    /// Computing the prompt, up to the first token.
    Prefill,
    /// Moving the prompt's key-value cache to another worker.
    KvTransfer,
    /// Everything else between sending and the first output: inside the server and, unless the
    /// server reports instants, on the way to it and back.
    InsideServer,
    /// From when the server sent its first output until it arrived.
    ResponseTransit,
    /// From the arrival of the first output until the client had read it.
    ReadLag,
    /// From the first output to the end.
    Decode,
}

impl RequestPart {
    /// All parts, in the order in which they happen.
    pub const ALL: [Self; 11] = [
        Self::GateWait,
        Self::SendLag,
        Self::RequestTransit,
        Self::ServerFrontend,
        Self::ServerQueue,
        Self::Prefill,
        Self::KvTransfer,
        Self::InsideServer,
        Self::ResponseTransit,
        Self::ReadLag,
        Self::Decode,
    ];

    /// Returns the name in objectives and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GateWait => "gate_wait",
            Self::SendLag => "send_lag",
            Self::RequestTransit => "request_transit",
            Self::ServerFrontend => "server_frontend",
            Self::ServerQueue => "server_queue",
            Self::Prefill => "prefill",
            Self::KvTransfer => "kv_transfer",
            Self::InsideServer => "inside_server",
            Self::ResponseTransit => "response_transit",
            Self::ReadLag => "read_lag",
            Self::Decode => "decode",
        }
    }

    /// Returns the part with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }

    /// Returns whether the part lies before the first output.
    pub const fn precedes_first_output(self) -> bool {
        !matches!(self, Self::Decode)
    }

    pub(super) const fn place(self) -> usize {
        self as usize
    }
}

impl<'de> Deserialize<'de> for RequestPart {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("a request has no part {name:?}"));
        Self::from_name(&name).ok_or_else(unknown)
    }
}

impl Serialize for RequestPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
