//! Pictures of a table with what is asked about them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{EvalscopeData, EvalscopeName};

/// Pictures of a table with what is asked about them, in its order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalscopePicturedSpec {
    /// Which.
    pub pictured: EvalscopePictured,
    /// The folder of its tables, or one of them; without one, they are downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
}

impl EvalscopePicturedSpec {
    pub(super) fn of(pictured: EvalscopePictured) -> EvalscopeData {
        EvalscopeData::Pictured(Self { pictured, path: None })
    }
}

/// A data set of pictures.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EvalscopePictured {
    /// Pictures with their captions.
    Flickr8k,
    /// Pictures with what is to be done to them.
    KontextBench,
    /// Questions of MMMU with two pictures or more, one subject after the other.
    MmmuMultiImage,
}

impl EvalscopePictured {
    pub(super) fn name(self) -> EvalscopeName {
        match self {
            Self::Flickr8k => EvalscopeName::Flickr8k,
            Self::KontextBench => EvalscopeName::KontextBench,
            Self::MmmuMultiImage => EvalscopeName::MmmuMultiImage,
        }
    }
}
