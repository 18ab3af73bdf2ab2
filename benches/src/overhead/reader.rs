//! Who reads.

use serde::{Deserialize, Serialize};

use super::Program;

/// Who sends and reads.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reader {
    /// One that only reads, and looks at its own clock.
    Floor,
    /// The same, with the kernel's stamps.
    StampedFloor,
    /// The client, on OpenAI's chat route.
    Chat,
    /// The same, with hyper's HTTP/1.1 in place of our own.
    ChatByHyper,
    /// The client, on SGLang's `/generate`, whose chunks repeat the whole text.
    Generate,
    /// The client, on OpenAI's route for embeddings.
    Embeddings,
    /// A whole program, as a user runs it.
    Program(Program),
}

impl Reader {
    /// As tables call it.
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
