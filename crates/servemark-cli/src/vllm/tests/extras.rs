//! Tests of the plans that the flags of vLLM's Rust client become.

use std::path::PathBuf;
use std::time::Duration;

use servemark_datasets::{ConversationSource, DatasetSpec, VllmData};
use servemark_plan::{BenchPlan, Point};
use servemark_runner::History;

use crate::vllm::{Purpose, Series};
use crate::{Command, Environment, Invocation, dispatch};

fn invoked(line: &str) -> Result<Invocation, String> {
    let args = ["vllm", "bench", "serve"].into_iter().chain(line.split_whitespace());
    let invocation = dispatch::parse(args.map(Into::into), &Environment::default());
    invocation.map_err(|error| error.cause().map_or(error.to_string(), ToString::to_string))
}

fn series(line: &str) -> (Series, Vec<Point>) {
    match invoked(line).unwrap() {
        Invocation::Command(Command::Series(series)) => {
            let points = series.runs.points(0).unwrap();
            (*series, points)
        }
        other => panic!("{other:?}"),
    }
}

fn plan(line: &str) -> BenchPlan {
    match invoked(line).unwrap() {
        Invocation::Bench(parsed) => parsed.plan,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refuses(line: &str, message: &str) {
    assert_eq!(invoked(line).unwrap_err(), message);
}

#[test]
fn the_same_run_several_times_keeps_its_seed_and_has_several_logs() {
    let (series, points) = series("--num-runs 3 --seed 5 --run-log a/b.runlog.jsonl");
    assert_eq!(series.purpose, Purpose::Spread);
    let logs = points.iter().map(|point| point.plan.output.run_log.as_ref().unwrap().to_str());
    let expected = [1, 2, 3].map(|number| format!("a/b-{number}.runlog.jsonl"));
    assert!(logs.eq(expected.iter().map(|name| Some(name.as_str()))));
    assert!(points.iter().all(|point| point.plan.workload.seed == 5));
    assert!(points.iter().all(|point| point.plan.workload.prompt_salt.is_none()));
}

#[test]
fn a_sweep_has_a_run_for_each_limit_or_rate() {
    let line = "--sweep-max-concurrency 1,8 --sweep-num-prompts-factor 4 \
                --sweep-summary-percentiles 95,99.9 --reset-prefix-cache";
    let (series, points) = series(line);
    let setting = "Max Concurrency";
    assert_eq!(series.purpose, Purpose::Sweep { setting, percentiles: vec![95.0, 99.9] });
    let names: Vec<&str> = points.iter().map(|point| point.name.as_str()).collect();
    assert_eq!(names, ["concurrency=1", "concurrency=8"]);
    let second = &points[1].plan;
    assert_eq!(second.load.max_concurrency.unwrap().get(), 8);
    assert_eq!((second.workload.requests, &second.echo["num_prompts"]), (32, &32.into()));
    assert_eq!(second.echo["max_concurrency"], 8);
    assert!(second.control.flush_cache.is_some());
    let (_, points) = self::series("--sweep-request-rate 2.5,inf");
    let rates: Vec<_> = points.iter().map(|point| point.plan.load.arrivals.mean_rate()).collect();
    assert_eq!(rates, [Some(2.5), None]);
}

#[test]
fn one_of_them_at_a_time() {
    let message =
        "only one of --sweep-max-concurrency, --sweep-request-rate and --num-runs may be given";
    refuses("--num-runs 2 --sweep-request-rate 1", message);
    refuses("--sweep-max-concurrency 1 --sweep-request-rate 1", message);
    refuses(
        "--sweep-num-prompts-factor 2",
        "--sweep-num-prompts-factor has no effect without --sweep-max-concurrency",
    );
    refuses("--summary-file a.json", "--summary-file has no effect for one run");
}

#[test]
fn a_comparison_asks_no_server() {
    match invoked("--compare a.json b.json").unwrap() {
        Invocation::Command(Command::Compare(args)) => {
            assert_eq!(args.sides(), ["a.json", "b.json"].map(|name| vec![PathBuf::from(name)]));
            assert!(args.has_vllm_table);
            assert_eq!(args.policy.name, "vllm");
        }
        other => panic!("{other:?}"),
    }
    refuses("--compare a.json", "--compare takes two files");
}

#[test]
fn the_plateau_is_told_apart_only_where_it_is_asked_for() {
    assert_eq!(plan("--max-concurrency 4").scoring.plateau, None);
    let requested =
        plan("--max-concurrency 4 --steady-state-threshold 0.5").scoring.plateau.unwrap();
    assert_eq!((requested.threshold.get(), requested.least_s), (0.5, None));
    let requested =
        plan("--max-concurrency 4 --steady-state-min-window 3").scoring.plateau.unwrap();
    assert_eq!((requested.threshold.get(), requested.least_s), (0.95, Some(3.0)));
    refuses("--steady-state-threshold 2", "--steady-state-threshold must be in (0, 1]");
    let useless = "--steady-state-threshold has no effect with --no-steady-state";
    refuses("--no-steady-state --steady-state-threshold 0.5", useless);
}

#[test]
fn conversations_have_turns_pauses_and_a_limit() {
    let line = "--backend openai-chat --endpoint /v1/chat/completions --multi-turn \
                --multi-turn-min-turns 2 --multi-turn-max-turns 4 --multi-turn-delay-ms 250 \
                --multi-turn-concurrency 3 --random-input-len 50 --per-turn-input-len 10";
    let plan = plan(line);
    assert_eq!(plan.load.max_concurrency.unwrap().get(), 3);
    assert_eq!(plan.load.sessions.history, History::Kept);
    assert!(!plan.control.align_prompts);
    let DatasetSpec::Vllm(spec) = &plan.workload.dataset else { panic!("{plan:?}") };
    let VllmData::Conversations(spec) = &spec.data else { panic!("{spec:?}") };
    assert_eq!(spec.pause, Duration::from_millis(250));
    let ConversationSource::Random(random) = &spec.source else { panic!("{spec:?}") };
    assert_eq!((random.fewest.get(), random.most.get()), (2, 4));
    assert_eq!((random.first_tokens, random.later_tokens), (50, 10));
    let shared = format!("{line} --multi-turn-prefix-conversation-ratio 0.1");
    assert_eq!(self::plan(&shared).load.sessions.history, History::Left);
}

#[test]
fn what_cannot_be_a_conversation_is_refused() {
    refuses("--multi-turn", "--multi-turn takes --backend openai-chat");
    let chat = "--backend openai-chat --endpoint /v1/chat/completions --multi-turn";
    refuses(
        &format!("{chat} --dataset-name burstgpt --dataset-path a.csv"),
        "--multi-turn takes --dataset-name random or sharegpt",
    );
    refuses(
        &format!("{chat} --random-prefix-len 5"),
        "--random-prefix-len has no effect with --multi-turn",
    );
    refuses(
        "--multi-turn-num-turns 5",
        "--multi-turn-num-turns has no effect without --multi-turn",
    );
}

#[test]
fn a_run_may_be_limited_in_time() {
    assert_eq!(plan("--stop-after 2.5").load.lasts, Some(Duration::from_millis(2500)));
    refuses("--stop-after 0", "--stop-after must be more than 0 seconds, not 0");
}

#[test]
fn one_run_is_not_replaced_by_several() {
    for line in ["--num-runs 2", "--compare a b", "--sweep-request-rate 1,2"] {
        let args = line.split_whitespace().map(Into::into);
        let refusal = crate::vllm::parse("p", args, &Environment::default()).unwrap_err();
        assert!(refusal.to_string().contains("no part of a single run's command line"), "{line}");
    }
}

#[test]
fn random_prompts_may_be_token_ids_some_of_which_begin_alike() {
    let cache = "--random-cache-hit-fraction 0.8 --random-cache-ratio 0.5";
    let DatasetSpec::Vllm(spec) = plan(&format!("--prompt-token-ids {cache}")).workload.dataset
    else {
        panic!("it is no data set of vLLM's")
    };
    let VllmData::Random(random) = spec.data else { panic!("it is another") };
    assert!(random.as_token_ids);
    assert_eq!(random.warm.map(<[f64; 2]>::from), Some([0.8, 0.5]));
    assert!(!plan("--prompt-token-ids").control.align_prompts);
    let ids = "--prompt-token-ids takes --backend vllm, openai, openai-embeddings, vllm-pooling";
    refuses("--prompt-token-ids --backend openai-chat", ids);
    refuses(
        cache,
        "--random-cache-hit-fraction requires --prompt-token-ids: texts that begin alike may be \
         other tokens",
    );
    refuses(
        "--random-cache-ratio 0.5",
        "--random-cache-ratio has no effect without --random-cache-hit-fraction",
    );
    refuses(
        "--prompt-token-ids --random-cache-hit-fraction 1.5 --random-cache-ratio 0.5",
        "--random-cache-hit-fraction or --random-cache-ratio: a share must lie in 0 to 1, not 1.5",
    );
    refuses(
        "--prompt-token-ids --random-batch-size 4",
        "--random-batch-size has no effect with --prompt-token-ids",
    );
}

#[test]
fn what_is_too_long_is_left_out_or_cut() {
    let DatasetSpec::Vllm(spec) = plan("--max-model-len 4096").workload.dataset else {
        panic!("it is no data set of vLLM's")
    };
    assert_eq!(spec.most_tokens, Some(4096));
    refuses("--max-model-len 0", "--max-model-len must be 1 or more, not 0");
    let speed = "--dataset-name speed_bench --dataset-path d --speed-bench-max-input-len 9";
    let DatasetSpec::Vllm(spec) = plan(speed).workload.dataset else { panic!("another") };
    let VllmData::Custom(spec) = spec.data else { panic!("it is another") };
    assert_eq!(spec.most_prompt_tokens, Some(9));
}

#[test]
fn a_dry_run_is_no_run() {
    let Invocation::Command(Command::DryRun(parsed)) =
        invoked("--dry-run --num-prompts 7").unwrap()
    else {
        panic!("it is a run")
    };
    assert_eq!(parsed.plan.workload.requests, 7);
}

#[test]
fn more_prompts_than_the_first_may_be_counted_by_the_server() {
    assert_eq!(plan("").control.align_sample.get(), 1);
    assert_eq!(plan("--align-sample 10").control.align_sample.get(), 10);
    refuses(
        "--align-sample 10 --dataset-name sharegpt",
        "--align-sample only applies to --dataset-name random or prefix_repetition",
    );
}

#[test]
fn what_only_the_rust_client_has_is_refused_by_name() {
    refuses(
        "--hf-text-column text",
        "--hf-text-column is not built: save the column as \"prompt\" of a JSON lines file and give \
         --dataset-name custom",
    );
    for flag in ["--profile-batch-threshold=8", "--profile-duration=5"] {
        let error = invoked(flag).unwrap_err();
        assert!(error.contains("is not built: a client that waits for a batch"), "{error}");
    }
}
