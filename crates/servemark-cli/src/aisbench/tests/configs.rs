//! Tests of config files: AISBench's own kind, TOML, and errors in both.

use serde_json::json;

use super::{dataset, parse, plan, refuses};

const CONFIG: &str = r#"
from mmengine.config import read_base
from ais_bench.benchmark.models import VLLMCustomAPIChat

with read_base():
    from ais_bench.benchmark.configs.summarizers.perf.stable_stage import summarizer
    from ais_bench.benchmark.configs.datasets.synthetic.synthetic_gen_string import (
        synthetic_datasets,
    )

synthetic_datasets[0]["config"]["RequestCount"] = 10 * 3
datasets = [*synthetic_datasets]

models = [
    dict(
        attr="service",
        type=VLLMCustomAPIChat,
        abbr="mine" + "-own",
        path="",
        model="served",
        stream=True,
        request_rate=0,
        traffic_cfg=dict(
            burstiness=0.5,
            ramp_up_strategy="linear",
            ramp_up_start_rps=1,
            ramp_up_end_rps=20,
        ),
        retry=3,
        host_ip="::1",
        host_port=8000,
        max_out_len=64,
        batch_size=16,
        generation_kwargs=dict(temperature=0.5, top_k=10, seed=None),
    )
]
work_dir = "out/"
"#;

#[test]
fn a_config_file_says_all_of_it() {
    let tasks = parse("conf.py -m perf", &[("conf.py", CONFIG)]).unwrap();
    let task = &tasks.tasks[0];
    assert_eq!(task.name, "mine-own/synthetic");
    assert_eq!(task.parsed.warnings, [""; 0]);
    let tries = task.parsed.plan.load.retry.as_ref().map(|retry| retry.tries.get());
    assert_eq!(tries, Some(3));
    assert_eq!(tasks.folder.to_str(), Some("out/20260820_101112"));
    let plan = &task.parsed.plan;
    assert_eq!(dataset(plan)["rows"], 30);
    assert_eq!(
        json!(plan.wire)["extra_body"],
        json!({"temperature": 0.5, "top_k": 10, "seed": null})
    );
    assert_eq!(json!(plan.server)["at"]["base_url"], "http://[::1]:8000");
    let ramp = json!({"growth": "linear", "from": 1.0, "to": 20.0});
    assert_eq!(
        json!(plan.load.arrivals),
        json!({"process": "ramp", "ramp": ramp, "burstiness": 0.5})
    );
    assert_eq!(plan.scoring.aisbench.stage.name(), "stable");
}

#[test]
fn the_same_in_toml() {
    let toml = r#"
work_dir = "out"
summarizer = "stable_stage"

[[models]]
base = "vllm_api_stream_chat"
abbr = "mine"
batch_size = 16
generation_kwargs.temperature = 0.5

[[datasets]]
base = "synthetic_gen_string"
config.RequestCount = 30
"#;
    let plan = plan("conf.toml -m perf", &[("conf.toml", toml)]);
    assert_eq!(dataset(&plan)["rows"], 30);
    assert_eq!(json!(plan.wire)["extra_body"], json!({"temperature": 0.5, "ignore_eos": false}));
    assert_eq!(plan.scoring.aisbench.stage.name(), "stable");
    let with = |old: &str, new: &str| toml.replace(old, new);
    refuses(
        "c.toml -m perf",
        &[("c.toml", &with("batch_size", "batchsize"))],
        "c.toml:8: a model has no key \"batchsize\"",
    );
    refuses(
        "c.toml -m perf",
        &[("c.toml", &with("\"vllm_api_stream_chat\"", "\"gone\""))],
        "c.toml:6: gone is not built in",
    );
    refuses(
        "c.toml -m perf",
        &[("c.toml", &with("work_dir", "workdir"))],
        "c.toml:2: a config has no key \"workdir\"",
    );
    let deep = format!("models = {}{}", "[".repeat(4_000), "]".repeat(4_000));
    let error = parse("c.toml -m perf", &[("c.toml", &deep)]).unwrap_err();
    assert!(error.starts_with("c.toml:1: "), "{error}");
    let dotted = format!("a{} = 1", ".a".repeat(20_000));
    let error = parse("c.toml -m perf", &[("c.toml", &dotted)]).unwrap_err();
    assert!(error.starts_with("c.toml:1: "), "{error}");
    let error = parse("c.toml -m perf", &[("c.toml", "[[models]\n")]).unwrap_err();
    assert!(error.starts_with("c.toml:1: this is not TOML: "), "{error}");
}

