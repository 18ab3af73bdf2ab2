//! Our flag for a run by published rules: `--profile mlperf`.
//!
//! The peers have a switch `--profile` without a value. An argument `--profile` is therefore ours
//! only if the name of a profile follows it.

use std::ffi::{OsStr, OsString};

use servemark_metrics::MlperfResult;
use servemark_plan::{BenchPlan, RunProfile};
use servemark_schedule::{ArrivalSpec, Burstiness};

use crate::argparse::{Flag, split_value};
use crate::error::CliError;

/// Returns the profile that an argument names, alone or with the one after it, and the number of
/// arguments that it takes; `None` if it names none.
pub(crate) fn parse_profile(arg: &OsStr, next: Option<&OsString>) -> Option<(RunProfile, usize)> {
    match (split_value(arg.to_str()?), next.and_then(|next| next.to_str())) {
        ((flag, Some("mlperf")), _) if PROFILE.name() == flag => Some((RunProfile::Mlperf, 1)),
        ((flag, None), Some("mlperf")) if PROFILE.name() == flag => Some((RunProfile::Mlperf, 2)),
        _ => None,
    }
}

/// Returns the number of requests that a run by the rules needs; `None` if the plan has enough.
/// Refuses a plan that contradicts the rules.
pub(crate) fn requests(plan: &BenchPlan) -> Result<Option<usize>, CliError> {
    let refuse = |why: &str| Err(CliError::setting(MLPERF, why));
    let objectives = plan.scoring.slo.iter().flat_map(|slo| &slo.objectives);
    if !objectives.clone().any(MlperfResult::judges) {
        return refuse(
            "needs the limit of a percentile of ttft, tpot or e2el, such as --slo mlperf:llama2-70b",
        );
    }
    let is_poisson = match &plan.load.arrivals {
        ArrivalSpec::Poisson { .. } => true,
        ArrivalSpec::Gamma { burstiness, .. } => *burstiness == Burstiness::default(),
        _ => false,
    };
    let Some(rate) = plan.load.arrivals.mean_rate().filter(|_| is_poisson) else {
        return refuse(
            "is the Server scenario, whose queries are a Poisson process: give --request-rate",
        );
    };
    if plan.load.max_concurrency.is_some() {
        return refuse("is the Server scenario, which limits no concurrency");
    }
    if plan.scoring.until.is_some() {
        return refuse("says how long a run is, and so does --until");
    }
    let least_s = MlperfResult::MIN_DURATION_S;
    if plan.load.lasts.is_some_and(|lasts| lasts.as_secs_f64() < least_s) {
        return refuse("takes 600 s or more, and the command line ends the run before");
    }
    // The number of queries of a Poisson process in that time has a standard deviation of
    // `mean.sqrt()`. With four of them more, the last query is almost certainly due after it.
    let mean = rate * least_s;
    let needed = count(mean + 4.0 * mean.sqrt()).max(MlperfResult::MIN_QUERIES);
    let given = plan.workload.requests;
    Ok((given > 0 && given < needed).then_some(needed))
}

/// Returns the warning for a run that has more requests than its command line asks for.
pub(crate) fn warning(given: usize, needed: usize) -> String {
    format!("{MLPERF} takes 600 s, so {needed} requests are sent and not {given}")
}

#[expect(clippy::cast_sign_loss, reason = "the number is above zero")]
fn count(number: f64) -> usize {
    number.ceil() as usize
}

/// The peers' switch, which is Servemark's flag if the name of a profile follows it.
pub(crate) const PROFILE: Flag = Flag::new("--profile");
pub(crate) const MLPERF: Flag = Flag::new("--profile mlperf");

#[cfg(test)]
mod tests {
    use servemark_plan::RunProfile;

    use crate::Invocation;
    use crate::mirror::sglang;

    const LIMITS: &str = "--slo mlperf:llama2-70b";

    #[test]
    fn the_rules_of_mlperf_set_the_number_of_requests() {
        let line = format!("--profile mlperf {LIMITS} --request-rate 10 --num-prompts 500");
        let Ok(Invocation::Bench(parsed)) = sglang(&line) else { panic!("no run") };
        // 6,000 requests and four standard deviations.
        assert_eq!(parsed.plan.workload.requests, 6310);
        assert_eq!(parsed.plan.scoring.profile, Some(RunProfile::Mlperf));
        let message = "--profile mlperf takes 600 s, so 6310 requests are sent and not 500";
        assert!(parsed.warnings.iter().any(|warning| warning == message), "{:?}", parsed.warnings);
        let line = format!("--profile=mlperf {LIMITS} --request-rate 10 --num-prompts 9000");
        let Ok(Invocation::Bench(parsed)) = sglang(&line) else { panic!("no run") };
        assert_eq!((parsed.plan.workload.requests, parsed.warnings.len()), (9000, 0));
    }

    #[test]
    fn the_switch_of_the_peer_stays_its_own() {
        let Ok(Invocation::Bench(parsed)) = sglang("--profile --seed 7") else { panic!("no run") };
        assert_eq!(parsed.plan.scoring.profile, None);
        assert!(parsed.plan.control.profile.is_some());
    }

    #[track_caller]
    fn refuses(line: &str, message: &str) {
        let error = sglang(line).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn what_contradicts_the_rules_is_refused() {
        refuses("--profile mlperf --request-rate 10", "needs the limit of a percentile");
        refuses(&format!("--profile mlperf {LIMITS}"), "give --request-rate");
        let line = format!("--profile mlperf {LIMITS} --request-rate 10");
        refuses(&format!("{line} --max-concurrency 8"), "limits no concurrency");
        refuses(&format!("{line} --stop-after 60"), "takes 600 s or more");
        refuses(&format!("{line} --until ttft:mean+-2%"), "so does --until");
        refuses(&format!("{line} --slo-search request-rate"), "has no effect with --slo-search");
    }
}
