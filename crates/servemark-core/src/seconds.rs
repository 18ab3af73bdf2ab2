//! How a duration stands in a file: as seconds. For `#[serde(with = "servemark_core::seconds")]`.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The same of a duration that may be absent: `#[serde(with = "servemark_core::seconds::optional")]`.
pub mod optional {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize, Serialize)]
    struct Seconds(#[serde(with = "super")] Duration);

    /// Writes seconds, or null.
    pub fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(Seconds).serialize(to)
    }

    /// Reads seconds, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Seconds>::deserialize(from)?.map(|seconds| seconds.0))
    }
}

/// Writes seconds.
pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(to)
}

/// Reads seconds; a negative number is refused.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
}
