//! Published JSON Schemas: what the program prints and reads is what they say.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{RUN, servemark, text};

/// Returns a published schema, and checks that the program prints the same.
fn published(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/servemark-cli/schema");
    let kept = fs::read_to_string(path.join(format!("{name}.schema.json"))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let printed = servemark(&folder, &["schema", name]);
    assert_eq!(
        text(&printed.stdout),
        kept,
        "servemark-cli/schema: servemark schema {name} prints another"
    );
    serde_json::from_str(&kept).unwrap()
}

/// Returns why a value does not fit a schema, with the paths of its parts; empty if it fits. Knows
/// the keywords that the published schemas use.
fn faults(value: &Value, schema: &Value, root: &Value, path: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#'));
        return faults(value, target.expect("the reference is right"), root, path);
    }
    for (keyword, most) in [("oneOf", 1), ("anyOf", usize::MAX)] {
        if let Some(all) = schema[keyword].as_array() {
            let fit = all.iter().filter(|one| faults(value, one, root, path).is_empty()).count();
            if fit == 0 || fit > most {
                return vec![format!("{path}: {fit} of {keyword} fit {value}")];
            }
        }
    }
    let mut found = Vec::new();
    let kinds = schema.get("type").map(|kinds| match kinds {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    });
    if let Some(kinds) = kinds
        && !kinds.iter().any(|kind| is_of(value, kind.as_str().unwrap()))
    {
        found.push(format!("{path}: {value} is none of {kinds:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        found.push(format!("{path}: {value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|names| !names.contains(value)) {
        found.push(format!("{path}: {value} is none of {}", schema["enum"]));
    }
    if let Value::Object(fields) = value {
        for key in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(key.as_str().unwrap()) {
                found.push(format!("{path}: {key} is missing"));
            }
        }
        for (key, inner) in fields {
            let place = format!("{path}.{key}");
            match schema["properties"].get(key) {
                Some(schema) => found.extend(faults(inner, schema, root, &place)),
                None if schema["additionalProperties"] == false => {
                    found.push(format!("{place} is not in the schema"));
                }
                None => {}
            }
        }
    }
    if let Value::Array(items) = value {
        let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
        let path = [path, "[]"].concat();
        for (item, schema) in items.iter().zip(first) {
            found.extend(faults(item, schema, root, &path));
        }
        for item in items.iter().skip(first.len()) {
            match schema.get("items") {
                Some(Value::Bool(false)) => found.push(format!("{path}: {item} is one too many")),
                Some(schema) => found.extend(faults(item, schema, root, &path)),
                None => {}
            }
        }
    }
    found
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        other => panic!("{other} is no kind of JSON"),
    }
}

#[track_caller]
fn check(name: &str, document: &[u8]) -> Value {
    let schema = published(name);
    let document: Value = serde_json::from_slice(document).expect("one document of JSON");
    assert_eq!(faults(&document, &schema, &schema, name), Vec::<String>::new(), "{document:#}");
    document
}

#[test]
fn the_validator_sees_faults() {
    let schema = published("explore");
    let wrong =
        json!({"schema": "servemark/explore/2", "engine": "vllm", "levels": [{"streams": 1.5}]});
    let found = faults(&wrong, &schema, &schema, "").join("\n");
    for part in [".schema: ", "\"model\" is missing", ".levels[].streams: 1.5"] {
        assert!(found.contains(part), "{part} is not in {found}");
    }
}

/// Returns command lines that print a document, each with the name of its schema and the folder
/// that keeps the document as `summary.json`, if the command has one.
pub(crate) fn documents(url: &str) -> Vec<(&'static str, Option<&'static str>, Vec<String>)> {
    let data = format!(
        "--num-prompts 4 --dataset-name random-ids --random-input 8 --random-output 4 --tokenizer {}",
        tokenizer()
    );
    let simulated = SIMULATED;
    let serving = format!("bench-serving {simulated} --random-output 4");
    let search = "--slo e2el:p50<60s --slo-search max-concurrency --slo-bounds 1,2 --slo-start 1 \
                  --slo-requests 20 --slo-duration 0.01";
    [
        ("ab", Some("a"), format!("ab --a {url} --b {url} --max-runs 2 --out a --json -- {data}")),
        ("compare", None, "compare run.jsonl other.jsonl --json --no-worse-than 50%".to_owned()),
        (
            "explore",
            Some("b"),
            "demo --duration 2 --output-len 4 --slo ttft:p50<1s --out b --json".to_owned(),
        ),
        (
            "grid",
            Some("c"),
            format!("bench-embedding {simulated} --sweep batch-size=1,2 --out c --json"),
        ),
        (
            "noise",
            Some("d"),
            format!("noise {url} --runs 2 --store noise.json --out d --json -- {data}"),
        ),
        ("score", None, "score run.jsonl --json --slo ttft:p90<1s".to_owned()),
        ("score", Some("e"), "rerun run.jsonl --out e --json".to_owned()),
        ("score", Some("f"), format!("{serving} --out f --json")),
        ("score", Some("g"), format!("bench-embedding {simulated} --out g --json")),
        ("search", Some("h"), format!("{serving} {search} --out h --json")),
        ("search", Some("i"), format!("bench-embedding {simulated} {search} --out i --json")),
        ("selftest", None, "doctor --streams 4 --duration 0.1 --json".to_owned()),
        ("sweep", Some("j"), format!("{serving} --sweep max-concurrency=1,2 --out j --json")),
    ]
    .map(|(name, kept, line)| (name, kept, words(&line)))
    .into()
}

/// Returns command lines of other clients and of exports that print a document, each with the name
/// of its schema.
fn peer_documents(url: &str) -> Vec<(&'static str, Option<&'static str>, Vec<String>)> {
    let tokenizer = tokenizer();
    let simulated = SIMULATED;
    let vllm = format!(
        "vllm bench serve --base-url {url} --model simulated --tokenizer {tokenizer} --dataset-name random \
         --num-prompts 2 --random-input-len 4 --random-output-len 4"
    );
    let evalscope = "evalscope perf --simulate ttft=2ms --model m --prompt hello --max-tokens 4";
    [
        ("files", None, "export run.jsonl --parquet tables --json".to_owned()),
        ("score", None, format!("{vllm} --json --save-result --result-filename v.json")),
        ("dry-run", None, format!("{vllm} --dry-run --json")),
        ("runs", None, format!("{vllm} --num-runs 2 --json")),
        ("compare", None, format!("{vllm} --compare v.json v.json --json")),
        (
            "score",
            None,
            format!(
                "vllm bench latency --base-url {url} --input-len 4 --output-len 4 --num-iters 2 \
                 --json"
            ),
        ),
        (
            "score",
            None,
            format!(
                "vllm bench throughput --base-url {url} --model simulated --tokenizer {tokenizer} \
                 --input-len 4 --output-len 4 --num-prompts 2 --json"
            ),
        ),
        (
            "score",
            None,
            format!("python3 -m sglang.bench_serving {simulated} --random-output 4 --json"),
        ),
        (
            "runs",
            None,
            "python3 -m sglang.bench_one_batch_server --model-path None --simulate ttft=2ms \
             --dataset-name random-ids --batch-size 1 2 --input-len 8 --output-len 4 --skip-warmup --json"
                .to_owned(),
        ),
        ("runs", None, format!("{evalscope} --parallel 1 2 --number 2 2 --json")),
        (
            "runs",
            None,
            format!(
                "{evalscope} --parallel 1 --number 2 --sla-auto-tune --sla-variable parallel \
                 --sla-upper-bound 2 --sla-params [{{\"avg_ttft\":\"<=60\"}}] --json"
            ),
        ),
        (
            "runs",
            None,
            "ais_bench --models vllm_api_stream_chat --datasets synthetic_gen_string -m perf \
             --simulate ttft=2ms --set datasets.config.RequestCount=2 --json"
                .to_owned(),
        ),
        (
            "experiment",
            None,
            format!(
                "vllm bench sweep startup --startup-cmd {startup} --num-runs 1 -o o -e e --json",
                startup = "./startup.sh"
            ),
        ),
        ("files", None, "vllm bench sweep plot o/e --var-x a --var-y b --json".to_owned()),
    ]
    .map(|(name, kept, line)| (name, kept, words(&line)))
    .into()
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

const SIMULATED: &str = "--simulate ttft=2ms --num-prompts 4 --random-input 8";

/// Returns the path of a small tokenizer.
pub(crate) fn tokenizer() -> String {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
    format!("{fixtures}/tokenizers/spm-unigram-botchan-1000")
}

/// Returns the names of the published schemas.
fn names() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/servemark-cli/schema");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let name = |file: std::ffi::OsString| {
        file.to_string_lossy().strip_suffix(".schema.json").unwrap().to_owned()
    };
    files.map(name).collect()
}

