//! Readers that are compared.

use serde::{Deserialize, Serialize};

use super::Program;

/// A reader: it sends the requests and reads the answers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// A bare reader, which only reads and takes arrivals from its own clock.
    Floor,
    /// A bare reader with the kernel's stamps.
    StampedFloor,
    /// The client, on OpenAI's chat route.
    Chat,
    /// The client, on OpenAI's chat route, with hyper's HTTP/1.1 instead of its own.
    ChatByHyper,
    /// The client, on SGLang's `/generate`, whose chunks repeat the whole text.
    Generate,
    /// The client, on OpenAI's route for embeddings.
    Embeddings,
    /// A whole program, as a user runs it.
    Program(Program),
}

impl Reader {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "bare reader",
            Self::StampedFloor => "bare reader, stamped",
            Self::Chat => "chat",
            Self::ChatByHyper => "chat by hyper",
            Self::Generate => "`/generate`",
            Self::Embeddings => "embeddings",
            Self::Program(program) => program.name(),
        }
    }
}
