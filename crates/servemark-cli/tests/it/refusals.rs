//! Tests of refusals and warnings before anything is sent.

use servemark_cli::{Environment, sglang};
use servemark_plan::Profiled;

use super::{parsed, read, refusal};

#[track_caller]
fn refuses(line: &str, message: &str) {
    assert_eq!(refusal(line).to_string(), message);
}

#[track_caller]
fn warns<Text>(line: &str, expected: &[Text])
where
    Text: std::fmt::Debug,
    String: PartialEq<Text>,
{
    assert_eq!(parsed(line).warnings, expected);
}

#[test]
fn what_asks_for_nothing_is_accepted() {
    let line = "--gsp-num-groups 64 --gsp-range-ratio 1 --image-format jpeg --lora-name \
                --lora-zipf-alpha 1.50 --mooncake-workload conversation";
    warns::<&str>(line, &[]);
}

#[test]
fn numbers_that_cannot_be() {
    refuses("--num-prompts 0", "--num-prompts must be 1 or more, not 0");
    refuses("--dataset-name openai --num-prompts=-1", "--num-prompts must be 0 or more, not -1");
    refuses("--num-prompts=-3", "--num-prompts must be 1 or more, not -3");
    refuses("--max-concurrency -1", "--max-concurrency must be 0 or more, not -1");
    refuses("--warmup-requests -1", "--warmup-requests must be 0 or more, not -1");
    refuses("--shards 0", "--shards must be 1 or more, not 0");
    refuses("--seed -1", "--seed must be 0 or more, not -1");
    refuses("--seed 4294967296", "--seed is too large: 4294967296");
    refuses("--port 65536", "--port is too large: 65536");
    refuses("--port 0", "--port must be 1 or more, not 0");
    refuses(
        "--request-rate 0",
        "--request-rate: a request rate must be above zero, not 0; use inf to send everything at \
         once",
    );
    refuses(
        "--dataset-name random --random-range-ratio 1.5",
        "--random-range-ratio cannot be used: a range ratio must lie in 0 to 1, not 1.5; 1 makes \
         every length the same",
    );
    refuses(
        "--sharegpt-output-len 3",
        "--sharegpt-output-len cannot be used: a fixed output of 3 tokens is too small; ask for 4 \
         or more",
    );
    refuses(
        "--steady-state-concurrency-ratio 0",
        "--steady-state-concurrency-ratio must be in (0, 1]",
    );
    refuses(
        "--dataset-name mooncake --mooncake-slowdown-factor=-1",
        "--mooncake-slowdown-factor cannot be used: a trace is slowed down by a factor of 0 or \
         more, not -1; 1 plays it as it was",
    );
    refuses(
        "--dataset-name mooncake --mooncake-num-rounds 0",
        "--mooncake-num-rounds must be 1 or more, not 0",
    );
    refuses("--temperature nan", "--temperature must be a finite number, not NaN");
    let why =
        "argument --fail-on-verdict: expected corrected, suspect or client-limited, got 'clean'";
    refuses("--fail-on-verdict clean", why);
    refuses(
        "--fail-on saturated,slow",
        "argument --fail-on: there is no verdict \"slow\"; there are saturated, warming-up, \
         short-outputs, unknown-tokens, contaminated, suspect, client-limited",
    );
    refuses("--tolerate-failures 2", "--tolerate-failures must lie in 0 to 1, not 2");
}

#[test]
fn parts_that_do_not_go_together() {
    refuses(
        "--dataset-name random --tokenize-prompt --backend vllm",
        "--tokenize-prompt requires --backend sglang",
    );
    refuses(
        "--tokenize-prompt",
        "--tokenize-prompt requires --dataset-name random, random-ids or generated-shared-prefix",
    );
    refuses(
        "--lora-name a --lora-request-distribution skewed",
        "--lora-request-distribution requires --lora-name with two adapters or more",
    );
    refuses("--print-requests", "--print-requests requires --backend sglang-oai-chat");
    refuses(
        "--run-log x --no-run-log",
        "argument --no-run-log: not allowed with argument --run-log",
    );
    assert!(refusal("--dataset-name otel-trace").to_string().contains("choose a chat backend"));
}

#[test]
fn what_changes_nothing_on_a_data_set_is_warned_of() {
    warns(
        "--dataset-name random-ids --use-trace-timestamps",
        &[
            "--use-trace-timestamps has no effect on when requests are sent: rows of this data set do \
           not say when theirs came; the rate is called trace, as SGLang calls it",
        ],
    );
    warns(
        "--dataset-name openai --dataset-path x --tokenize-prompt",
        &[
            "--dataset-name openai: /generate takes texts, and is sent messages as they stand, as by \
             SGLang's client; choose a chat backend (--backend sglang-oai-chat, vllm-chat or \
             lmdeploy-chat)",
            "--tokenize-prompt only applies to --dataset-name random, random-ids or \
             generated-shared-prefix; ignored here",
        ],
    );
}

