//! Counters of a server from its Prometheus page.

use std::ops::Sub;

/// Values of vLLM's counters since the server's start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Tally {
    /// Number of answered requests.
    pub(super) requests: u64,
    pub(super) prompt_tokens: u64,
    pub(super) output_tokens: u64,
}

impl Tally {
    /// Parses a page of metrics. A missing counter is 0.
    pub(super) fn of(page: &str) -> Self {
        Self {
            requests: sum(page, "vllm:request_success_total"),
            prompt_tokens: sum(page, "vllm:prompt_tokens_total"),
            output_tokens: sum(page, "vllm:generation_tokens_total"),
        }
    }
}

impl Sub for Tally {
    type Output = Self;

    /// Returns the increase of each counter; 0 for a counter that decreased.
    fn sub(self, before: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            prompt_tokens: self.prompt_tokens.saturating_sub(before.prompt_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
        }
    }
}

/// Returns the sum of a counter over all its labels.
fn sum(page: &str, name: &str) -> u64 {
    let lines = page.lines().filter_map(|line| line.strip_prefix(name));
    let values = lines.filter(|rest| rest.starts_with(['{', ' ']));
    // The values are integers, written with a fraction.
    let whole = |rest: &str| rest.rsplit(' ').next()?.strip_suffix(".0")?.parse::<u64>().ok();
    values.filter_map(whole).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine=\"0\",model_name=\"tiny\"} 308.0
vllm:prompt_tokens_created{engine=\"0\"} 1.7952962131124213e+09
vllm:request_success_total{finished_reason=\"stop\"} 1.0
vllm:request_success_total{finished_reason=\"length\"} 7.0
";

    #[test]
    fn a_counter_is_the_sum_of_its_labels() {
        let tally = Tally { requests: 8, prompt_tokens: 308, output_tokens: 0 };
        assert_eq!(Tally::of(PAGE), tally);
        assert_eq!(tally - Tally::default(), tally);
    }
}
