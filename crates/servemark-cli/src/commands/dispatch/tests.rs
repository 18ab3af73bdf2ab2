use servemark_plan::{Layout, ScoringSpec};
use servemark_report::{EvalscopeStyle, SglangStyle, VllmStyle};

use super::*;

fn read(line: &str) -> Result<Invocation, UsageError> {
    parse(line.split_whitespace().map(Into::into), &Environment::default())
}

#[track_caller]
fn check_bench(line: &str) {
    match read(line).unwrap() {
        Invocation::Bench(parsed) => assert_eq!(parsed.plan.workload.requests, 7, "{line}"),
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn refuses(line: &str, message: &str) {
    let refusal = read(line).unwrap_err();
    assert_eq!(refusal.exit_code(), 2);
    assert_eq!(refusal.cause().unwrap().to_string(), message);
}

#[test]
fn the_command_that_is_run_already() {
    check_bench("python -m sglang.bench_serving --num-prompts 7");
    check_bench("python3 -m sglang.benchmark.serving --num-prompts 7");
    check_bench("/usr/bin/python3.12 -u -OO -m sglang.bench_serving --num-prompt=7");
    check_bench("bench-serving --num-prompts 7");
    check_bench("vllm bench serve --num_prompts 7");
    check_bench("/opt/venv/bin/vllm bench serve --num-prompts=7");
    check_bench("python3 -m vllm.entrypoints.cli.main bench serve --num-prompts 7");
    check_bench("python3 -m vllm.benchmarks.serve --num-prompts 7");
    check_bench("python3 -W ignore -X dev -u -m sglang.bench_serving --num-prompts 7");
    check_bench("sglang.bench_serving --num-prompts 7");
}

#[test]
fn what_python_runs_of_vllm() {
    let slices = "python -m vllm.benchmarks.datasets.create_txt_slices_dataset --num-prompts 7 \
                  --input a.txt --output a.jsonl --tokenizer gpt2";
    let Invocation::Command(Command::TextSlices(slices)) = read(slices).unwrap() else {
        panic!("it is another")
    };
    assert_eq!(slices.count, 7);
    let plot = read("python -m vllm.benchmarks.sweep.plot results/today").unwrap();
    assert!(matches!(plot, Invocation::Command(Command::VllmSweep(_))));
    refuses(
        "python -m vllm.benchmarks.mm_processor",
        "servemark has no python -m vllm.benchmarks.mm_processor; run it without servemark in front",
    );
}

#[test]
fn the_steady_state_wrapper_is_the_benchmark_with_a_share() {
    let line = "python3 -m sglang.benchmark.steady_state_serving --num-prompts 7";
    refuses(line, "the following arguments are required: --steady-state-concurrency-ratio");
    refuses(
        &format!("{line} --steady-state-concurrency-ratio 1.5"),
        "--steady-state-concurrency-ratio must be in (0, 1]",
    );
    check_bench(&format!("{line} --steady-state-concurrency-ratio 0.8"));
    // The wrapper matches its own flag only by its whole name, and checks it before all others.
    refuses(
        &format!("{line} --steady-state-concurrency 0.8"),
        "the following arguments are required: --steady-state-concurrency-ratio",
    );
}

#[test]
fn a_refusal_names_the_program_it_is_about() {
    let refusal = read("python -m sglang.bench_serving --nonsense").unwrap_err();
    let last = "sglang.bench_serving: error: unrecognized arguments: --nonsense\n";
    assert!(refusal.to_string().ends_with(last), "{refusal}");
}

#[test]
fn what_a_peer_alone_has_is_run_with_the_peer() {
    for (line, command) in [
        ("vllm bench startup --model m", "vllm bench startup"),
        ("vllm chat", "vllm chat"),
        ("evalscope eval", "evalscope eval"),
        ("sglang generate --prompt a", "sglang generate"),
        ("python -m sglang.bench_one_batch", "python -m sglang.bench_one_batch"),
    ] {
        let message = format!("servemark has no {command}; run it without servemark in front");
        refuses(line, &message);
    }
}

#[test]
fn a_server_is_started_without_servemark_in_front() {
    for (line, command, measure) in [
        ("vllm serve m --port 8000", "vllm serve", "vllm bench serve"),
        (
            "sglang.launch_server --model-path m",
            "python -m sglang.launch_server",
            "bench-serving --backend sglang",
        ),
        ("sglang serve --model-path m", "sglang serve", "bench-serving --backend sglang"),
        (
            "python3 -m sglang.launch_server --model-path m",
            "python -m sglang.launch_server",
            "bench-serving --backend sglang",
        ),
        (
            "python -m vllm.entrypoints.openai.api_server",
            "python -m vllm.entrypoints.openai.api_server",
            "vllm bench serve",
        ),
        ("/opt/bin/trtllm-serve m", "trtllm-serve", "vllm bench serve"),
        ("vllm serve m --grpc", "vllm serve", "vllm bench serve"),
        ("vllm-rs serve m", "vllm-rs serve", "vllm bench serve"),
        ("llama-server -m m.gguf", "llama-server", "vllm bench serve"),
        ("mlx_lm.server --model m", "python -m mlx_lm.server", "vllm bench serve"),
        ("tritonserver", "tritonserver", "bench-serving --backend trt"),
        ("infinity_emb v2", "infinity_emb v2", "vllm bench serve --backend infinity-embeddings"),
    ] {
        let message = format!(
            "{command} starts a server, and servemark measures one that runs; start it without \
             servemark in front, then measure it with servemark {measure}"
        );
        refuses(line, &message);
    }
}

#[test]
fn what_starts_a_command_belongs_in_front_of_servemark() {
    for line in ["uv run vllm bench serve", "/usr/bin/env A=1 python", "taskset -c 0 vllm"] {
        let message = read(line).unwrap_err().to_string();
        let text = "directly in front of the benchmark's own command";
        assert!(message.contains("starts another command") && message.contains(text), "{message}");
    }
    refuses(
        "OPENAI_API_KEY=k vllm bench serve",
        "OPENAI_API_KEY=... sets a variable: put it in front of servemark",
    );
}

#[test]
fn flags_of_another_client_are_read_by_its_sibling() {
    for (line, given, instead) in [
        ("vllm-rs bench serve", "vllm-rs", "servemark vllm bench serve"),
        ("vllm-bench --model m", "vllm-bench", "servemark vllm bench serve"),
        (
            "python -m sglang.benchmark.rust_client",
            "python -m sglang.benchmark.rust_client",
            "servemark bench-serving",
        ),
    ] {
        let message = format!("servemark has no {given}; most of its flags are known to {instead}");
        refuses(line, &message);
    }
}

#[test]
fn an_unknown_command_is_told_the_nearest_known_one() {
    for (line, given, nearest) in [
        ("bench_serving", "bench_serving", "bench-serving"),
        ("scor run.jsonl", "scor", "score"),
        ("vllm bench server --model m", "vllm bench server", "vllm bench serve"),
        ("vllm bench sweep plott", "vllm bench sweep plott", "vllm bench sweep plot"),
        ("vllm bnech serve", "vllm bnech", "vllm bench serve"),
        ("evalscope pref", "evalscope pref", "evalscope perf"),
        (
            "python -m sglang.bench_servign",
            "python -m sglang.bench_servign",
            "python -m sglang.bench_serving",
        ),
        ("lanch --hosts a", "lanch", "launch"),
    ] {
        refuses(line, &format!("{given} is no command; did you mean {nearest}?"));
    }
}

#[test]
fn an_unknown_flag_is_told_the_nearest_known_one() {
    for (line, given, nearest) in [
        ("bench-serving --reqest-rate 5", "--reqest-rate 5", "--request-rate"),
        ("vllm bench serve --max-concurency=5", "--max-concurency=5", "--max-concurrency"),
        ("evalscope perf --model m --paralel 5", "--paralel 5", "--parallel"),
        ("ais_bench --model-nam m", "--model-nam m", "--model-name"),
        ("vllm bench sweep plot a --fig-higth 9", "--fig-higth 9", "--fig-height"),
    ] {
        let message = format!("unrecognized arguments: {given}; did you mean {nearest}?");
        refuses(line, &message);
    }
}

#[test]
fn an_unknown_value_is_told_the_nearest_of_all_choices() {
    let message = |line: &str| read(line).unwrap_err().to_string();
    let refusal = message("bench-serving --backend ollama-chats");
    assert!(
        refusal.contains("'sglang-rerank', 'vllm-rerank', 'ollama', 'ollama-chat', 'anthropic')"),
        "{refusal}"
    );
    assert!(refusal.ends_with("; did you mean ollama-chat?\n"), "{refusal}");
    let refusal = message("vllm bench serve --dataset-name shargpt");
    assert!(refusal.ends_with("; did you mean sharegpt?\n"), "{refusal}");
    let refusal = message("evalscope perf --model m --dataset openq");
    assert!(refusal.ends_with("; did you mean openqa?\n"), "{refusal}");
    let refusal = message("evalscope perf --model m --api opnai");
    assert!(refusal.ends_with("; did you mean openai?\n"), "{refusal}");
    let refusal = message("ais_bench --models vllm_api_steam_chat --datasets x -m perf");
    assert!(refusal.ends_with("; did you mean vllm_api_stream_chat?\n"), "{refusal}");
}

#[test]
fn a_server_is_explored_where_no_command_is_given() {
    for line in ["", "gpu-box:8000", "--duration 60", "demo"] {
        let requested = read(line).unwrap();
        assert!(
            matches!(requested, Invocation::Command(Command::Explore(_))),
            "{line}: {requested:?}"
        );
    }
}

#[test]
fn nonsense_is_told_where_to_look() {
    refuses("vllm bench", "a command is missing; see servemark --help");
    refuses("ls -l", "ls is no command; see servemark --help");
    refuses("python -m http.server", "python -m http.server is no command; see servemark --help");
    let message = "after python, -m and a module are expected, such as -m sglang.bench_serving";
    refuses("python", message);
}

#[test]
fn help_and_version_are_no_mistakes() {
    for (line, part) in
        [("--help", "\n  demo "), ("--version", "servemark 0"), ("score -h", "RUNLOG")]
    {
        let help = read(line).unwrap_err();
        assert!(help.is_help() && help.exit_code() == 0, "{line}");
        assert!(help.to_string().contains(part), "{help}");
    }
}

#[test]
fn a_run_that_is_over_is_scored() {
    let line = "score run.jsonl --layout native --goodput ttft:500 tpot:50 --result-file r.jsonl";
    let Invocation::Command(Command::Score(args)) = read(line).unwrap() else { panic!("{line}") };
    assert_eq!(args.run_log().to_str(), Some("run.jsonl"));
    let how = args.how;
    assert_eq!((how.tables.len(), how.slos.len(), how.details), (1, 2, false));
    assert_eq!(how.result_file.unwrap().to_str(), Some("r.jsonl"));
}

#[test]
fn tables_of_evalscope_may_name_their_version() {
    let style = |line: &str| {
        let Invocation::Command(Command::Score(args)) = read(line).unwrap() else {
            panic!("{line}")
        };
        let scoring = args.how.scoring(ScoringSpec::default());
        assert_eq!(scoring.layouts, [Layout::Native, Layout::Evalscope], "{line}");
        scoring.evalscope.style
    };
    assert_eq!(style("score r --as native,evalscope-1.7"), EvalscopeStyle::V1_7);
    assert_eq!(style("score r --as native,evalscope-1.0"), EvalscopeStyle::V1_0);
    assert_eq!(style("score r --as native,evalscope-1.0 --style 1.7"), EvalscopeStyle::V1_7);
    assert_eq!(style("score r --as native,evalscope"), EvalscopeStyle::default());
    assert!(read("score r --as evalscope-2.0").is_err());
}

#[test]
fn tables_of_sglang_and_vllm_may_name_their_release() {
    let scoring = |line: &str| {
        let Invocation::Command(Command::Score(args)) = read(line).unwrap() else {
            panic!("{line}")
        };
        let scoring = args.how.scoring(ScoringSpec::default());
        args.how.check(&scoring).map(|()| scoring)
    };
    let both = scoring("score r --as sglang-0.5.1,vllm-0.11.0").unwrap();
    assert_eq!(both.layouts, [Layout::Sglang, Layout::Vllm]);
    assert_eq!((both.sglang_style, both.vllm.style), (SglangStyle::V0_5_1, VllmStyle::V0_11_0));
    let bare = scoring("score r --as vllm,sglang --style 0.10.2").unwrap();
    assert_eq!((bare.sglang_style, bare.vllm.style), (SglangStyle::Newest, VllmStyle::V0_10_2));
    let over = scoring("score r --as sglang-0.5.1 --style sglang-0.5.6").unwrap();
    assert_eq!(over.sglang_style, SglangStyle::V0_5_6);
    assert!(scoring("score r --as native --result-file f --style 0.5.6").is_ok());
    for (line, expected) in [
        (
            "--as vllm --style 0.5.6",
            "without SGLang's table (--as sglang) and without --result-file",
        ),
        ("--as sglang --style 0.11.0", "without vLLM's table (--as vllm)"),
        ("--as sglang --style 1.7", "without evalscope's table (--as evalscope)"),
    ] {
        let refusal = scoring(&format!("score r {line}")).unwrap_err();
        assert_eq!(refusal.to_string(), format!("--style has no effect {expected}"), "{line}");
    }
    for unknown in ["--as sglang-0.4.9", "--as vllm-0.5.6", "--style 9.9"] {
        assert!(read(&format!("score r {unknown}")).is_err(), "{unknown}");
    }
}

#[test]
fn a_score_takes_the_percentiles_of_vllms_table() {
    let line = "score r --as vllm --percentile-metrics ttft,e2el --metric-percentiles 50,99.9";
    let Invocation::Command(Command::Score(args)) = read(line).unwrap() else { panic!("{line}") };
    let of_run = ScoringSpec::default();
    let scoring = args.how.scoring(of_run.clone());
    let vllm = of_run.vllm.with_metrics(["ttft", "e2el"]).with_percentiles(vec![50.0, 99.9]);
    assert_eq!(scoring.vllm, vllm);
    assert!(args.how.check(&scoring).is_ok());
    assert!(read("score r --as vllm --metric-percentiles 101").is_err());
    let Invocation::Command(Command::Score(args)) =
        read("score r --metric-percentiles 50").unwrap()
    else {
        panic!("it is a score")
    };
    let refusal = args.how.check(&args.how.scoring(ScoringSpec::default())).unwrap_err();
    let message = "--metric-percentiles has no effect without vLLM's table (--as vllm)";
    assert_eq!(refusal.to_string(), message);
}

#[test]
fn the_help_of_bench_embedding_tells_its_own_defaults_and_choices() {
    let help = read("bench-embedding --help").unwrap_err().to_string();
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    for message in [
        "by default sglang-embedding, with --task rerank sglang-rerank",
        "by default random-ids",
        "by default embedding",
    ] {
        assert!(help.contains(message), "{message} is not in {help}");
    }
    for foreign in ["default: sharegpt", "trt,", "--image-count", "--mooncake-prompts", "mmmu,"] {
        assert!(!help.contains(foreign), "{foreign} is in {help}");
    }
    for dataset in [
        "sharegpt",
        "custom",
        "random",
        "random-ids",
        "generated-shared-prefix",
        "longbench_v2",
        "speed-bench",
        "azure-trace",
        "servegen",
    ] {
        read(&format!("bench-embedding --dataset-name {dataset} --dataset-path a")).unwrap();
    }
}

#[test]
fn a_score_adds_to_what_the_run_was_scored_by() {
    let line = "score run.jsonl --steady-state-concurrency-ratio 0.5 --plot-throughput \
                --steady-state-output-file s.jsonl";
    let Invocation::Command(Command::Score(args)) = read(line).unwrap() else { panic!("{line}") };
    let of_run = ScoringSpec { cache_report: true, ..ScoringSpec::default() };
    let scoring = args.how.scoring(of_run);
    assert_eq!(scoring.steady_state.map(f64::from), Some(0.5));
    assert!(scoring.plots && scoring.cache_report && scoring.slos.is_empty());
    assert_eq!(scoring.layouts, ScoringSpec::default().layouts);
    assert_eq!(args.how.output().steady_state_file.unwrap().to_str(), Some("s.jsonl"));
}

#[test]
fn details_need_a_file() {
    assert_eq!(read("score run.jsonl --output-details").unwrap_err().exit_code(), 2);
}

#[test]
fn a_machine_is_tested() {
    let line = "selftest --streams 64 --duration 0.5 --json --require-ttft-error-ms 1";
    let Invocation::Command(Command::Selftest(args)) = read(line).unwrap() else {
        panic!("{line}")
    };
    assert_eq!((args.streams, args.duration.as_millis(), args.json), (64, 500, true));
    assert_eq!((args.require_ttft_error_ms, args.require_itl_error_ms), (Some(1.0), None));
    assert_eq!(args.cache, None);
    for wrong in ["--streams 0", "--duration 0", "--duration nan", "--require-itl-error-ms -1"] {
        let refusal = read(&format!("selftest {wrong}")).unwrap_err();
        assert_eq!(refusal.exit_code(), 2, "{wrong}");
    }
}

#[test]
fn figures_are_kept_in_the_users_cache() {
    let at_home = Environment::default().with_variable("HOME", "/home/me");
    let elsewhere = at_home.clone().with_variable("XDG_CACHE_HOME", "/var/cache/me");
    for (environment, folder) in [
        (Environment::default(), None),
        (at_home, Some("/home/me/.cache/servemark")),
        (elsewhere, Some("/var/cache/me/servemark")),
    ] {
        let invocation = parse(["selftest".into()], &environment).unwrap();
        let Invocation::Command(Command::Selftest(args)) = invocation else {
            panic!("{invocation:?}")
        };
        assert_eq!(args.cache.as_deref(), folder.map(Path::new));
        let invocation = parse(["bench-serving".into()], &environment).unwrap();
        let Invocation::Bench(parsed) = invocation else { panic!("{invocation:?}") };
        assert_eq!(parsed.cache, args.cache);
    }
}

#[test]
fn a_client_is_known_by_its_file() {
    check_bench("python3 bench_serving.py --num-prompts 7");
    check_bench("python3 -u sglang/python/sglang/bench_serving.py --num-prompts 7");
    check_bench("python -OO python/sglang/benchmark/serving.py --num-prompts 7");
    check_bench("python3 benchmarks/benchmark_serving.py --model m --num-prompts 7");
    check_bench("./benchmark_serving.py --model m --num-prompts 7");
    check_bench("python3 /opt/vllm/benchmarks/serve.py --model m --num-prompts 7");
    let throughput = "python3 benchmarks/benchmark_throughput.py --model m --num-prompts 7 \
                      --base-url http://h:1 --random-input-len 4 --random-output-len 4";
    assert!(matches!(read(throughput).unwrap(), Invocation::Offline(_)));
    let refusal = read("python3 tools/measure.py --num-prompts 7").unwrap_err().to_string();
    assert!(refusal.contains("measure.py is no client that servemark knows"), "{refusal}");
    assert!(refusal.contains("bench_serving.py"), "{refusal}");
}

#[test]
fn a_shell_script_is_told_where_servemark_belongs() {
    for line in ["./bench.sh 7", "bash bench.sh", "/bin/sh -c true", "sh run"] {
        let refusal = read(line).unwrap_err();
        assert_eq!(refusal.exit_code(), 2);
        let message = refusal.to_string();
        assert!(
            message.contains("put servemark in front of the command inside the script"),
            "{message}"
        );
    }
}

#[test]
fn flags_of_older_clients_are_read_with_a_warning() {
    let line = "python3 bench_serving.py --num-prompts 7 --disable-warmup";
    let Invocation::Bench(parsed) = read(line).unwrap() else { panic!("{line}") };
    assert_eq!(parsed.plan.load.warmup.requests, 0);
    assert!(parsed.warnings[0].contains("--disable-warmup is of older versions"));
    let line = "python3 -m sglang.bench_serving --multi --request-rate-range 2,8,2";
    let Invocation::SweepRuns(runs) = read(line).unwrap() else { panic!("{line}") };
    assert!(runs.first.warnings[0].contains("--multi is of older versions"));
}
