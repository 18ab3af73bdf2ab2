//! Tests of vLLM's command lines and the plans they become.

use serde_json::{Value, json};
use servemark_cli::{Environment, Parsed, UsageError, vllm};

fn read(line: &str) -> Result<Parsed, UsageError> {
    let environment = Environment::default().with_variable("OPENAI_API_KEY", "sk-secret");
    vllm::parse("vllm bench serve", line.split_whitespace().map(Into::into), &environment)
}

fn plan(line: &str) -> Value {
    read(line).unwrap_or_else(|error| panic!("{error}")).plan.to_json()
}

#[track_caller]
fn plan_has(line: &str, expected: &[(&str, Value)]) {
    let plan = plan(line);
    for (pointer, expected) in expected {
        assert_eq!(plan.pointer(pointer).unwrap_or(&Value::Null), expected, "{pointer}: {line}");
    }
}

#[track_caller]
fn refuses(line: &str, message: &str) {
    assert_eq!(read(line).unwrap_err().cause().unwrap().to_string(), message);
}

#[track_caller]
fn warns(line: &str, expected: &[&str]) {
    assert_eq!(read(line).unwrap().warnings, expected);
}

#[test]
fn without_flags_it_is_vllms_own_benchmark() {
    plan_has(
        "--model m",
        &[
            ("/server/at/base_url", json!("http://127.0.0.1:8000")),
            ("/wire/dialect", json!("openai")),
            ("/wire/ignore_eos", json!(true)),
            ("/workload/requests", json!(1000)),
            ("/workload/seed", json!(0)),
            ("/workload/dataset/kind", json!("random")),
            ("/workload/dataset/lengths/input_tokens", json!(1024)),
            ("/workload/dataset/lengths/output_tokens", json!(128)),
            ("/load/arrivals/process", json!("burst")),
            ("/load/warmup/requests", json!(0)),
            ("/control/ready_timeout", json!(0.0)),
            ("/control/align_prompts", json!(true)),
            ("/scoring/layouts", json!(["vllm", "native"])),
        ],
    );
}

#[test]
fn tables_of_an_older_release() {
    plan_has("--style 0.11.0", &[("/scoring/vllm/style", json!("v0_11_0"))]);
    plan_has("--model m", &[("/scoring/vllm/style", Value::Null)]);
    let kept = "--style 0.10.2 --layout native --save-result";
    plan_has(kept, &[("/scoring/vllm/style", json!("v0_10_2"))]);
    refuses(
        "--style 0.10.2 --layout native",
        "--style has no effect where neither vLLM's table is printed nor its result is kept",
    );
    assert_eq!(read("--style 0.12").unwrap_err().exit_code(), 2);
}

#[test]
fn short_lengths_stand_for_those_of_the_data_set() {
    let line = "--input-len 9 --output-len 7 --random-prefix-len 3";
    plan_has(
        line,
        &[
            ("/workload/dataset/lengths/input_tokens", json!(9)),
            ("/workload/dataset/lengths/output_tokens", json!(7)),
            ("/workload/dataset/prefix_tokens", json!(3)),
        ],
    );
    for (name, pointer, expected) in [
        ("sharegpt", "/workload/dataset/output_tokens", json!(7)),
        ("custom", "/workload/dataset/output", json!({"fixed": 7})),
        ("spec_bench", "/workload/dataset/output", json!({"fixed": 7})),
        ("speed_bench", "/workload/dataset/output", json!({"fixed": 4096})),
        ("prefix_repetition", "/workload/dataset/output_tokens", json!(7)),
    ] {
        plan_has(&format!("--dataset-name {name} --output-len 7"), &[(pointer, expected)]);
    }
}

#[test]
fn the_path_is_the_backends_where_none_is_given() {
    plan_has("--backend openai-chat", &[("/wire/endpoint", Value::Null)]);
    let line = "--backend openai-chat --base-url http://h/v1/ --endpoint chat/completions";
    plan_has(line, &[("/wire/endpoint", json!("/chat/completions"))]);
    plan_has(
        "--base-url http://h/v1/completions --endpoint=",
        &[("/wire/endpoint", json!("")), ("/server/at/base_url", json!("http://h/v1/completions"))],
    );
    refuses(
        "--backend openai-chat --endpoint /v1/completions",
        "OpenAI Chat Completions API URL must end with one of: {'chat/completions'}.",
    );
    refuses(
        "--backend vllm-rerank --endpoint /score",
        "vLLM score API URL must end with one of: {'rerank'}.",
    );
    refuses("--endpoint v1/completions", "--endpoint must begin with a slash");
}