#[test]
fn what_a_data_set_does_not_look_at_may_be_anything() {
    let flags = "--dataset-name sharegpt --image-count 0 --random-input-len=-1";
    let warnings = [
        "--random-input-len only applies to --dataset-name random, random-ids or image; ignored here",
        "--image-count only applies to --dataset-name image; ignored here",
    ];
    assert_eq!(parsed(flags).warnings, warnings);
}

#[test]
fn addresses_that_are_none() {
    refuses(
        "--base-url localhost:30000",
        "--base-url cannot be used: the base URL must begin with http:// or https://",
    );
    refuses("--host a/b", "--host must be a name or an address, not 'a/b'; see --base-url");
}

#[test]
fn a_worker_without_an_address_is_not_profiled() {
    let parsed = parsed("--profile --pd-separated --profile-decode-url a http://b:1");
    let warning = "--profile-decode-url: Decode-0 is not profiled: \"a\": the base URL must begin \
                   with http:// or https://";
    assert_eq!(parsed.warnings, [warning]);
    let Some(Profiled::Workers(workers)) = parsed.plan.control.profile.map(|profile| profile.of)
    else {
        panic!("workers are profiled")
    };
    assert_eq!(workers.len(), 1);
}

#[test]
fn an_extra_body_is_a_json_object() {
    refuses(
        "--extra-request-body [1]",
        "--extra-request-body must be a JSON object, such as {\"n\": 1}, not [1]",
    );
    let message = refusal("--extra-request-body {n:1}").to_string();
    assert!(message.starts_with("--extra-request-body is not JSON: key must be a string"));
}

#[test]
fn adapters_that_cannot_be_chosen() {
    refuses(
        "--lora-name a --lora-request-distribution skewed",
        "--lora-request-distribution requires --lora-name with two adapters or more",
    );
    refuses("--lora-zipf-alpha 1", "--lora-zipf-alpha must be greater than 1");
    refuses("--lora-zipf-alpha nan", "--lora-zipf-alpha must be greater than 1");
}

#[test]
fn a_header_needs_a_name_that_can_be_sent() {
    refuses(
        "--session-header a:b",
        "--session-header cannot be used: \"a:b\" is not the name of a header",
    );
}

#[test]
fn connections_that_cannot_be_written_to_at_an_instant() {
    let precise = |line: &str| format!("--precise-send --request-rate 9 {line}");
    refuses(
        &precise("--http2"),
        "precise sending writes each request on a connection of its own, and HTTP/2 shares them; \
         leave one of the two out",
    );
    refuses(
        &precise("--base-url https://there"),
        "precise sending writes requests as they were encoded, and https encrypts them; ask a server \
         over http:// or leave it out",
    );
}

#[test]
fn flags_of_ours_without_effect() {
    refuses(
        "--simulate --port 8000",
        "--port has no effect with --simulate, which starts a server of its own",
    );
    refuses(
        "--steady-state-output-file s.jsonl",
        "--steady-state-output-file has no effect without --steady-state-concurrency-ratio",
    );
    refuses("--simulate --http2", "--http2 has no effect with --simulate");
    refuses(
        "--precise-send",
        "precise sending (--precise-send) has no effect without a rate of requests (--request-rate): all requests are due at once, and \
         one thread would write them one after the other",
    );
    refuses("--simulate --send-stamps", "--send-stamps has no effect with --simulate");
    refuses(
        "--http2 --send-stamps",
        "--send-stamps has no effect with --http2, whose requests share a connection",
    );
    refuses(
        "--base-url HTTPS://h --send-stamps",
        "--send-stamps has no effect over TLS, where the bytes of a request cannot be told from others",
    );
    refuses(
        "--http2 --no-keep-alive",
        "--no-keep-alive has no effect with --http2, whose requests share a connection",
    );
    refuses("--simulate --no-resend", "--no-resend has no effect with --simulate");
    refuses("--insecure", "--insecure has no effect without an https:// address");
    refuses("--simulate --insecure", "--insecure has no effect with --simulate");
    refuses("--simulate-fault reset", "--simulate-fault has no effect without --simulate");
    refuses(
        "--include-usage",
        "--include-usage has no effect on /generate, which always counts tokens",
    );
    warns(
        "--backend vllm --include-usage --disable-stream",
        &["--include-usage has no effect with --disable-stream, whose answers always count tokens"],
    );
    refuses(
        "--echo-reasoning",
        "--echo-reasoning has no effect where no session has several turns",
    );
    refuses(
        "--bad-lines skip",
        "--bad-lines only applies to --dataset-name custom, openai, longbench_v2 or \
         speed-bench",
    );
    refuses(
        "--mooncake-prompts sglang",
        "--mooncake-prompts only applies to --dataset-name mooncake",
    );
}

