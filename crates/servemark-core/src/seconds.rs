//! Serialises durations as seconds, for `#[serde(with = "servemark_core::seconds")]`.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serialises optional durations as seconds, for
/// `#[serde(with = "servemark_core::seconds::optional")]`.
pub mod optional {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize, Serialize)]
    struct Seconds(#[serde(with = "super")] Duration);

    /// Writes the duration as seconds, or null.
    pub fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(Seconds).serialize(to)
    }

    /// Reads a duration from seconds, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Seconds>::deserialize(from)?.map(|seconds| seconds.0))
    }
}

/// Writes the duration as seconds.
pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(to)
}

/// Reads a duration from seconds; a negative number is an error.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
}
