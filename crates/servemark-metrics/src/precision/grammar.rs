//! Text form of required precisions: `ttft:mean+-2%`, several separated by commas.

use std::fmt;
use std::str::FromStr;

use super::{HalfWidth, Precision};
use crate::grammar::{percent, positive, time_ms};
use crate::{Estimand, MetricsError};

impl Precision {
    /// Parses precisions separated by commas.
    pub fn list(text: &str) -> Result<Vec<Self>, MetricsError> {
        text.split(',').map(str::parse).collect()
    }
}

impl FromStr for Precision {
    type Err = MetricsError;

    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let malformed = || MetricsError::Precision { given: text.to_owned() };
        let parts = text.split_once("+-").or_else(|| text.split_once('±'));
        let (figure, within) = parts.ok_or_else(malformed)?;
        let of: Estimand = figure.trim().parse()?;
        let within = half_width(within.trim()).ok_or_else(malformed)?;
        let is_latency = matches!(of, Estimand::Latency(..));
        match within {
            HalfWidth::Milliseconds(_) if !is_latency => Err(malformed()),
            _ => Ok(Self { of, within }),
        }
    }
}

/// Parses a half width such as `2%`, `5ms`, `500us` or `1s`.
fn half_width(text: &str) -> Option<HalfWidth> {
    match text.strip_suffix('%') {
        Some(percent) => positive(percent).map(|percent| HalfWidth::Share(percent / 100.0)),
        None => time_ms(text).map(HalfWidth::Milliseconds),
    }
}

/// Displays the half width as `2%` or `5ms`.
impl fmt::Display for HalfWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Rounding makes 0.07, which is no binary fraction, read 7%.
            Self::Share(share) => write!(f, "{}%", percent(*share)),
            Self::Milliseconds(most) => write!(f, "{most}ms"),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+-{}", String::from(self.of), self.within)
    }
}

impl TryFrom<String> for Precision {
    type Error = MetricsError;

    fn try_from(text: String) -> Result<Self, MetricsError> {
        text.parse()
    }
}

impl From<Precision> for String {
    fn from(precision: Precision) -> Self {
        precision.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_read_as_people_write_it() {
        for (given, canonical) in [
            ("ttft:mean+-2%", "ttft:mean+-2%"),
            ("ttft:p99 ± 5 ms", "ttft:p99+-5ms"),
            ("e2el:median+-7%", "e2el:p50+-7%"),
            ("itl:p50+-500us", "itl:p50+-0.5ms"),
            ("output_tokens_per_s+-0.5%", "output_tokens_per_s+-0.5%"),
        ] {
            let precision: Precision = given.parse().unwrap();
            assert_eq!(precision.to_string(), canonical);
            assert_eq!(canonical.parse::<Precision>().unwrap(), precision);
        }
        assert_eq!(Precision::list("ttft:mean+-2%,itl:p99+-5ms").unwrap().len(), 2);
    }

    #[test]
    fn what_says_no_precision_is_refused() {
        for wrong in ["ttft:mean", "ttft:mean+-2", "ttft:mean+-0%", "ttft+-2%", "ttft:mean<2%"] {
            assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
        }
        let error = "requests_per_s+-5ms".parse::<Precision>().unwrap_err().to_string();
        assert!(error.starts_with("expected a figure and how well"), "{error}");
    }
}
