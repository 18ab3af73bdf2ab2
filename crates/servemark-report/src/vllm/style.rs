//! The vLLM releases whose tables and results can be written.

use serde::{Deserialize, Serialize};

/// The vLLM release whose table and result are written. A later release has all rows and keys of an
/// earlier one.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum VllmStyle {
    /// 0.10.0: neither the requested load nor failures or peaks; `Total Token throughput`.
    V0_10_0,
    /// 0.10.2: adds the requested load.
    V0_10_2,
    /// 0.11.0: adds peaks.
    V0_11_0,
    /// 0.11.1 and 0.12.0: adds failures.
    V0_11_1,
    /// 0.33.0: `Total token throughput`; adds speculative decoding and queue times in the client.
    #[default]
    Newest,
}

impl VllmStyle {
    /// Names of all styles, without the prefix `vllm-`.
    pub const NAMES: [&'static str; 5] = ["0.33.0", "0.11.1", "0.11.0", "0.10.2", "0.10.0"];

    /// Returns the style with this name: `vllm`, `vllm-0.11.1`, `vllm-0.11.0`, `vllm-0.10.2` or
    /// `vllm-0.10.0`. Release numbers are also accepted without the prefix.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("vllm-").unwrap_or(name) {
            "vllm" | "0.33.0" => Some(Self::Newest),
            "0.11.1" => Some(Self::V0_11_1),
            "0.11.0" => Some(Self::V0_11_0),
            "0.10.2" => Some(Self::V0_10_2),
            "0.10.0" => Some(Self::V0_10_0),
            _ => None,
        }
    }

    pub(super) const fn total_label(self) -> &'static str {
        match self {
            Self::Newest => "Total token throughput (tok/s):",
            _ => "Total Token throughput (tok/s):",
        }
    }

    /// Returns whether a result of this release has the key.
    pub(super) fn has_key(self, key: &str) -> bool {
        let since = SINCE.iter().find(|(_, keys)| keys.contains(&key));
        since.is_none_or(|(style, _)| self >= *style)
    }
}

/// The keys that each release added.
const SINCE: [(VllmStyle, &[&str]); 3] = [
    (VllmStyle::V0_11_0, &["backend", "max_output_tokens_per_s", "max_concurrent_requests"]),
    (VllmStyle::V0_11_1, &["failed"]),
    (
        VllmStyle::Newest,
        &[
            "total_input_sequences",
            "input_sequence_throughput",
            "latencies",
            "start_times",
            "queue_times",
            "rtfx",
            "server_queue_times",
            "server_ttfts",
            "spec_decode_acceptance_rate",
            "spec_decode_acceptance_length",
            "spec_decode_num_drafts",
            "spec_decode_draft_tokens",
            "spec_decode_accepted_tokens",
            "spec_decode_per_position_acceptance_rates",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read() {
        let read = VllmStyle::NAMES.map(|name| VllmStyle::from_name(name).unwrap());
        let mut newest_first = read;
        newest_first.sort_by(|one, other| other.cmp(one));
        assert_eq!(read, newest_first);
        assert_eq!(VllmStyle::from_name("vllm-0.11.0"), Some(VllmStyle::V0_11_0));
        assert_eq!(VllmStyle::from_name("vllm"), Some(VllmStyle::Newest));
        assert_eq!(VllmStyle::from_name("0.12"), None);
    }
}