#[test]
fn flags_of_the_peer_without_effect_are_warned_of() {
    warns(
        "--random-input-len 5",
        &[
            "--random-input-len only applies to --dataset-name random, random-ids or image; ignored \
           here",
        ],
    );
    warns(
        "--backend vllm --temperature 0.5 --top-logprobs-num 2",
        &[
            "--temperature only applies to /generate, /v1/messages and Ollama's routes (elsewhere \
             use --extra-request-body); ignored here",
            "--top-logprobs-num only applies to /generate, and to /v1/completions with \
             --return-logprob; ignored here",
        ],
    );
    warns(
        "--dataset-name random-ids --dataset-path x --prompt-suffix s",
        &[
            "--dataset-path has no effect with --dataset-name image, random-ids and \
             generated-shared-prefix, which read no file",
            "--prompt-suffix only applies to --dataset-name sharegpt or custom; ignored here",
        ],
    );
    warns(
        "--image-count 2 --image-format png",
        &[
            "--image-count only applies to --dataset-name image; ignored here",
            "--image-format only applies to --dataset-name image; ignored here",
        ],
    );
    warns("--profile-steps 5", &["--profile-steps has no effect without --profile"]);
    warns(
        "--profile --profile-decode-url http://a",
        &["--profile-decode-url has no effect without --pd-separated"],
    );
    warns(
        "--rust-client --rust-worker-threads 4",
        &[
            "--rust-client has no effect here: this client is compiled already, for every backend \
             and data set",
            "--rust-worker-threads has no effect here: --shards says how many threads send and read",
        ],
    );
    warns(
        "--dataset-name mooncake --request-rate 2 --dataset-path x --mooncake-workload synthetic \
         --mooncake-prompts lengths",
        &[
            "--mooncake-workload has no effect with --dataset-path",
            "--request-rate has no effect where a trace says when requests are sent",
        ],
    );
    warns(
        "--mooncake-num-rounds 2 --mooncake-slowdown-factor 2",
        &[
            "--mooncake-slowdown-factor only applies to --dataset-name mooncake and \
             --use-trace-timestamps; ignored here",
            "--mooncake-num-rounds only applies to --dataset-name mooncake; ignored here",
        ],
    );
    warns("--base-url http://a --port 1", &["--port has no effect with --base-url"]);
}

#[test]
fn a_wrong_name_is_told_the_peers_and_then_ours() {
    let message = refusal("--dataset-name burst").to_string();
    let end = "'longbench_v2', 'speed-bench', 'azure-trace', 'burstgpt', 'otel-trace', \
               'servegen'); did you mean burstgpt?";
    assert!(message.ends_with(end), "{message}");
}

#[test]
fn shared_prefixes_that_cannot_be() {
    let gsp = |rest: &str| format!("--dataset-name generated-shared-prefix {rest}");
    for flag in ["--gsp-num-groups", "--gsp-prompts-per-group", "--gsp-num-turns"] {
        refuses(&gsp(&format!("{flag} 0")), &format!("{flag} must be 1 or more, not 0"));
    }
    refuses(&gsp("--gsp-question-len=-1"), "--gsp-question-len must be 0 or more, not -1");
    refuses(
        &gsp("--gsp-range-ratio 1.5"),
        "--gsp-range-ratio cannot be used: a range ratio must lie in 0 to 1, not 1.5; 1 makes \
         every length the same",
    );
    refuses(
        &gsp("--gsp-group-distribution zipf"),
        "--gsp-group-distribution=zipf requires --gsp-zipf-alpha (a finite float > 0)",
    );
    refuses(
        &gsp("--gsp-zipf-alpha 0"),
        "argument --gsp-zipf-alpha: expected a finite float > 0, got '0'",
    );
    refuses(
        &gsp("--tokenize-prompt --gsp-num-turns 2"),
        "--tokenize-prompt requires --gsp-num-turns=1",
    );
    refuses(
        &gsp("--gsp-num-turns 2 --backend vllm"),
        "the data set generated-shared-prefix holds conversations, and the backend vllm sends \
         plain text; choose a chat backend (--backend sglang-oai-chat, vllm-chat or lmdeploy-chat)",
    );
}

#[test]
fn shared_prefix_flags_without_effect_are_warned_of() {
    warns(
        "--gsp-num-groups 8 --gsp-ordered",
        &["--gsp-num-groups", "--gsp-ordered"].map(|flag| {
            format!("{flag} only applies to --dataset-name generated-shared-prefix; ignored here")
        }),
    );
    warns(
        "--dataset-name generated-shared-prefix --num-prompts 5 --tokenize-prompt \
         --gsp-fast-prepare",
        &[
            "--num-prompts has no effect with --dataset-name generated-shared-prefix, which sends \
             --gsp-num-groups times --gsp-prompts-per-group",
            "--gsp-fast-prepare has no effect with --tokenize-prompt, which knows every length",
        ],
    );
}

