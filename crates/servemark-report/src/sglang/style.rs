//! The SGLang releases whose tables and result lines can be written.

use serde::{Deserialize, Serialize};
use servemark_metrics::{Latency, MetricPolicy, Metrics, Summary};

/// The SGLang release whose table and result line are written. A later release has all rows and
/// keys of an earlier one.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum SglangStyle {
    /// 0.5.1: no time per output token, no peaks, and input tokens as one number.
    V0_5_1,
    /// 0.5.6: adds peaks, the time per output token, and input tokens split into text and vision.
    V0_5_6,
    /// 0.5.9 and 0.5.13: adds the 90th percentile of the latency; vision tokens only for image data
    /// sets.
    V0_5_9,
    /// 0.5.23: the 90th, 95th and 99th percentiles of all latencies.
    #[default]
    Newest,
}

impl SglangStyle {
    /// Names of all styles, without the prefix `sglang-`.
    pub const NAMES: [&'static str; 4] = ["0.5.23", "0.5.9", "0.5.6", "0.5.1"];

    /// Returns the style with this name: `sglang`, `sglang-0.5.9`, `sglang-0.5.6` or
    /// `sglang-0.5.1`. Release numbers are also accepted without the prefix.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("sglang-").unwrap_or(name) {
            "sglang" | "0.5.23" => Some(Self::Newest),
            "0.5.9" => Some(Self::V0_5_9),
            "0.5.6" => Some(Self::V0_5_6),
            "0.5.1" => Some(Self::V0_5_1),
            _ => None,
        }
    }

    /// Returns the metric policy of the release.
    pub fn policy(self) -> MetricPolicy {
        match self {
            Self::V0_5_1 => MetricPolicy::sglang_0_5_1(),
            Self::V0_5_6 | Self::V0_5_9 | Self::Newest => MetricPolicy::sglang(),
        }
    }

    /// Returns whether the table has rows of vision tokens for the data set.
    pub(super) fn has_vision_rows(self, dataset: &str) -> bool {
        match self {
            Self::V0_5_1 => false,
            Self::V0_5_6 => true,
            Self::V0_5_9 | Self::Newest => ["image", "mmmu"].contains(&dataset),
        }
    }

    /// Returns the percentiles of a latency in the table.
    pub(super) fn table_percentiles(self, latency: Latency) -> &'static [f64] {
        match (self, latency) {
            (Self::Newest, _) => &[90.0, 95.0, 99.0],
            (Self::V0_5_9, Latency::E2el) => &[90.0, 99.0],
            (_, Latency::E2el) => &[],
            (_, Latency::Itl) => &[95.0, 99.0],
            _ => &[99.0],
        }
    }

    /// Returns the percentiles of a latency in the result line.
    pub(super) fn result_percentiles(self, latency: Latency) -> &'static [f64] {
        match (self, latency) {
            (Self::Newest, _) => &[90.0, 95.0, 99.0],
            (Self::V0_5_9, Latency::E2el) => &[90.0, 99.0],
            (_, Latency::Itl) => &[95.0, 99.0],
            _ => &[99.0],
        }
    }

    /// Returns whether the table has a section for this latency. The result line has all latencies.
    pub(super) const fn has_section(self, latency: Latency) -> bool {
        !matches!((self, latency), (Self::V0_5_1, Latency::Tpot))
    }
}

/// A latency in SGLang's table and line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) latency: Latency,
    /// Name in keys.
    pub(super) key: &'static str,
    /// Name in the rows of the table.
    pub(super) label: &'static str,
    /// Title of the section.
    pub(super) title: &'static str,
}

impl Family {
    /// All latencies in the order of the table and the line.
    pub(super) const ALL: [Self; 4] = [
        family(Latency::E2el, "e2e_latency", "E2E Latency", "End-to-End Latency"),
        family(Latency::Ttft, "ttft", "TTFT", "Time to First Token"),
        family(Latency::Tpot, "tpot", "TPOT", "Time per Output Token (excl. 1st token)"),
        family(Latency::Itl, "itl", "ITL", "Inter-Token Latency"),
    ];

    pub(super) fn summary(self, metrics: &Metrics) -> &Summary {
        metrics.latencies.summary(self.latency).expect("SGLang has the latencies of every run")
    }
}

const fn family(
    latency: Latency,
    key: &'static str,
    label: &'static str,
    title: &'static str,
) -> Family {
    Family { latency, key, label, title }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read() {
        let read = SglangStyle::NAMES.map(SglangStyle::from_name);
        let all =
            [SglangStyle::Newest, SglangStyle::V0_5_9, SglangStyle::V0_5_6, SglangStyle::V0_5_1];
        assert_eq!(read, all.map(Some));
        assert_eq!(SglangStyle::from_name("sglang-0.5.1"), Some(SglangStyle::V0_5_1));
        assert_eq!(SglangStyle::from_name("sglang"), Some(SglangStyle::Newest));
        assert_eq!(SglangStyle::from_name("0.5.2"), None);
    }
}
