//! Subjects of an examination: an engine's servers, or the engine without a server.

use anyhow::Context;

use super::USAGE;
use super::engine::{self, Engine, Offline};
use super::offline;

/// Subject of an examination.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    /// The servers of an engine.
    Served(&'static Engine),
    /// An engine without a server.
    Offline(&'static Engine, Offline),
}

impl Subject {
    /// Returns all subjects, grouped by engine.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        engine::ALL.into_iter().flat_map(|engine| {
            let offline = engine.offline.map(|offline| Self::Offline(engine, offline));
            [Some(Self::Served(engine)), offline].into_iter().flatten()
        })
    }

    /// Returns the subject of this name.
    pub(super) fn from_name(name: &str) -> anyhow::Result<Self> {
        let found = Self::all().find(|subject| subject.name() == name);
        found.with_context(|| format!("there is no engine {name:?}; usage: {USAGE}"))
    }

    /// Returns the engine; both subjects of an engine share its installation.
    pub(super) fn engine(self) -> &'static Engine {
        match self {
            Self::Served(engine) | Self::Offline(engine, _) => engine,
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Served(engine) => engine.name.to_owned(),
            Self::Offline(engine, _) => offline::name(engine),
        }
    }

    /// Returns the display name.
    pub(super) fn title(self) -> String {
        match self {
            Self::Served(engine) => engine.title.to_owned(),
            Self::Offline(engine, _) => format!("{} without a server", engine.title),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_without_a_server_has_a_name_of_its_own() {
        let subject = Subject::from_name("vllm-offline").unwrap();
        assert!(matches!(subject, Subject::Offline(engine, _) if engine.name == "vllm"));
        assert_eq!(subject.title(), "vLLM without a server");
        assert!(Subject::from_name("mlx-offline").is_err());
    }
}
