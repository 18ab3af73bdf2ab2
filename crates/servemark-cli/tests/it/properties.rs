//! Properties of all command lines.

use proptest::prelude::*;
use servemark_cli::sglang;
use servemark_plan::BenchPlan;

use super::environment;

fn flags() -> impl Strategy<Value = Vec<String>> {
    let some = |flag: &'static str, values: BoxedStrategy<String>| {
        prop::option::of(values.prop_map(move |value| format!("{flag}={value}")))
    };
    (
        some("--backend", prop::sample::select(BACKENDS).prop_map(str::to_owned).boxed()),
        some("--dataset-name", prop::sample::select(DATASETS).prop_map(str::to_owned).boxed()),
        some("--num-prompts", (1..10_000_u32).prop_map(|n| n.to_string()).boxed()),
        some("--request-rate", (0.001..1e6_f64).prop_map(|rate| rate.to_string()).boxed()),
        some("--max-concurrency", (0..5_000_u32).prop_map(|n| n.to_string()).boxed()),
        some("--random-range-ratio", (0.0..=1.0_f64).prop_map(|n| n.to_string()).boxed()),
        some("--seed", any::<u32>().prop_map(|n| n.to_string()).boxed()),
        some("--flush-cache-timeout", (0.001..1e4_f64).prop_map(|n| n.to_string()).boxed()),
        some("--connect-timeout", (0.001..1e4_f64).prop_map(|n| n.to_string()).boxed()),
        some("--tag", "[^\u{1f}]*".boxed()),
    )
        .prop_map(|(a, b, c, d, e, f, g, h, i, j)| {
            [a, b, c, d, e, f, g, h, i, j].into_iter().flatten().collect()
        })
}

const BACKENDS: &[&str] = &["sglang", "sglang-oai", "vllm-chat", "lmdeploy"];

const DATASETS: &[&str] = &["sharegpt", "custom", "random", "random-ids"];

proptest! {
    #[test]
    fn a_plan_survives_its_file(flags in flags(), switches in prop::sample::subsequence(
        vec!["--flush-cache", "--profile", "--output-details", "--disable-stream"], 0..=4,
    )) {
        let args = flags.iter().map(Into::into).chain(switches.into_iter().map(Into::into));
        let plan = sglang::parse("x", args, &environment()).unwrap().plan;
        let text = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(serde_json::from_str::<BenchPlan>(&text).unwrap(), plan);
    }

    #[test]
    fn a_secret_is_shown_nowhere(secret in "[a-zA-Z0-9]{12,40}") {
        let secret = format!("sk-{secret}");
        let environment = environment().with_variable("OPENAI_API_KEY", &secret);
        let header = format!("X-Key={secret}");
        let args = ["--header", &header, "--simulate"].map(Into::into);
        let parsed = sglang::parse("x", args, &environment).unwrap();
        prop_assert!(!serde_json::to_string(&parsed.plan).unwrap().contains(&secret));
        let debug = format!("{parsed:?} {environment:?}");
        prop_assert!(!debug.contains(&secret));
    }
}