#[test]
fn sampling_comes_before_the_extra_body_which_wins() {
    let plan = plan("--top-k 5 --temperature 0 --top-p 0.5 --extra-body.top_k=7 --extra-body.n=1k");
    let extra = r#"{"top_p":0.5,"top_k":7,"temperature":0.0,"n":1000}"#;
    assert_eq!(plan["wire"]["extra_body"].to_string(), extra);
    let dropped = "--backend openai-embeddings --temperature 0";
    plan_has(dropped, &[("/wire/extra_body", Value::Null)]);
    warns(dropped, &["--temperature has no effect on routes that generate nothing"]);
}

#[test]
fn arrivals_are_vllms() {
    plan_has(
        "--request-rate 4 --burstiness 0.5",
        &[(
            "/load/arrivals",
            json!({"process": "gamma", "requests_per_second": 4.0, "burstiness": 0.5}),
        )],
    );
    let line = "--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 9";
    plan_has(line, &[("/load/arrivals/ramp", json!({"growth": "linear", "from": 1.0, "to": 9.0}))]);
    let trace = "--dataset-name timed_trace --dataset-path t.jsonl";
    plan_has(trace, &[("/load/arrivals/process", json!("timetable"))]);
    let paced = format!("{trace} --no-self-timed --request-rate 2");
    plan_has(&paced, &[("/load/arrivals/process", json!("gamma"))]);
    plan_has("--probe-request-rate 0.5", &[("/load/probes", json!(0.5))]);
}

#[test]
fn rules_between_flags_are_vllms_in_its_words() {
    for (line, message) in [
        ("--max-concurrency 0", "--max-concurrency must be greater than 0"),
        ("--header A", "Invalid header format. Please use KEY=VALUE format."),
        ("--metadata A", "Invalid metadata format. Please use KEY=VALUE format."),
        (
            "--ramp-up-strategy linear --ramp-up-start-rps 1",
            "When using --ramp-up-strategy, both --ramp-up-start-rps and --ramp-up-end-rps must be \
             specified",
        ),
        (
            "--ramp-up-strategy linear --ramp-up-start-rps 2 --ramp-up-end-rps 1",
            "Ramp-up start RPS must be less than end RPS",
        ),
        (
            "--ramp-up-strategy exponential --ramp-up-start-rps 0 --ramp-up-end-rps 1",
            "For exponential ramp-up, the start RPS cannot be 0.",
        ),
        (
            "--self-timed",
            "--self-timed/--no-self-timed is only supported with --dataset-name=timed_trace",
        ),
        (
            "--dataset-path x.json",
            "Cannot use 'random' dataset with --dataset-path. Please specify the appropriate \
             --dataset-name (e.g., 'sharegpt', 'custom', 'hf') for your dataset file: x.json",
        ),
        (
            "--dataset-name timed_trace --dataset-path t.jsonl --ramp-up-strategy linear",
            "When using --ramp-up-strategy, both --ramp-up-start-rps and --ramp-up-end-rps must be \
             specified",
        ),
        (
            "--backend openai-audio --top-k 3",
            "Sampling parameters are only supported by openai-compatible backends.",
        ),
        (
            "--goodput itl:5",
            "Invalid metric name found, itl: 5.0. The service level objective name should be one \
             of ['ttft', 'tpot', 'e2el']. ",
        ),
        (
            "--goodput ttft:-1",
            "Invalid value found, ttft: -1.0. The service level objective value should be \
             non-negative.",
        ),
    ] {
        refuses(line, message);
    }
}

#[test]
fn objectives_may_be_met_by_nothing_and_by_everything() {
    plan_has("--goodput tpot:0", &[("/scoring/slos/0/limit_ms", json!(0.0))]);
    plan_has("--goodput e2el:inf", &[("/scoring/slos/0/limit_ms", json!(f64::MAX))]);
}