#[test]
fn edited_files_of_a_config_folder_come_before_what_is_built_in() {
    let model = "from a import VLLMCustomAPI\nmodels = [dict(type=VLLMCustomAPI, abbr='edited')]\n";
    let files = [("configs/models/vllm_api/vllm_api_general.py", model)];
    let line = "--models vllm_api_general --datasets synthetic_gen_string -m perf";
    assert_eq!(parse(line, &files).unwrap().tasks[0].name, "edited/synthetic");
    let elsewhere = [("mine/models/vllm_api_general.py", model)];
    assert_eq!(parse(line, &elsewhere).unwrap().tasks[0].name, "vllm-api-general/synthetic");
    let line = format!("{line} --config-dir mine");
    assert_eq!(parse(&line, &elsewhere).unwrap().tasks[0].name, "edited/synthetic");
    let searched = parse(&format!("{line} -s"), &elsewhere).unwrap_err();
    assert!(searched.contains("mine/models/vllm_api_general.py"), "{searched}");
}

#[test]
fn configs_of_a_checkout_of_the_peer_are_read() {
    let model = "from a import TGICustomAPI\nmodels = [dict(type=TGICustomAPI, abbr='edited')]\n";
    let shipped = ("ais_bench/benchmark/configs/models/tgi_api/tgi_stream_api_general.py", model);
    let line = "--models tgi_stream_api_general --datasets synthetic_gen_string -m perf";
    assert_eq!(parse(line, &[shipped]).unwrap().tasks[0].name, "edited/synthetic");
    let own = ("configs/models/x/tgi_stream_api_general.py", &*model.replace("edited", "own"));
    assert_eq!(parse(line, &[shipped, own]).unwrap().tasks[0].name, "own/synthetic");
}

#[test]
fn a_summary_of_accuracy_is_included_and_never_read() {
    let include = "    from ais_bench.benchmark.configs.summarizers.example import summarizer";
    let config = CONFIG.replace(
        "    from ais_bench.benchmark.configs.summarizers.perf.stable_stage import summarizer",
        include,
    );
    assert!(config.contains(include));
    let code = "summarizer = dict(groups=sum([v for v in locals()], []))\n";
    let files =
        [("conf.py", &*config), ("ais_bench/benchmark/configs/summarizers/example.py", code)];
    let plan = plan("conf.py -m perf", &files);
    assert_eq!(plan.scoring.aisbench.stage.name(), "total");
}

#[test]
fn keys_that_the_peer_takes_and_no_measurement_uses_are_passed_over() {
    let keys = "batch_size=16,\n        min_out_len=1,\n        custom_client=dict(type=Client),\n        \
                response_anomaly=dict(enabled=False),\n        summarizer_abbr=\"x\"";
    let config = CONFIG
        .replace("batch_size=16", keys)
        .replace("import VLLMCustomAPIChat", "import Client, VLLMCustomAPIChat");
    assert_eq!(parse("conf.py -m perf", &[("conf.py", &config)]).unwrap().tasks.len(), 1);
}

#[track_caller]
fn breaks(old: &str, new: &str, message: &str) {
    assert!(CONFIG.contains(old), "{old}");
    refuses("conf.py -m perf", &[("conf.py", &CONFIG.replace(old, new))], message);
}