#[test]
fn what_commands_print_and_keep_is_what_their_schemas_say() {
    let folder = tempfile::tempdir().unwrap();
    let server = servemark_mock::MockServer::start(servemark_mock::MockSpec::default()).unwrap();
    servemark(&folder, &RUN);
    fs::copy(folder.path().join("run.jsonl"), folder.path().join("other.jsonl")).unwrap();
    write_startup_command(&folder);
    let score = published("score");
    let mut checked = BTreeSet::from(["plan".to_owned()]);
    let url = server.base_url();
    for (name, kept, line) in documents(&url).into_iter().chain(peer_documents(&url)) {
        let args: Vec<&str> = line.iter().map(String::as_str).collect();
        let printed = servemark(&folder, &args);
        assert!(!printed.stdout.is_empty(), "{line:?}: {}", text(&printed.stderr));
        let document = check(name, &printed.stdout);
        assert_eq!(document["schema"], format!("servemark/{name}/1"));
        let runs = document["runs"].as_array().into_iter().flatten();
        for run in runs.filter(|_| name == "runs") {
            assert_eq!(faults(&run["score"], &score, &score, "score"), Vec::<String>::new());
        }
        if let Some(kept) = kept {
            let kept = folder.path().join(kept);
            let summary = fs::read(kept.join("summary.json")).unwrap();
            assert_eq!(text(&summary), text(&printed.stdout), "{line:?}");
            assert!(kept.join("report.html").exists(), "{line:?}");
        }
        checked.insert(name.to_owned());
    }
    assert_eq!(checked, names(), "a schema is checked with no document");
}

