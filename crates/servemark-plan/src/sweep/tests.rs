use std::error::Error;
use std::iter;
use std::time::Duration;

use serde_json::json;
use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_datasets::{DatasetSpec, RandomSpec};
use servemark_runner::LoadSpec;
use servemark_schedule::ArrivalSpec;
use servemark_target::MockSpec;

use super::*;
use crate::{ServerSpec, WorkloadSpec};

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

fn axis(setting: &str, values: &[Value]) -> Axis {
    Axis::new(setting, values.iter().cloned()).unwrap()
}

fn side(setting: &str, values: &[Value]) -> Side {
    Side::of(axis(setting, values))
}

fn names(spec: &SweepSpec) -> Vec<String> {
    spec.points(0).unwrap().into_iter().map(|point| point.name).collect()
}

#[track_caller]
fn refuses(sides: impl IntoIterator<Item = Side>, message: &str) {
    assert_eq!(refusal(sides), message);
}

/// Returns the error of sides that form no sweep, with its causes.
fn refusal(sides: impl IntoIterator<Item = Side>) -> String {
    let error = SweepSpec::grid(base(), sides).points(0).unwrap_err();
    let causes =
        iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
    iter::once(error.to_string())
        .chain(causes.map(ToString::to_string))
        .collect::<Vec<_>>()
        .join(": ")
}

#[test]
fn the_first_side_changes_slowest_and_repeats_fastest() {
    let sides = [
        side("max-concurrency", &[json!(1), json!("inf")]),
        Side::together([
            axis("workload.requests", &[json!(2), json!(3)]),
            axis("/workload/dataset/input_tokens", &[json!(8), json!(9)]),
        ]),
    ];
    let spec = SweepSpec::grid(base(), sides).repeated(NonZeroU32::new(2).unwrap());
    assert_eq!(
        names(&spec),
        [
            "max_concurrency=1,requests=2,input_tokens=8,repeat=0",
            "max_concurrency=1,requests=2,input_tokens=8,repeat=1",
            "max_concurrency=1,requests=3,input_tokens=9,repeat=0",
            "max_concurrency=1,requests=3,input_tokens=9,repeat=1",
            "max_concurrency=inf,requests=2,input_tokens=8,repeat=0",
            "max_concurrency=inf,requests=2,input_tokens=8,repeat=1",
            "max_concurrency=inf,requests=3,input_tokens=9,repeat=0",
            "max_concurrency=inf,requests=3,input_tokens=9,repeat=1",
        ]
    );
    let last = spec.points(0).unwrap().pop().unwrap();
    assert_eq!((last.plan.load.max_concurrency, last.plan.workload.requests), (None, 3));
    let DatasetSpec::Random(random) = last.plan.workload.dataset else {
        panic!("another data set")
    };
    assert_eq!(random.input_tokens, 9);
}

#[test]
fn a_rate_changes_how_fast_and_not_how() {
    let rates = side("request_rate", &[json!(2.5), json!("inf")]);
    let points = SweepSpec::grid(base(), [rates]).points(0).unwrap();
    let arrivals: Vec<_> = points.into_iter().map(|point| point.plan.load.arrivals).collect();
    assert_eq!(arrivals, [ArrivalSpec::at_rate(2.5).unwrap(), ArrivalSpec::Burst]);
}

#[test]
fn a_field_that_is_left_out_where_it_is_usual_is_known_nevertheless() {
    let precise = side("load.precise_send", &[json!(false), json!(true)]);
    let points = SweepSpec::grid(base(), [precise]).points(0).unwrap();
    let precise: Vec<_> = points.iter().map(|point| point.plan.load.precise_send).collect();
    assert_eq!(precise, [false, true]);
}

