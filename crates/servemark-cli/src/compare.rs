//! `servemark compare`: what changed from one result to another.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser};
use servemark_metrics::{Condition, Figure, MetricPolicy, PlateauSpec, Quantity, Statistic};

use crate::error::UsageError;

/// Compare two results, number by number
///
/// Each is a run log, or a result file of SGLang's or vLLM's, of which the last line counts. Where
/// both are run logs, each change comes with whether it is more than chance would make it. Exit
/// codes: 0; 2, a file is no result; 3, a condition of --fail-if holds, or is not judged because the
/// client audit of a run says suspect or client-limited.
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(name = "compare", max_term_width = 100)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[non_exhaustive]
pub struct CompareArgs {
    /// The result to start from
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The result that is held against it
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Whose definitions run logs are scored by: native, sglang or vllm
    #[arg(long = "as", value_name = "NAME", default_value = "native", value_parser = parse_policy)]
    pub policy: MetricPolicy,
    /// Exit with 3 if this holds: 'ttft:p99>+5%' if it rose by more than 5 %,
    /// 'completed<-3%' if it fell by more than 3 %, 'e2el:mean>2000' if it is above 2000
    /// now. May be given several times
    #[arg(long = "fail-if", value_name = "CONDITION")]
    pub conditions: Vec<Condition>,
    /// Let a condition hold only where the change is more than chance would make it, which takes
    /// two run logs
    #[arg(long, requires = "conditions")]
    pub beyond_noise: bool,
    /// Leave damaged lines of run logs out; they are an error otherwise
    #[arg(long)]
    pub skip_damaged: bool,
    /// Judge changes and conditions even where the client audit of a run says suspect or
    /// client-limited, so that its numbers may be the client's
    #[arg(long)]
    pub force: bool,
    /// Print one document of JSON and no table
    #[arg(long)]
    pub json: bool,
}

impl CompareArgs {
    /// Two results, compared as vLLM's Rust client does with `--compare`.
    pub(crate) fn of(before: PathBuf, after: PathBuf) -> Self {
        let policy = MetricPolicy::vllm();
        Self {
            before,
            after,
            policy,
            conditions: Vec::new(),
            beyond_noise: false,
            skip_damaged: false,
            force: false,
            json: false,
        }
    }

    /// What is compared: what vLLM's client compares, and what conditions are about.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = Figure::headline();
        for condition in &self.conditions {
            if !figures.contains(&condition.figure) {
                figures.push(condition.figure);
            }
        }
        figures
    }

    /// How run logs are scored, so that each of the figures has its percentile.
    pub fn policy(&self) -> MetricPolicy {
        let mut policy = self.policy.clone().with_plateau(Some(PlateauSpec::default()));
        for figure in self.figures() {
            if let Quantity::Latency(_, Statistic::Percentile(percent)) = figure.quantity
                && !policy.percentiles.contains(&percent)
            {
                policy.percentiles.push(percent);
            }
        }
        policy
    }
}

fn parse_policy(name: &str) -> Result<MetricPolicy, String> {
    match name {
        "native" => Ok(MetricPolicy::native()),
        "sglang" => Ok(MetricPolicy::sglang()),
        "vllm" => Ok(MetricPolicy::vllm()),
        _ => Err("expected native, sglang or vllm".to_owned()),
    }
}

pub(crate) fn parse(
    program: &str,
    args: impl Iterator<Item = OsString>,
) -> Result<CompareArgs, UsageError> {
    let command = CompareArgs::command().bin_name(program);
    command
        .no_binary_name(true)
        .try_get_matches_from(args)
        .and_then(|matches| CompareArgs::from_arg_matches(&matches))
        .map_err(|error| UsageError::from_clap(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CompareArgs, UsageError> {
        parse("servemark compare", line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn conditions_add_what_they_are_about() {
        let args = parsed("a b --fail-if ttft:p95>+5% --fail-if itl:mean<1 --as sglang").unwrap();
        assert_eq!(args.figures().len(), Figure::headline().len() + 1);
        assert_eq!(args.policy().percentiles, [90.0, 95.0, 99.0]);
        assert_eq!(args.policy().name, "sglang");
        assert!(!args.beyond_noise);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let error = |line| parsed(line).unwrap_err().to_string();
        assert!(error("a").contains("<AFTER>"));
        assert!(error("a b --fail-if speed>1").contains("expected a metric such as ttft:p99"));
        assert!(error("a b --as theirs").contains("expected native, sglang or vllm"));
        assert!(error("a b --beyond-noise").contains("--fail-if"));
    }
}
