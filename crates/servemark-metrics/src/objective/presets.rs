//! Published objectives, by name.
//!
//! The limits are those of the server and interactive scenarios of `MLPerf` Inference: rows of the
//! table of benchmarks in `inference_rules.adoc` of github `mlcommons/inference_policies`, commit
//! `ac93e89c` (July 2026). There, too, 99 % of the queries must keep to each limit.

use super::Objective;
use crate::{Latency, Statistic};

/// Published pairs of limits: name, time to first token and time per output token in milliseconds.
pub(super) const MLPERF: [(&str, f64, f64); 11] = [
    ("mlperf:deepseek-r1", 2000.0, 80.0),
    ("mlperf:deepseek-r1-interactive", 1500.0, 15.0),
    ("mlperf:gpt-oss-120b", 3000.0, 80.0),
    ("mlperf:gpt-oss-120b-interactive", 2000.0, 20.0),
    ("mlperf:llama2-70b", 2000.0, 200.0),
    ("mlperf:llama2-70b-interactive", 450.0, 40.0),
    ("mlperf:llama3.1-405b", 6000.0, 175.0),
    ("mlperf:llama3.1-405b-interactive", 4500.0, 80.0),
    ("mlperf:llama3.1-8b", 2000.0, 100.0),
    ("mlperf:llama3.1-8b-interactive", 500.0, 30.0),
    ("mlperf:mixtral-8x7b", 2000.0, 200.0),
];

/// Returns the objectives with this name.
pub(super) fn preset(name: &str) -> Option<[Objective; 2]> {
    let &(_, ttft_ms, tpot_ms) = MLPERF.iter().find(|(known, ..)| *known == name)?;
    let p99 =
        |measure, limit_ms| Objective::at_most(measure, Statistic::Percentile(99.0), limit_ms);
    Some([p99(Latency::Ttft, ttft_ms), p99(Latency::Tpot, tpot_ms)])
}
