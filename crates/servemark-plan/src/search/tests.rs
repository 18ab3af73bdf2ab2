use std::num::NonZeroUsize;

use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_datasets::{DatasetSpec, RandomSpec};
use servemark_metrics::Objective;
use servemark_runner::LoadSpec;
use servemark_schedule::ArrivalSpec;
use servemark_target::MockSpec;

use super::*;
use crate::{BenchPlan, ServerSpec, SloSpec, WorkloadSpec};

fn base() -> BenchPlan {
    let backend = BackendName::Sglang;
    BenchPlan::new(
        ServerSpec::Simulated(MockSpec::default()),
        backend,
        BackendSpec::new(backend, CommonSpec::default()),
        WorkloadSpec::new(DatasetSpec::Random(RandomSpec::default()), 10),
        LoadSpec::new(ArrivalSpec::at_rate(4.0).unwrap()),
    )
}

fn slo(text: &str) -> SloSpec {
    SloSpec::new(Objective::list(text).unwrap())
}

fn search(setting: &str, objectives: &str) -> SloSearchSpec {
    SloSearchSpec::new(base(), setting, slo(objectives)).unwrap()
}

#[test]
fn a_search_begins_at_the_plans_own_load() {
    let rates = search("request-rate", "ttft:p99<2s").range;
    assert_eq!((rates.start, rates.lower, rates.upper), (4.0, 0.25, 4096.0));
    let limits = search("max_concurrency", "ttft:p99<2s").range;
    assert_eq!((limits.start, limits.lower, limits.upper), (8.0, 1.0, 8192.0));
    let tokens = search("workload.dataset.input_tokens", "ttft:p99<2s").range;
    assert_eq!((tokens.start, tokens.grain), (1024.0, Grain::Whole));
}

#[test]
fn a_round_has_requests_enough_for_its_percentile_and_its_load() {
    // At 99 % per round, 528 requests are needed to show a 99th percentile; half as many are
    // added, and a fifth of all is not judged.
    let rates = search("request_rate", "e2el:p99<2s");
    assert_eq!([rates.requests(0.5), rates.requests(1000.0)], [990, 30_000]);
    let limits = search("max_concurrency", "e2el:p90<2s");
    assert_eq!([limits.requests(1.0), limits.requests(500.0)], [96, 5000]);
    let slow = search("request_rate", "ttft:p90<10s");
    assert_eq!(slow.requests(10.0), 3000, "five minutes, because queues of 10 s change slowly");
    let effort = Effort { requests: NonZeroUsize::new(7), ..Effort::default() };
    assert_eq!(limits.with_effort(effort).requests(0.5), 7);
}

#[test]
fn a_point_is_the_plan_at_another_load() {
    let mut base = base();
    base.echo.insert("request_rate".to_owned(), 4.0.into());
    base.echo.insert("seed".to_owned(), 1.into());
    let search = SloSearchSpec::new(base, "request_rate", slo("e2el:p90<2s")).unwrap();
    let point = search.point(12.5, 1, 3, 9).unwrap();
    assert_eq!(point.name, "request_rate=12.5,round=1");
    let plan = &point.plan;
    assert_eq!(plan.load.arrivals, ArrivalSpec::at_rate(12.5).unwrap());
    // The second round is twice as long as the first.
    assert_eq!((plan.workload.requests, plan.workload.seed), (750, 45));
    assert_eq!((&plan.echo["request_rate"], &plan.echo["seed"]), (&12.5.into(), &1.into()));
    assert_ne!(
        plan.workload.prompt_salt,
        search.point(12.5, 2, 4, 9).unwrap().plan.workload.prompt_salt
    );
    assert_eq!(search.point(12.5, 1, 3, 9).unwrap(), point, "a search that goes on sends the same");
}

#[test]
fn whole_loads_are_whole_numbers_in_plans() {
    let point = search("max_concurrency", "e2el:p90<2s").point(16.0, 0, 0, 0).unwrap();
    assert_eq!(point.plan.load.max_concurrency, NonZeroUsize::new(16));
    assert_eq!(point.name, "max_concurrency=16,round=0");
}

fn tier(name: &str, objectives: &str) -> SloTier {
    SloTier { name: name.to_owned(), objectives: Objective::list(objectives).unwrap() }
}

#[test]
fn a_tier_has_the_objectives_of_all_tiers_and_its_own() {
    let tiers = vec![tier("chat", "ttft:p99<500ms"), tier("batch", "e2el:mean<30s,ttft:p99<5s")];
    let spec =
        SloSearchSpec::with_tiers(base(), "request_rate", slo("tpot:p99<50ms"), tiers.clone())
            .unwrap();
    let texts = |tier: &SloTier| tier.objectives.iter().map(Objective::to_string).collect();
    let whole: Vec<Vec<String>> = spec.tiers().iter().map(texts).collect();
    assert_eq!(whole[0], ["tpot:p99<50ms", "ttft:p99<500ms"]);
    let batch = ["tpot:p99<50ms", "e2el:mean<30000ms", "ttft:p99<5000ms", "success>=95%"];
    assert_eq!(whole[1], batch);
    assert_eq!(spec.objectives().len(), 5, "each once");
    assert_eq!(spec.requests(10.0), 1500, "as long as the most patient tier needs");
    let twice = vec![tiers[0].clone(), tiers[0].clone()];
    let refused = SloSearchSpec::with_tiers(base(), "request_rate", SloSpec::new([]), twice);
    let message =
        "there are two tiers of objectives named chat; give all objectives of a tier in one list";
    assert_eq!(refused.unwrap_err().to_string(), message);
}

#[test]
fn a_mean_asks_for_successes_besides() {
    let texts = |text| slo(text).objectives.iter().map(Objective::to_string).collect::<Vec<_>>();
    assert_eq!(texts("tpot:mean<50ms"), ["tpot:mean<50ms", "success>=95%"]);
    assert_eq!(texts("tpot:mean<50ms,success>=99%"), ["tpot:mean<50ms", "success>=99%"]);
    assert_eq!(texts("tpot:p99<50ms"), ["tpot:p99<50ms"]);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let refusal = |objectives: SloSpec| {
        SloSearchSpec::new(base(), "request_rate", objectives).unwrap_err().to_string()
    };
    assert_eq!(refusal(SloSpec::new([])), "a search needs an objective, such as ttft:p99<2s");
    let sure = slo("ttft:p99<2s").with_confidence(1.0);
    assert_eq!(refusal(sure), "the confidence must lie between 50 % and 100 %, not 1");
    assert!(refusal(slo("goodput>=90%")).contains("`scoring.slos`"));
}

#[test]
fn specs_survive_a_file() {
    let search = search("request_rate", "ttft:p99<2s,success>=99%").known_as("mine");
    let file = serde_json::to_string(&search).unwrap();
    assert_eq!(serde_json::from_str::<SloSearchSpec>(&file).unwrap(), search);
}