#[test]
fn flags_of_other_text_data_sets() {
    refuses(
        "--dataset-name agentic-trace --backend sglang-oai-chat --agentic-max-turns=-1",
        "--agentic-max-turns must be 0 or more, not -1",
    );
    refuses(
        "--dataset-name agentic-trace --backend vllm",
        "the data set agentic-trace holds conversations, and the backend vllm sends plain text; \
         choose a chat backend (--backend sglang-oai-chat, vllm-chat or lmdeploy-chat)",
    );
    refuses(
        "--dataset-name speed-bench --speed-bench-category low",
        "argument --speed-bench-category: invalid choice: 'low' (choose from 'low_entropy', \
         'mixed', 'high_entropy')",
    );
    warns(
        "--dataset-offset 1 --speed-bench-output-len 9",
        &[
            "--dataset-offset only applies to --dataset-name agentic-trace; ignored here",
            "--speed-bench-output-len only applies to --dataset-name speed-bench; ignored here",
        ],
    );
    warns::<&str>("--dataset-name longbench_v2 --sharegpt-context-len 9 --bad-lines skip", &[]);
}

#[test]
fn pictures_that_cannot_be_drawn_or_sent_are_refused() {
    let image = |flags: &str| refusal(&format!("--dataset-name image {flags}")).to_string();
    assert_eq!(
        image("--image-resolution 8k"),
        "--image-resolution cannot be used: Unsupported image resolution: 8k. Choose from 4k, 1080p, 720p, 360p, \
         or provide custom 'heightxwidth' (e.g., 1080x1920)."
    );
    assert_eq!(
        image("--image-resolution random:512x512-256x256"),
        "--image-resolution cannot be used: Random image resolution minimum cannot exceed maximum."
    );
    assert_eq!(
        image("--image-format webp"),
        "--image-format cannot be used: unknown image format \"webp\"; known are jpeg and png"
    );
    assert_eq!(
        image("--image-content stripes"),
        "--image-content cannot be used: unknown image content \"stripes\"; known are random and blank"
    );
    assert_eq!(image("--image-count 0"), "--image-count must be 1 or more, not 0");
    for dataset in ["image", "mmmu"] {
        assert_eq!(
            refusal(&format!("--dataset-name {dataset} --backend vllm")).to_string(),
            "Image dataset only supports backends: ('sglang', 'sglang-native', 'sglang-oai-chat', \
             'vllm-chat', 'lmdeploy-chat'), got 'vllm'."
        );
    }
}

#[test]
fn our_flags_are_not_abbreviated() {
    refuses("--simul", "unrecognized arguments: --simul; did you mean --simulate?");
}

#[test]
fn a_fault_that_is_none_is_told_what_would_do() {
    let message = refusal("--simulate --simulate-fault cut").to_string();
    assert!(message.starts_with("argument --simulate-fault: \"cut\" is not a fault"), "{message}");
}

#[test]
fn a_refusal_is_the_whole_text_to_print() {
    insta::assert_snapshot!(read("--backend nope").unwrap_err(), @"
    usage: bench-serving [OPTIONS] (bench-serving --help lists them)
    bench-serving: error: argument --backend: invalid choice: 'nope' (choose from 'sglang', 'sglang-native', 'sglang-oai', 'sglang-oai-chat', 'sglang-embedding', 'vllm', 'vllm-chat', 'vllm-embedding', 'lmdeploy', 'lmdeploy-chat', 'trt', 'gserver', 'truss', 'sglang-rerank', 'vllm-rerank', 'ollama', 'ollama-chat', 'anthropic')
    ");
}

#[test]
fn an_argument_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let arg = std::ffi::OsString::from_vec(vec![b'-', b'-', 0xff]);
    let error = sglang::parse("x", [arg], &Environment::default()).unwrap_err();
    assert_eq!(error.cause().unwrap().to_string(), "an argument is not UTF-8: --\u{fffd}");
}

#[test]
fn help_is_grouped_and_fits_100_columns() {
    let help = read("--help").unwrap_err();
    assert!(help.is_help());
    let help = help.to_string();
    for heading in ["Server and model:", "Data set:", "Load:", "Servemark: simulator:"] {
        assert!(help.contains(&format!("\n{heading}\n")), "{heading} is missing in {help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

#[test]
fn the_version_is_printed() {
    let version = read("--version").unwrap_err();
    assert!(version.is_help() && version.to_string().starts_with("bench-serving 0."), "{version}");
}
