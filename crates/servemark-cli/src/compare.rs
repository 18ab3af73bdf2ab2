//! `servemark compare`: what changed from one result to another.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use servemark_metrics::{
    Condition, Figure, Latency, MetricPolicy, PlateauSpec, Quantity, Statistic, Tolerance,
};

use crate::environment::Environment;
use crate::error::UsageError;
use crate::gates::GateArgs;
use crate::own::{notes, parse_command};

/// Compare results before and after a change, figure by figure
///
/// A result is a run log, a folder of run logs, or a result file of SGLang's or vLLM's client, of
/// which the last line counts. Give several runs a side with --before and --after: their spread
/// tells what differs between runs of the same server. Each change comes with its 99 % interval.
#[derive(Clone, Debug, Parser, PartialEq)]
#[command(name = "compare", max_term_width = 100, after_help = notes(&EXAMPLES, EXIT_CODES))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct CompareArgs {
    /// The result to start from
    #[arg(value_name = "BEFORE", required_unless_present = "before", requires = "second")]
    pub first: Option<PathBuf>,
    /// The result to compare with it
    #[arg(value_name = "AFTER")]
    pub second: Option<PathBuf>,
    /// The results to start from, or folders of run logs: runs of one load
    #[arg(long, value_name = "RESULT", num_args = 1.., requires = "after", conflicts_with = "first")]
    pub before: Vec<PathBuf>,
    /// The results to compare with them. If the n-th runs of both sides sent the same requests
    /// (servemark rerun), and no others did, they are compared as a pair
    #[arg(long, value_name = "RESULT", num_args = 1.., requires = "before")]
    pub after: Vec<PathBuf>,
    /// Definitions of the metrics of run logs: native, sglang or vllm
    #[arg(long = "as", value_name = "NAME", default_value = "native", value_parser = parse_policy)]
    pub policy: MetricPolicy,
    /// Exit with 3 if this holds: 'ttft:p99>+5%' if it rose by more than 5 %,
    /// 'completed<-3%' if it fell by more than 3 %, 'e2el:mean>2000' if it is above 2000
    /// now. May be given several times
    #[arg(long = "fail-if", value_name = "CONDITION")]
    pub conditions: Vec<Condition>,
    /// Exit with 3 if a figure is worse by more than this, with 0 if it is not, and with 6 if the
    /// runs cannot tell: 'ttft:p99=3%', or '3%' for the means of all latencies and the rates of requests
    /// and output tokens. The whole 95 % interval of the change counts. May be given several times
    #[arg(long, value_name = "[FIGURE=]PERCENT%")]
    pub no_worse_than: Vec<Tolerance>,
    /// Let a condition hold only where the change is more than chance would make it, which takes
    /// run logs, or several results a side
    #[arg(long, requires = "conditions")]
    pub beyond_noise: bool,
    /// The file in which servemark noise stored the spread between equal runs; by default
    /// noise.json in the user's cache folder. A gate finer than that spread is refused, with exit
    /// code 6
    #[arg(long, value_name = "PATH")]
    pub noise: Option<PathBuf>,
    /// Leave damaged lines of run logs out; they are an error otherwise
    #[arg(long)]
    pub skip_damaged: bool,
    /// Judge changes and conditions even where the client audit of a run says suspect or
    /// client-limited, so that its numbers may be the client's
    #[arg(long)]
    pub force: bool,
    /// Write the page of the comparison to this file: HTML with the runs overlaid, which loads
    /// nothing from a network; an existing file is replaced
    #[arg(long = "html", value_name = "PATH")]
    pub page: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Where the verdicts of gates are written.
    #[command(flatten)]
    pub gates: GateArgs,
    /// Print the table of vLLM's Rust client
    #[arg(skip)]
    pub has_vllm_table: bool,
}

const EXAMPLES: [&str; 3] = [
    "servemark compare before.runlog.jsonl after.runlog.jsonl --html changes.html",
    "servemark compare before.runlog.jsonl after.runlog.jsonl --no-worse-than 5%",
    "servemark compare --before monday/ --after tuesday/ --junit gates.xml",
];

const EXIT_CODES: &str = "0 done, 1 internal error, 2 usage or a file is no result, 3 a condition of --fail-if holds or \
     a --no-worse-than fails, 6 a --no-worse-than is undecided, or a gate is not judged because it \
     is finer than the spread between runs or because the client audit of a run says suspect or \
     client-limited.";

impl CompareArgs {
    /// Creates the comparison of two results that vLLM's Rust client prints with `--compare`.
    pub(crate) fn of(before: PathBuf, after: PathBuf) -> Self {
        let sides = [vec![before], vec![after]];
        Self { has_vllm_table: true, ..Self::of_sides(sides, MetricPolicy::vllm()) }
    }