#[test]
fn a_query_is_one_of_the_texts_where_nothing_is_ranked() {
    let line = "--dataset-name random-rerank --random-batch-size 2";
    let as_texts = |expected: Value| [("/workload/dataset/as_texts", expected)];
    plan_has(&format!("{line} --backend openai-embeddings"), &as_texts(json!(true)));
    plan_has(&format!("{line} --backend vllm-rerank"), &as_texts(Value::Null));
}

#[test]
fn tokenizers_are_made_as_the_mode_says() {
    plan_has("--tokenizer-mode mistral", &[("/model/mistral_tokenizer", json!(true))]);
    for mode in ["auto", "hf", "slow", "cohere", "deepseek_v32"] {
        plan_has(&format!("--tokenizer-mode {mode}"), &[("/model/mistral_tokenizer", Value::Null)]);
    }
    let custom = "--tokenizer-mode deepseek_v4 --dataset-name custom --dataset-path a.jsonl";
    refuses(
        custom,
        "--tokenizer-mode deepseek_v4 renders conversations by code of vLLM's own, which is not \
         here: give --skip-chat-template where the data set has it, or --tokenizer-mode hf and a \
         tokenizer with a chat_template.jinja",
    );
    plan_has(
        &format!("{custom} --skip-chat-template"),
        &[("/model/mistral_tokenizer", Value::Null)],
    );
    refuses(
        "--tokenizer-mode kimi_audio",
        "--tokenizer-mode kimi_audio makes its tokens by code of vLLM's own, which is not here: \
         give --tokenizer-mode hf and a folder with the same tokens as a tokenizer.json \
         (--tokenizer DIR)",
    );
    refuses(
        "--tokenizer-mode mistrals",
        "No tokenizer registered for tokenizer_mode='mistrals'. Known are mistral, auto, cohere, hf, \
         inkling, kimi_k3, slow, deepseek_v32, deepseek_v4, deepseek_v41, alpamayo2_super, \
         kimi_audio; did you mean mistral?",
    );
}

#[test]
fn without_a_tokenizer_rows_are_sent_as_they_are() {
    let line = "--skip-tokenizer-init --dataset-name custom --dataset-path a.jsonl --output-len 9";
    plan_has(
        line,
        &[
            ("/model/untokenized", json!(true)),
            ("/workload/dataset/output", json!({"fixed": 1})),
            ("/workload/dataset/prompt_format", json!("raw")),
            ("/scoring/vllm/tells_tokens", json!(false)),
        ],
    );
    let one_token = "--skip-tokenizer-init: every request asks for one token of output, whatever \
                     is said of lengths, as vLLM's client has it";
    warns(line, &[one_token]);
    warns(&format!("{line} --backend openai-embeddings"), &[]);
    plan_has(
        &line.replace("custom", "custom_image"),
        &[("/workload/dataset/output_tokens", json!(9))],
    );
    let tokenizer = "--tokenizer has no effect with --skip-tokenizer-init";
    warns(&format!("{line} --tokenizer gpt2"), &[tokenizer, one_token]);
    for name in ["random", "sharegpt", "custom_audio", "hf"] {
        refuses(
            &format!("--skip-tokenizer-init --dataset-name {name}"),
            &format!(
                "Tokenizer must be initialized for the '{name}' dataset: leave \
                 --skip-tokenizer-init out; custom and custom_image do without"
            ),
        );
    }
}

#[test]
fn flags_without_effect_are_told() {
    warns(
        "--lora-assignment round-robin",
        &["--lora-assignment has no effect without --lora-modules"],
    );
    warns("--seed 1 --seed 2", &["Found duplicate keys --seed"]);
    warns(
        "--use-beam-search",
        &["--use-beam-search has no effect here as with vLLM, whose client never reads it"],
    );
}

#[test]
fn no_secret_is_in_a_plan() {
    let parsed = read("--header Authorization=Bearer-x X-A=1").unwrap();
    let debug = format!("{:?} {}", parsed.credentials, parsed.plan.to_json());
    assert!(debug.contains("x-a") && debug.contains("authorization"), "{debug}");
    assert!(!debug.contains("sk-secret") && !debug.contains("Bearer-x"), "{debug}");
}