#[test]
fn a_bad_config_is_refused_with_its_file_and_line() {
    breaks("batch_size=16", "batchsize=16", "conf.py:33: a model has no key \"batchsize\"");
    breaks(
        "retry=3",
        "retry=0",
        "conf.py:29: retry counts all tries of a request, the first among them: 1 is the least",
    );
    breaks(
        "batch_size=16",
        "batch_size='many'",
        "conf.py:33: batch_size must be an int from 1 to 100000, not \"many\"",
    );
    breaks(
        "burstiness=0.5",
        "burstiness=-1",
        "conf.py:24: burstiness must be a number of 0 or more, not -1",
    );
    breaks(
        "host_port=8000",
        "host_port=8000, url='ftp://x'",
        "conf.py:31: the server's address cannot be used: the base URL must begin with http:// or https://",
    );
    breaks(
        "host_port=8000",
        "host_port=int(8000)",
        "conf.py:31: int has no value here: host_port=int(8000),",
    );
    breaks(
        "type=VLLMCustomAPIChat",
        "type='models.VLLMOfflineVLModel'",
        "conf.py:17: the model class VLLMOfflineVLModel is not built",
    );
    breaks(
        "attr=\"service\"",
        "attr=\"local\"",
        "conf.py:16: models of the attr \"local\" are not built; only those of a \"service\" are",
    );
    breaks(
        "\"linear\"",
        "\"steep\"",
        "conf.py:25: ramp_up_strategy must be linear or exponential, not \"steep\"",
    );
    breaks("[*synthetic_datasets]", "[]", "conf.py: the config has no datasets");
    breaks(
        "[\"RequestCount\"] = 10 * 3",
        "[\"RequestCuont\"] = 3",
        "conf.py:11: the config of synthetic prompts has no key \"RequestCuont\"",
    );
    breaks(
        "synthetic_gen_string import",
        "synthetic_gen_words import",
        "conf.py:7: ais_bench.benchmark.configs.datasets.synthetic.synthetic_gen_words is not built in, and there is \
            no ais_bench/benchmark/configs/datasets/synthetic/synthetic_gen_words.py here",
    );
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let error = parse("--models gone --datasets synthetic_gen_string -m perf", &[]).unwrap_err();
    assert!(error.starts_with("--models: there is no gone.py below configs/models, and gone is not built in; built in are vllm_api_general, "), "{error}");
    let error = parse("--models vllm_api_general --datasets ceval_gen -m perf", &[]).unwrap_err();
    assert!(
        error.starts_with("--datasets: there is no ceval_gen.py below configs/datasets"),
        "{error}"
    );
    refuses("gone.py -m perf", &[], "gone.py: cannot be read: entity not found");
    refuses("-m perf", &[], super::super::plan::NOTHING);
}

#[test]
fn requests_at_their_own_times_know_no_limit_and_the_tables_do() {
    let line = "--models vllm_api_stream_chat --datasets mooncake_trace_gen -m perf --simulate \
                --batch-size 7 --set models.use_timestamp=True";
    let plan = plan(line, &[]);
    assert_eq!((plan.load.max_concurrency, plan.scoring.aisbench.batch_size), (None, Some(7)));
}

#[test]
fn data_sets_of_one_class_are_sent_as_one() {
    let config = CONFIG.replace(
        "datasets = [*synthetic_datasets]",
        "datasets = [dict(**synthetic_datasets[0]), dict(**synthetic_datasets[0]), \
         dict(**synthetic_datasets[0])]\ndatasets[1][\"abbr\"] = \"more\"",
    );
    let tasks = parse("conf.py -m perf", &[("conf.py", &config)]).unwrap();
    assert_eq!(tasks.tasks.len(), 1);
    let task = &tasks.tasks[0];
    assert_eq!(task.name, "mine-own/syntheticdataset");
    let data = dataset(&task.parsed.plan);
    assert_eq!((&data["name"], &data["followed_by"][0][0]), (&json!("synthetic"), &json!("more")));
    assert_eq!(data["followed_by"].as_array().unwrap().len(), 1);
    let [warning] = task.parsed.warnings.as_slice() else { panic!("{:?}", task.parsed.warnings) };
    assert!(warning.contains("a data set synthetic was there before"), "{warning}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    refuses(
        "--models vllm_api_general --datasets synthetic_gen_tokenid -m perf",
        &[],
        "built-in models:26: the data set synthetic needs the model's tokenizer: give its path",
    );
    refuses(
        "--models vllm_api_general --datasets synthetic_gen_string -m perf --set models.use_timestamp=True",
        &[],
        "built-in models:26: use_timestamp is set, and the data set synthetic has no timestamps",
    );
    refuses(
        "--models vllm_api_general --datasets synthetic_gen_string -m perf --set models.batchsize=3",
        &[],
        "--set models.batchsize=3: a model has no key \"batchsize\"",
    );
}