#[track_caller]
fn misses(path: &str, nearest: &str) {
    let sweep = SweepSpec::grid(base(), [side(path, &[json!(false)])]);
    let message = sweep.points(0).unwrap_err().to_string();
    let expected = format!("a plan has no field {path}; the nearest are {nearest}, ");
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn what_leads_nowhere_is_refused_with_what_is_near() {
    misses("load.max_concurency", "load.max_concurrency");
    misses("worklod.requests", "workload.requests");
    misses("requests", "workload.requests");
    misses("load.arrivals.requests_per_secnd", "load.arrivals.requests_per_second");
}

#[test]
fn values_that_make_no_plan_are_refused() {
    let none = refusal([side("max_concurrency", &[json!(0)])]);
    assert!(none.starts_with("max_concurrency=0 makes no plan: invalid value"), "{none}");
    refuses(
        [side("request_rate", &[json!("fast")])],
        "request_rate=fast: expected a number or inf",
    );
    refuses(
        [side("request_rate", &[json!(-1)])],
        "request_rate=-1: a request rate must be above zero, not -1; use inf to send everything \
         at once",
    );
    refuses(
        [side("workload.requests", &[json!(0)])],
        "point requests=0: the plan sends nothing; ask for at least one request (`workload.requests`)",
    );
}

#[test]
fn a_sweep_without_points_or_with_one_twice_is_refused() {
    let once = axis("workload.requests", &[json!(1), json!(2)]);
    let other = axis("workload.seed", &[json!(1)]);
    refuses(
        [Side::together([once, other])],
        "axes that move together need equally many values, not 2 and 1",
    );
    refuses(
        [side("workload.requests", &[json!(1), json!(1)])],
        "the sweep has the point requests=1 twice; ask for repeats instead",
    );
    let empty = SweepSpec::listed([]).points(0).unwrap_err();
    assert_eq!(empty.to_string(), "the sweep has no point");
    let none = Axis::new("workload.seed", Vec::<u32>::new()).unwrap_err();
    assert_eq!(none.to_string(), "no value is given for workload.seed");
}

#[test]
fn each_point_has_a_seed_and_a_salt_of_its_own() {
    let sides = || [side("workload.requests", &[json!(1), json!(2), json!(3)])];
    let own = |spec: &SweepSpec, nonce| -> Vec<(u32, Option<String>)> {
        let points = spec.points(nonce).unwrap().into_iter();
        points.map(|point| (point.plan.workload.seed, point.plan.workload.prompt_salt)).collect()
    };
    let spec = SweepSpec::grid(base(), sides());
    let (one, other) = (own(&spec, 1), own(&spec, 2));
    assert_eq!(one.iter().map(|(seed, _)| *seed).collect::<Vec<_>>(), [42, 43, 44]);
    let salts: HashSet<&String> =
        one.iter().chain(&other).filter_map(|(_, salt)| salt.as_ref()).collect();
    assert_eq!(salts.len(), 6);
    assert!(salts.iter().all(|salt| salt.len() == 8));
    assert_eq!(own(&spec, 1), one, "a sweep that goes on has the same prompts");
    let none = spec.isolated(Isolation::none());
    assert_eq!(own(&none, 1), vec![(42, None); 3]);
}

#[test]
fn a_sweep_along_the_seed_keeps_its_seeds() {
    let spec = SweepSpec::grid(base(), [side("workload.seed", &[json!(7), json!(1)])]);
    let seeds = spec.points(0).unwrap().into_iter().map(|point| point.plan.workload.seed);
    assert_eq!(seeds.collect::<Vec<_>>(), [7, 1]);
}

#[test]
fn specs_survive_a_file() {
    let sides = [
        side("max_concurrency", &[json!(1), json!("inf")]),
        side("workload.dataset.input_tokens", &[json!(8)]),
    ];
    let isolation = Isolation::default().with_cool_down(Duration::from_millis(1500));
    let grid = SweepSpec::grid(base(), sides).isolated(isolation);
    let listed = SweepSpec::listed([NamedPlan::new(vec![("a".to_owned(), json!(1))], base())]);
    for spec in [grid, listed] {
        let file = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<SweepSpec>(&file).unwrap(), spec);
    }
}
