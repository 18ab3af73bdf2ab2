//! Tests of SGLang's command lines and the plans they become.

use serde_json::Value;
use servemark_cli::sglang;

use super::{environment, parsed, read};

/// Returns the values of a plan that differ from those of the plan without flags.
#[track_caller]
fn differences(line: &str) -> String {
    let json = |line| serde_json::to_value(&parsed(line).plan).unwrap();
    let mut lines = Vec::new();
    compare("", &json(""), &json(line), &mut lines);
    lines.join("\n")
}

fn compare(path: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            lines.push(format!("{path} = {after}"));
        }
        return;
    };
    for (key, value) in new {
        compare(&format!("{path}.{key}"), &old.get(key).cloned().unwrap_or_default(), value, lines);
    }
    lines.extend(
        old.keys().filter(|key| !new.contains_key(*key)).map(|key| format!("{path}.{key} is gone")),
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a whole plan is one value")]
fn no_flag_at_all() {
    let plan = serde_json::to_string_pretty(&parsed("").plan).unwrap();
    insta::assert_snapshot!(plan, @r#"
    {
      "server": {
        "at": {
          "base_url": "http://0.0.0.0:30000",
          "http_version": "http1",
          "http2_connections": 1,
          "timeouts": {
            "connect": 30.0,
            "first_byte": 3600.0,
            "idle": 600.0,
            "total": 21600.0
          }
        }
      },
      "control": {
        "ready_timeout": 60.0,
        "flush_cache": null,
        "settle": 0.0,
        "profile": null
      },
      "backend": "sglang",
      "wire": {
        "route": "generate",
        "model": "",
        "stream": true,
        "ignore_eos": true,
        "temperature": 0.0,
        "top_p": 1.0,
        "return_logprob": false,
        "top_logprobs_num": 0,
        "logprob_start_len": -1,
        "return_routed_experts": false
      },
      "model": {
        "name": null,
        "served_name": null,
        "tokenizer": null
      },
      "workload": {
        "dataset": {
          "dataset": "sharegpt",
          "path": null,
          "shaping": {
            "output_tokens": null,
            "context_tokens": null,
            "prompt_suffix": "",
            "prompt_format": "raw"
          }
        },
        "requests": 1000,
        "seed": 42
      },
      "load": {
        "arrivals": {
          "process": "burst"
        },
        "max_concurrency": null,
        "warmup": {
          "requests": 1,
          "most_output_tokens": 32
        },
        "sessions": {
          "echo_reasoning": false
        },
        "look_ahead": {
          "calls": 4096,
          "bytes": 134217728
        }
      },
      "scoring": {
        "slos": [],
        "layouts": [
          "sglang",
          "native"
        ],
        "cache_report": false,
        "print_requests": false,
        "plots": false,
        "steady_state": null,
        "tolerated_failures": 0.9999999999999998
      },
      "output": {
        "run_log": "servemark_sglang_20260704_090500.runlog.jsonl",
        "run_log_if_taken": "number",
        "result_file": "sglang_0704_1000_sharegpt.jsonl",
        "details": false,
        "steady_state_file": null
      },
      "echo": {
        "tag": null,
        "backend": "sglang",
        "dataset_name": "sharegpt",
        "request_rate": null,
        "max_concurrency": null,
        "sharegpt_output_len": null,
        "random_input_len": 1024,
        "random_output_len": 1024,
        "random_range_ratio": 0.0
      }
    }
    "#);
}

#[test]
fn the_peers_own_documentation() {
    let line = "--backend sglang --dataset-name random --num-prompt 10 --random-input 512 \
                --random-output 64 --random-range 0.5";
    insta::assert_snapshot!(differences(line), @r#"
    .workload.dataset.dataset = "random"
    .workload.dataset.source = {"sharegpt":{"path":null}}
    .workload.dataset.input_tokens = 512
    .workload.dataset.output_tokens = 64
    .workload.dataset.range_ratio = 0.5
    .workload.dataset.form = "text"
    .workload.dataset.path is gone
    .workload.dataset.shaping is gone
    .workload.requests = 10
    .output.result_file = "sglang_0704_10_512_64.jsonl"
    .echo.dataset_name = "random"
    .echo.random_input_len = 512
    .echo.random_output_len = 64
    .echo.random_range_ratio = 0.5
    "#);
}

#[test]
fn a_vllm_server_behind_a_gateway() {
    let line = "--backend vllm-chat --base-url https://gateway.example/tenant/ --model m \
                --served-model-name org/m --dataset-name custom --dataset-path d.jsonl \
                --bad-lines skip --apply-chat-template --sharegpt-output-len 64 --header X-A=1 \
                --ca-file ca.pem --http2 --total-timeout 30 --include-usage";
    insta::assert_snapshot!(differences(line), @r#"
    .server.at.base_url = "https://gateway.example/tenant//"
    .server.at.http_version = "http2"
    .server.at.timeouts.total = 30.0
    .server.at.ca_file = "ca.pem"
    .backend = "vllm-chat"
    .wire.route = "chat"
    .wire.model = "org/m"
    .wire.include_usage = true
    .wire.temperature is gone
    .wire.top_p is gone
    .wire.return_logprob is gone
    .wire.top_logprobs_num is gone
    .wire.logprob_start_len is gone
    .wire.return_routed_experts is gone
    .model.name = "m"
    .model.served_name = "org/m"
    .workload.dataset.dataset = "custom"
    .workload.dataset.path = "d.jsonl"
    .workload.dataset.on_bad_line = "skip"
    .workload.dataset.shaping.output_tokens = 64
    .workload.dataset.shaping.prompt_format = "chat_template"
    .output.run_log = "servemark_vllm-chat_20260704_090500.runlog.jsonl"
    .output.result_file = "vllm-chat_0704_1000_custom.jsonl"
    .echo.backend = "vllm-chat"
    .echo.dataset_name = "custom"
    .echo.sharegpt_output_len = 64
    "#);
}

#[test]
fn drawn_pictures() {
    let line = "--backend vllm-chat --dataset-name image --image-count 3 --random-image-count \
                --image-resolution random:64x64-720p --image-format png --image-content blank \
                --random-input-len 64 --random-output-len 8 --random-range-ratio 0.5";
    let differences = differences(line);
    let about = |line: &&str| line.contains(".workload") || line.contains("result_file");
    insta::assert_snapshot!(differences.lines().filter(about).collect::<Vec<_>>().join("\n"), @r#"
    .workload.dataset.dataset = "image"
    .workload.dataset.images = {"up_to":3}
    .workload.dataset.resolution = "random:64x64-720x1280"
    .workload.dataset.content = "blank"
    .workload.dataset.format = "png"
    .workload.dataset.input_tokens = 64
    .workload.dataset.output_tokens = 8
    .workload.dataset.range_ratio = 0.5
    .workload.dataset.prompt_format = "raw"
    .workload.dataset.path is gone
    .workload.dataset.shaping is gone
    .output.result_file = "vllm-chat_0704_1000_64_8_3imgs_random:64x64-720p.jsonl"
    "#);
}

#[test]
fn questions_about_pictures() {
    let differences = differences("--dataset-name mmmu --dataset-path d --random-output-len 9");
    let about = |line: &&str| line.contains(".workload") || line.contains("result_file");
    insta::assert_snapshot!(differences.lines().filter(about).collect::<Vec<_>>().join("\n"), @r#"
    .workload.dataset.dataset = "mmmu"
    .workload.dataset.path = "d"
    .workload.dataset.output_tokens = 9
    .workload.dataset.prompt_format = "chat_template"
    .workload.dataset.shaping is gone
    .output.result_file = "sglang_0704_1000_mmmu.jsonl"
    "#);
}

#[test]
fn a_load_with_limits() {
    let line = "--request-rate 12.5 --max-concurrency 64 --warmup-requests 3 --flush-cache \
                --flush-cache-timeout 7.5 --ready-check-timeout-sec 0 --seed 1_000 --goodput \
                ttft:500 tpot:50.5";
    insta::assert_snapshot!(differences(line), @r#"
    .control.ready_timeout = 0.0
    .control.flush_cache = 7.5
    .workload.seed = 1000
    .load.arrivals.process = "poisson"
    .load.arrivals.requests_per_second = 12.5
    .load.max_concurrency = 64
    .load.warmup.requests = 3
    .scoring.slos = [{"metric":"ttft","limit_ms":500.0},{"metric":"tpot","limit_ms":50.5}]
    .echo.request_rate = 12.5
    .echo.max_concurrency = 64
    "#);
}

#[test]
fn a_trace_replayed_at_half_its_speed() {
    let line = "--dataset-name mooncake --mooncake-slowdown 2 --mooncake-num-rounds 3 \
                --mooncake-workload toolagent --backend vllm --num-prompts 7";
    insta::assert_snapshot!(differences(line), @r#"
    .server.at.base_url = "http://0.0.0.0:8000"
    .backend = "vllm"
    .wire.route = "completions"
    .wire.include_usage = false
    .wire.temperature is gone
    .wire.top_p is gone
    .wire.return_logprob is gone
    .wire.top_logprobs_num is gone
    .wire.logprob_start_len is gone
    .wire.return_routed_experts is gone
    .workload.dataset.dataset = "mooncake"
    .workload.dataset.workload = "toolagent"
    .workload.dataset.rounds = 3
    .workload.dataset.prompts = "sglang"
    .workload.dataset.shaping is gone
    .workload.requests = 7
    .load.arrivals.process = "trace"
    .load.arrivals.slowdown = 2.0
    .output.run_log = "servemark_vllm_20260704_090500.runlog.jsonl"
    .output.result_file = "vllm_0704_7_mooncake.jsonl"
    .echo.backend = "vllm"
    .echo.dataset_name = "mooncake"
    "#);
    let warnings = parsed(line).warnings;
    assert!(
        warnings.len() == 1 && warnings[0].contains("--mooncake-prompts lengths"),
        "{warnings:?}"
    );
    let line = "--dataset-name mooncake --mooncake-prompts lengths --use-trace-timestamps";
    assert!(parsed(line).warnings.is_empty());
    insta::assert_snapshot!(differences(line), @r#"
    .workload.dataset.dataset = "mooncake"
    .workload.dataset.workload = "conversation"
    .workload.dataset.rounds = 1
    .workload.dataset.prompts = "lengths"
    .workload.dataset.shaping is gone
    .load.arrivals.process = "trace"
    .load.arrivals.slowdown = 1.0
    .output.result_file = "sglang_0704_1000_mooncake.jsonl"
    .echo.dataset_name = "mooncake"
    .echo.request_rate = "trace"
    "#);
}

#[test]
fn a_trace_of_another_format_at_a_rate_or_as_it_was() {
    let line = "--dataset-name burstgpt --dataset-path b.csv --request-rate 4";
    insta::assert_snapshot!(differences(line), @r#"
    .workload.dataset.dataset = "trace"
    .workload.dataset.format = "burstgpt"
    .workload.dataset.path = "b.csv"
    .workload.dataset.shaping is gone
    .load.arrivals.process = "poisson"
    .load.arrivals.requests_per_second = 4.0
    .output.result_file = "sglang_0704_1000_burstgpt.jsonl"
    .echo.dataset_name = "burstgpt"
    .echo.request_rate = 4.0
    "#);
    let line = "--dataset-name servegen --dataset-path s --use-trace-timestamps";
    insta::assert_snapshot!(differences(line), @r#"
    .workload.dataset.dataset = "trace"
    .workload.dataset.format = "servegen"
    .workload.dataset.path = "s"
    .workload.dataset.shaping is gone
    .load.arrivals.process = "trace"
    .load.arrivals.slowdown = 1.0
    .output.result_file = "sglang_0704_1000_servegen.jsonl"
    .echo.dataset_name = "servegen"
    .echo.request_rate = "trace"
    "#);
}

#[test]
fn sampling_on_generate() {
    let line = "--temperature 0.7 --top-p 0.9 --return-logprob --top-logprobs-num 3 \
                --token-ids-logprob 1 2 --logprob-start-len 0 --return-routed-experts \
                --disable-ignore-eos --disable-stream --fake-prefill --extra-request-body {\"n\":2}";
    insta::assert_snapshot!(differences(line), @r#"
    .wire.stream = false
    .wire.ignore_eos = false
    .wire.extra_body = {"n":2,"bootstrap_host":"2.2.2.2","bootstrap_room":0}
    .wire.temperature = 0.7
    .wire.top_p = 0.9
    .wire.return_logprob = true
    .wire.top_logprobs_num = 3
    .wire.token_ids_logprob = [1,2]
    .wire.logprob_start_len = 0
    .wire.return_routed_experts = true
    "#);
}

#[test]
fn token_ids() {
    let line = "--dataset-name random-ids --tokenize-prompt --tokenizer ./tokenizer";
    insta::assert_snapshot!(differences(line), @r#"
    .model.tokenizer = "./tokenizer"
    .workload.dataset.dataset = "random"
    .workload.dataset.source = "vocabulary"
    .workload.dataset.input_tokens = 1024
    .workload.dataset.output_tokens = 1024
    .workload.dataset.range_ratio = 0.0
    .workload.dataset.form = "token_ids"
    .workload.dataset.path is gone
    .workload.dataset.shaping is gone
    .output.result_file = "sglang_0704_1000_1024_1024.jsonl"
    .echo.dataset_name = "random-ids"
    "#);
}

#[test]
fn where_results_go() {
    let line = "--output-file out.jsonl --output-details --tag night --layout native --run-log \
                run.jsonl --tolerate-failures 0.01 --fail-on-verdict client-limited \
                --fail-on saturated,suspect --max-concurrency 0";
    insta::assert_snapshot!(differences(line), @r#"
    .scoring.layouts = ["native"]
    .scoring.tolerated_failures = 0.01
    .scoring.fail_on = "client-limited"
    .scoring.unwanted = ["saturated","suspect"]
    .output.run_log = "run.jsonl"
    .output.result_file = "out.jsonl"
    .output.details = true
    .output.run_log_if_taken is gone
    .echo.tag = "night"
    .echo.max_concurrency = 0
    "#);
}

#[test]
fn what_is_made_of_the_run() {
    let line = "--cache-report --plot-throughput --steady-state-concurrency-ratio=0.8 \
                --steady-state-output-file steady.jsonl --goodput ttft:500";
    insta::assert_snapshot!(differences(line), @r#"
    .scoring.slos = [{"metric":"ttft","limit_ms":500.0}]
    .scoring.cache_report = true
    .scoring.plots = true
    .scoring.steady_state = 0.8
    .output.steady_state_file = "steady.jsonl"
    "#);
}

#[test]
fn the_simulator_alone() {
    insta::assert_snapshot!(differences("--simulate"), @r#"
    .server.simulated = {"listen":"127.0.0.1:0","ttft":50.0,"itl":10.0,"tokens_per_chunk":1,"pieces_per_write":1,"jitter":0.0,"seed":0,"model":"mock","output_tokens":null,"accept_length":null,"faults":[],"keep_requests":0,"threads":1,"spin":false}
    .server.at is gone
    .wire.model = "mock"
    .model.name = "mock"
    .workload.dataset.dataset = "random"
    .workload.dataset.source = "vocabulary"
    .workload.dataset.input_tokens = 128
    .workload.dataset.output_tokens = 128
    .workload.dataset.range_ratio = 0.5
    .workload.dataset.form = "text"
    .workload.dataset.path is gone
    .workload.dataset.shaping is gone
    .workload.requests = 256
    .load.arrivals.process = "poisson"
    .load.arrivals.requests_per_second = 64.0
    .output.result_file = "sglang_0704_256_128_128.jsonl"
    .echo.dataset_name = "random-ids"
    .echo.request_rate = 64.0
    .echo.random_input_len = 128
    .echo.random_output_len = 128
    .echo.random_range_ratio = 0.5
    "#);
}

#[test]
fn the_simulator_as_the_user_wants_it() {
    let line = "--simulate ttft=200ms,itl=20ms --simulate-fault status:503/10 --simulate-fault \
                cut@5/7 --backend vllm-chat --model tiny --num-prompts 5 --request-rate inf";
    insta::assert_snapshot!(differences(line), @r#"
    .server.simulated = {"listen":"127.0.0.1:0","ttft":200.0,"itl":20.0,"tokens_per_chunk":1,"pieces_per_write":1,"jitter":0.0,"seed":0,"model":"tiny","output_tokens":null,"accept_length":null,"faults":["status:503/10","cut@5/7"],"keep_requests":0,"threads":1,"spin":false}
    .server.at is gone
    .backend = "vllm-chat"
    .wire.route = "chat"
    .wire.model = "tiny"
    .wire.include_usage = true
    .wire.temperature is gone
    .wire.top_p is gone
    .wire.return_logprob is gone
    .wire.top_logprobs_num is gone
    .wire.logprob_start_len is gone
    .wire.return_routed_experts is gone
    .model.name = "tiny"
    .workload.dataset.dataset = "random"
    .workload.dataset.source = "vocabulary"
    .workload.dataset.input_tokens = 128
    .workload.dataset.output_tokens = 128
    .workload.dataset.range_ratio = 0.5
    .workload.dataset.form = "text"
    .workload.dataset.path is gone
    .workload.dataset.shaping is gone
    .workload.requests = 5
    .output.run_log = "servemark_vllm-chat_20260704_090500.runlog.jsonl"
    .output.result_file = "vllm-chat_0704_5_128_128.jsonl"
    .echo.backend = "vllm-chat"
    .echo.dataset_name = "random-ids"
    .echo.random_input_len = 128
    .echo.random_output_len = 128
    .echo.random_range_ratio = 0.5
    "#);
}

#[test]
fn ipv6_hosts_get_brackets_and_backends_their_ports() {
    let base_url = |line| {
        let plan = serde_json::to_value(&parsed(line).plan).unwrap();
        plan["server"]["at"]["base_url"].as_str().unwrap().to_owned()
    };
    assert_eq!(base_url("--host ::1 --port 8000"), "http://[::1]:8000");
    assert_eq!(base_url("--host [::1]"), "http://[::1]:30000");
    assert_eq!(base_url("--backend vllm"), "http://0.0.0.0:8000");
    assert_eq!(base_url("--backend vllm-chat"), "http://0.0.0.0:30000");
    assert_eq!(base_url("--backend lmdeploy"), "http://0.0.0.0:23333");
}

#[test]
fn the_peers_ci_always_flushes_its_own_server() {
    let flush = |backend: &str, value| {
        let environment = environment().with_variable("SGLANG_IS_IN_CI", value);
        let args = ["--backend", backend].map(Into::into);
        sglang::parse("x", args, &environment).unwrap().plan.control.flush_cache.is_some()
    };
    assert!(flush("sglang", "true") && flush("sglang-oai-chat", "1"));
    assert!(!flush("vllm", "1") && !flush("sglang", "no"));
}

#[test]
fn headers_are_credentials_and_bad_ones_are_told() {
    let line = "--header X-Trace=abc=1 Empty= noequals Authorization=Basic-x";
    let parsed = parsed(line);
    let debug = format!("{:?}", parsed.credentials);
    assert!(debug.contains("x-trace") && debug.contains("authorization"), "{debug}");
    assert!(!debug.contains("empty") && !debug.contains("Basic-x"), "{debug}");
    assert_eq!(parsed.warnings.len(), 2);
}

#[test]
fn what_is_no_plan_is_told_besides() {
    let parsed = parsed("--disable-tqdm --plan-only");
    assert!(!parsed.progress && parsed.plan_only.is_some());
}

#[test]
fn a_cache_report_is_asked_of_the_routes_that_must_be_asked() {
    let requests_usage = |backend: &str| {
        let plan = parsed(&format!("--backend {backend} --cache-report")).plan;
        assert!(plan.scoring.cache_report, "{backend}");
        plan.wire.common().extra_body.contains_key("return_cached_tokens_details")
    };
    assert!(requests_usage("sglang-oai") && requests_usage("sglang-oai-chat"));
    assert!(
        !requests_usage("sglang") && !requests_usage("sglang-native") && !requests_usage("vllm")
    );
    assert_eq!(
        parsed("--backend vllm --cache-report").warnings,
        ["--cache-report only applies to --backend sglang, sglang-native, sglang-oai or \
          sglang-oai-chat; ignored here"]
    );
}

#[test]
fn how_many_threads_send() {
    assert_eq!(differences("--shards 4"), ".load.shards = 4");
}

#[cfg(target_os = "linux")]
#[test]
fn the_kernel_is_asked_when_requests_left() {
    assert_eq!(differences("--send-stamps"), ".server.at.send_stamps = true");
}

#[test]
fn how_connections_are_reused_and_certificates_checked() {
    let reuse = |line: &str| differences(line).replace(".server.at.reuse = ", "");
    assert_eq!(reuse("--no-keep-alive"), r#"{"keep_alive":false,"resend":true}"#);
    assert_eq!(reuse("--no-resend"), r#"{"keep_alive":true,"resend":false}"#);
    let insecure = differences("--base-url https://h --insecure");
    assert!(insecure.contains(".server.at.trusts_anybody = true"), "{insecure}");
}

#[test]
fn each_request_at_its_instant() {
    let plan = |line: &str| parsed(line).plan.load;
    assert!(plan("--precise-send --request-rate 500").precise_send);
    assert!(!plan("--request-rate 500").precise_send);
}

#[test]
fn tables_of_an_older_release() {
    insta::assert_snapshot!(differences("--style 0.5.9"), @r#".scoring.sglang_style = "v0_5_9""#);
    let named = |line: &str| parsed(line).plan.output.result_file.unwrap();
    assert_eq!(
        named("--style 0.5.6 --dataset-name custom").to_str(),
        Some("sglang_0704_1000_custom.jsonl")
    );
    let first = named("--style 0.5.1 --dataset-name custom");
    assert_eq!(first.to_str(), Some("sglang_0704_1000_sharegpt.jsonl"));
    let random = named("--style 0.5.1 --dataset-name random-ids");
    assert_eq!(random.to_str(), Some("sglang_0704_1000_1024_1024.jsonl"));
    assert_eq!(read("--style 0.4").unwrap_err().exit_code(), 2);
}

#[test]
fn sessions_may_name_themselves() {
    let load = parsed("--session-header X-Session").plan.load;
    assert_eq!(load.sessions.header.as_deref(), Some("X-Session"));
    assert!(!load.sessions.echo_reasoning);
}

#[test]
fn shared_prefixes() {
    let line = "--dataset-name generated-shared-prefix --gsp-num-groups 3 --gsp-prompts-per-group \
                5 --gsp-num-turns 2 --gsp-send-routing-key --gsp-ordered --gsp-fast-prepare \
                --gsp-group-distribution zipf --gsp-zipf-alpha 1.5 --seed 9 --backend vllm-chat";
    insta::assert_snapshot!(differences(line), @r#"
    .backend = "vllm-chat"
    .wire.route = "chat"
    .wire.include_usage = true
    .wire.temperature is gone
    .wire.top_p is gone
    .wire.return_logprob is gone
    .wire.top_logprobs_num is gone
    .wire.logprob_start_len is gone
    .wire.return_routed_experts is gone
    .workload.dataset.dataset = "generated_shared_prefix"
    .workload.dataset.groups = 3
    .workload.dataset.prompts_per_group = 5
    .workload.dataset.turns = 2
    .workload.dataset.system_tokens = 2048
    .workload.dataset.question_tokens = 128
    .workload.dataset.output_tokens = 256
    .workload.dataset.range_ratio = 1.0
    .workload.dataset.popularity = {"zipf":{"alpha":1.5,"seed":9}}
    .workload.dataset.order = "drawn"
    .workload.dataset.form = "text"
    .workload.dataset.counting = "skipped"
    .workload.dataset.routing_run = "00000000_20260704090500"
    .workload.dataset.path is gone
    .workload.dataset.shaping is gone
    .workload.requests = 15
    .workload.seed = 9
    .output.run_log = "servemark_vllm-chat_20260704_090500.runlog.jsonl"
    .output.result_file = "vllm-chat_0704_1000_generated-shared-prefix.jsonl"
    .echo.backend = "vllm-chat"
    .echo.dataset_name = "generated-shared-prefix"
    "#);
}

#[test]
fn other_text_data_sets() {
    let dataset = |line: &str| parsed(line).plan.to_json()["workload"]["dataset"].to_string();
    let agentic = "--dataset-name agentic-trace --backend vllm-chat --dataset-path a";
    assert_eq!(
        dataset(&format!("{agentic} --dataset-offset=-2 --agentic-max-turns 3")),
        r#"{"dataset":"agentic_trace","path":"a","offset":-2,"max_turns":3,"output_tokens":220}"#
    );
    assert_eq!(
        dataset(&format!("{agentic} --agentic-max-turns 0 --sharegpt-output-len 7")),
        r#"{"dataset":"agentic_trace","path":"a","offset":0,"max_turns":null,"output_tokens":7}"#
    );
    assert_eq!(
        dataset("--dataset-name longbench_v2 --dataset-path a --sharegpt-context-len 9"),
        r#"{"dataset":"longbench_v2","path":"a","on_bad_line":"fail","output_tokens":10,"context_tokens":9}"#
    );
    assert_eq!(
        dataset("--dataset-name speed-bench --dataset-path a --speed-bench-category mixed"),
        r#"{"dataset":"speed_bench","path":"a","on_bad_line":"fail","category":"mixed","output_tokens":512}"#
    );
}