    /// Creates the comparison of the results of both sides, before and after, that has no conditions
    /// and writes no files.
    ///
    /// # Errors
    ///
    /// Returns a message if `definitions` is not the name of a policy: native, sglang or vllm.
    pub fn by_name(sides: [Vec<PathBuf>; 2], definitions: &str) -> Result<Self, String> {
        Ok(Self::of_sides(sides, parse_policy(definitions)?))
    }

    fn of_sides([before, after]: [Vec<PathBuf>; 2], policy: MetricPolicy) -> Self {
        Self {
            first: None,
            second: None,
            before,
            after,
            policy,
            conditions: Vec::new(),
            no_worse_than: Vec::new(),
            beyond_noise: false,
            noise: None,
            skip_damaged: false,
            force: false,
            page: None,
            json: false,
            gates: GateArgs::default(),
            has_vllm_table: false,
        }
    }

    /// Returns the results of both sides: before, then after.
    pub fn sides(&self) -> [Vec<PathBuf>; 2] {
        let all = |one: &Option<PathBuf>, several: &[PathBuf]| {
            one.iter().chain(several).cloned().collect()
        };
        [all(&self.first, &self.before), all(&self.second, &self.after)]
    }

    /// Returns the compared figures: those of every comparison, and those of the conditions and
    /// tolerances.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = Figure::compared();
        let conditions = self.conditions.iter().map(|condition| condition.figure);
        let tolerances = self.no_worse_than.iter().flat_map(|tolerance| &tolerance.figures);
        for figure in conditions.chain(tolerances.copied()) {
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        figures
    }

    /// Returns the policy for scoring run logs. It has the percentiles of all compared figures.
    pub fn policy(&self) -> MetricPolicy {
        let mut policy = self.policy.clone().with_plateau(Some(PlateauSpec::default()));
        for figure in self.figures() {
            if let Quantity::Latency(Latency::Part(part), _) = figure.quantity {
                policy = policy.with_parts([part]);
            }
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

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <CompareArgs as clap::CommandFactory>::command()
}

pub(crate) fn parse(
    program: &str,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<CompareArgs, UsageError> {
    let args: CompareArgs = parse_command(program, args)?;
    let gates = args.gates.in_environment(environment);
    Ok(CompareArgs { noise: args.noise.or_else(|| environment.noise_file()), gates, ..args })
}

#[cfg(test)]
mod tests {
    use servemark_metrics::RequestPart;

    use super::*;

    fn parsed(line: &str) -> Result<CompareArgs, UsageError> {
        let args = line.split_whitespace().map(OsString::from);
        parse("servemark compare", args, &Environment::default())
    }

    #[test]
    fn conditions_add_what_they_are_about() {
        let args = parsed("a b --fail-if ttft:p95>+5% --fail-if itl:mean<1 --as sglang").unwrap();
        assert_eq!(args.figures().len(), Figure::compared().len() + 1);
        assert_eq!(args.policy().percentiles, [90.0, 95.0, 99.0]);
        assert_eq!(args.policy().name, "sglang");
        assert!(!args.beyond_noise);
        let args = parsed("a b --fail-if server_queue:p95>+5% --no-worse-than prefill:mean=3%");
        assert_eq!(args.unwrap().policy().parts, [RequestPart::ServerQueue, RequestPart::Prefill]);
        let args = parsed("a b --no-worse-than ttft:p75=3% --no-worse-than 5%").unwrap();
        assert_eq!(args.figures().len(), Figure::compared().len() + 1);
        assert!(args.policy().percentiles.contains(&75.0));
    }

    #[test]
    fn a_side_is_one_result_or_several() {
        let sides = |line| parsed(line).unwrap().sides().map(|side| side.len());
        assert_eq!(sides("a b"), [1, 1]);
        assert_eq!(sides("--before a b c --after d e"), [3, 2]);
        assert_eq!(sides("--before a --after d --json"), [1, 1]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let error = |line| parsed(line).unwrap_err().to_string();
        assert!(error("a").contains("<AFTER>"));
        assert!(error("a b --fail-if speed>1").contains("expected a metric such as ttft:p99"));
        assert!(error("a b --as theirs").contains("expected native, sglang or vllm"));
        assert!(error("a b --beyond-noise").contains("--fail-if"));
        assert!(error("--before a b").contains("--after"));
        assert!(error("a b --before c --after d").contains("cannot be used with"));
        assert!(error("a b --no-worse-than 3").contains("expected PERCENT%"));
    }
}
