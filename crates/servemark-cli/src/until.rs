//! Our flag `--until`, which ends a run when figures are known precisely enough, in every dialect
//! of a serving benchmark.

use clap::Args;
use servemark_metrics::{Estimand, Latency, Precision};
use servemark_plan::{BenchPlan, UntilSpec};

use crate::argparse::{Values, flags};
use crate::error::CliError;

/// `--until` in a dialect whose own flags are all read by clap.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(crate) struct UntilFlag {
    /// End the run when all of these figures are known to this half width with 95 % confidence, such
    /// as ttft:mean+-2%, itl:p99+-5ms or output_tokens_per_s+-1%; several with commas. The number of
    /// requests stays its limit, and the exit code is 6 if it is reached before
    #[arg(long, value_name = "FIGURE+-HALFWIDTH", value_parser = targets)]
    until: Vec<Targets>,
}

impl UntilFlag {
    /// Adds the required precision to a plan. Refuses figures that its runs cannot have.
    pub(crate) fn apply(&self, plan: &mut BenchPlan) -> Result<(), CliError> {
        let targets: Vec<Precision> = self.until.iter().flat_map(|list| list.0.clone()).collect();
        plan.scoring.until = (!targets.is_empty()).then(|| UntilSpec::new(targets));
        check(plan)
    }

    /// Refuses the flag where it has no effect.
    pub(crate) fn refuse(&self, when: &'static str) -> Result<(), CliError> {
        let is_given = !self.until.is_empty();
        if is_given { Err(CliError::no_effect(UntilArgs::UNTIL, when)) } else { Ok(()) }
    }
}

/// Figures in one argument, separated by commas.
#[derive(Clone, Debug)]
pub(crate) struct Targets(pub(crate) Vec<Precision>);

/// Parses figures that are separated by commas.
pub(crate) fn targets(list: &str) -> Result<Targets, String> {
    Precision::list(list).map(Targets).map_err(|error| error.to_string())
}

/// Values of `--until`.
#[derive(Debug, Default)]
pub(crate) struct UntilArgs {
    targets: Vec<Precision>,
}

flags! { UntilArgs {
    UNTIL = "--until";
}}

impl UntilArgs {
    pub(crate) fn take(&mut self, values: Values<'_>) -> Result<(), CliError> {
        for list in values.all()? {
            let refuse = |why: String| CliError::Value { flag: Self::UNTIL.to_string(), why };
            let targets = Precision::list(&list).map_err(|error| refuse(error.to_string()))?;
            self.targets.extend(targets);
        }
        Ok(())
    }

    /// Returns the precision at which the run ends; `None` without `--until`.
    pub(crate) fn spec(&self) -> Option<UntilSpec> {
        let targets = self.targets.iter().copied();
        (!self.targets.is_empty()).then(|| UntilSpec::new(targets))
    }

    /// Refuses the flag in a search, which sets the length of its rounds.
    pub(crate) fn refuse_in_a_search(&self) -> Result<(), CliError> {
        if self.targets.is_empty() {
            return Ok(());
        }
        let when = "with --slo-search, which ends its rounds itself";
        Err(CliError::no_effect(Self::UNTIL, when))
    }
}

/// Refuses figures that a run of the plan cannot have.
pub(crate) fn check(plan: &BenchPlan) -> Result<(), CliError> {
    let Some(until) = &plan.scoring.until else { return Ok(()) };
    let has_tokens = plan.backend.route().generates();
    let is_of_tokens = |target: &&Precision| {
        !matches!(target.of, Estimand::Latency(Latency::E2el, _) | Estimand::Requests)
    };
    match until.targets.iter().find(is_of_tokens).filter(|_| !has_tokens) {
        None => Ok(()),
        Some(target) => Err(CliError::setting(
            UntilArgs::UNTIL,
            format!(
                "{target} is about tokens, and embeddings and rankings have none; e2el and \
                 requests_per_s are what can be asked of them"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::Invocation;
    use crate::mirror::sglang;

    #[test]
    fn figures_that_are_to_be_known_end_a_run() {
        let Ok(Invocation::Bench(parsed)) =
            sglang("--until ttft:mean+-2%,itl:p99+-5ms output_tokens_per_s+-1% --seed 7")
        else {
            panic!("no run");
        };
        let until = parsed.plan.scoring.until.unwrap();
        let targets: Vec<String> = until.targets.iter().map(ToString::to_string).collect();
        assert_eq!(targets, ["ttft:mean+-2%", "itl:p99+-5ms", "output_tokens_per_s+-1%"]);
        let Ok(Invocation::SweepRuns(runs)) =
            sglang("--until ttft:mean+-2% --sweep request-rate=1,2")
        else {
            panic!("no sweep");
        };
        let points = runs.spec.points(0).unwrap();
        assert!(points.iter().all(|point| point.plan.scoring.until.is_some()));
    }

    #[track_caller]
    fn refuses(line: &str, message: &str) {
        let error = sglang(line).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn what_cannot_be_known_is_refused() {
        refuses("--until ttft:mean", "expected a figure and how well it must be known");
        refuses("--until", "argument --until: expected at least one argument");
        refuses(
            "--until ttft:mean+-2% --slo ttft:p99<2s --slo-search request-rate",
            "--until has no effect with --slo-search",
        );
        refuses("--backend sglang-embedding --until ttft:mean+-2%", "is about tokens");
    }
}