/// Writes a command that does as `vllm bench startup`: it prints text and writes a result.
fn write_startup_command(folder: &tempfile::TempDir) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.path().join("startup.sh");
    let script = "#!/bin/sh\necho noise\nwhile [ $# -gt 0 ]; do\n  \
                  [ $1 = --output-json ] && echo '{\"a\": 1, \"b\": 2}' > $2\n  shift\ndone\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_peers_files_are_what_they_are_without_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let line = "vllm bench serve --simulate ttft=2ms --num-prompts 2 --random-input-len 4 \
                --random-output-len 4 --save-result --result-filename";
    let (mut plain, mut json) = (Vec::new(), Vec::new());
    plain.extend(line.split(' ').chain(["plain.json"]));
    json.extend(line.split(' ').chain(["json.json", "--json"]));
    let keys = |name: &str, line: &[&str]| {
        let done = servemark(&folder, line);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let result = fs::read(folder.path().join(name)).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        result.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys("plain.json", &plain), keys("json.json", &json));
}

#[test]
fn plans_are_what_their_schema_says() {
    let schema = published("plan");
    let folder = tempfile::tempdir().unwrap();
    let lines: [&[&str]; 7] = [
        &["bench-serving", "--simulate", "ttft=5ms", "--request-rate", "3", "--plan-only"],
        &[
            "bench-serving",
            "--base-url",
            "http://h:1",
            "--http2",
            "--slo",
            "ttft:p9<1s",
            "--plan-only",
        ],
        &["vllm", "bench", "serve", "--model", "m", "--dataset-name", "random", "--plan-only"],
        &[
            "evalscope",
            "perf",
            "--model",
            "m",
            "--url",
            "http://h:1/v1/chat/completions",
            "--plan-only",
        ],
        &[
            "vllm",
            "bench",
            "serve",
            "--model",
            "m",
            "--dataset-name",
            "hf",
            "--dataset-path",
            "AI-MO/aimo-validation-aime",
            "--burstiness",
            "0.5",
            "--request-rate",
            "2",
            "--plan-only",
        ],
        &[
            "vllm",
            "bench",
            "serve",
            "--model",
            "m",
            "--dataset-name",
            "random",
            "--ramp-up-strategy",
            "linear",
            "--ramp-up-start-rps",
            "1",
            "--ramp-up-end-rps",
            "4",
            "--plan-only",
        ],
        &[
            "bench-serving",
            "--simulate",
            "ttft=5ms",
            "--dataset-name",
            "mooncake",
            "--mooncake-slowdown-factor",
            "2",
            "--plan-only",
        ],
    ];
    for line in lines {
        let printed = servemark(&folder, line);
        let plan: Value = serde_json::from_slice(&printed.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", text(&printed.stderr)));
        assert_eq!(faults(&plan, &schema, &schema, ""), Vec::<String>::new(), "{line:?}");
    }
    let mut followed: Value = serde_json::from_slice(&servemark(&folder, lines[2]).stdout).unwrap();
    let data = json!({"kind": "custom", "template": {"text": "{q}"}, "messages": true,
        "output_tokens": 8, "repeats": 1});
    followed["workload"]["dataset"] = data.clone();
    followed["workload"]["dataset"]["dataset"] = json!("aisbench");
    followed["workload"]["dataset"]["followed_by"] = json!([["more", data]]);
    assert_eq!(faults(&followed, &schema, &schema, ""), Vec::<String>::new());
    followed["workload"]["dataset"]["followed_by"][0][1]["repeats"] = json!("x");
    assert_ne!(faults(&followed, &schema, &schema, ""), Vec::<String>::new());
    // The kinds of a peer's data sets are known, so a value of another type is not let through.
    let printed = servemark(&folder, lines[2]);
    let mut plan: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(plan["workload"]["dataset"]["dataset"], "vllm", "{plan:#}");
    plan["workload"]["dataset"]["seed"] = json!("x");
    assert_ne!(faults(&plan, &schema, &schema, ""), Vec::<String>::new());
    let wrong = json!({"server": {"at": {"base_url": "http://h:1", "bse": 1}}, "backend": "vllm"});
    let found = faults(&wrong, &schema, &schema, "").join("\n");
    assert!(found.contains("workload") && found.contains(".server"), "{found}");
}
