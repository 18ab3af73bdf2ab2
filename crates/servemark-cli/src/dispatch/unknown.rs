//! Errors about commands that Servemark does not have: servers, other commands of the peers, and
//! names with an error.

use std::ffi::OsString;

use crate::error::CliError;
use crate::nearest::nearest;

/// Returns the error about a command that is neither Python nor one of Servemark's.
pub(super) fn command(name: &str, mut args: impl Iterator<Item = OsString>) -> CliError {
    let second = args.next().unwrap_or_default().to_string_lossy().into_owned();
    let both = format!("{name} {second}");
    let found = SERVERS.iter().find(|(server, _)| *server == name || *server == both);
    match found {
        Some((server, measure)) => CliError::StartsServer { given: (*server).to_owned(), measure },
        None if name == "sglang" => CliError::PeersAlone { given: both.trim_end().to_owned() },
        None => CliError::unknown_command(name, COMMANDS),
    }
}

/// Returns the error about a Python module that Servemark does not have.
pub(super) fn module(name: &str) -> CliError {
    let given = format!("python -m {name}");
    if let Some((_, measure)) = SERVER_MODULES.iter().find(|(server, _)| *server == name) {
        return CliError::StartsServer { given, measure };
    }
    let is_of_engine = !cfg!(feature = "engine") && name.ends_with("offline_throughput");
    if is_of_engine || PEERS_MODULES.contains(&name) {
        return CliError::PeersAlone { given };
    }
    // "python -m" is no part of the comparison: it would make all modules alike.
    let nearest = nearest(name, MODULES).map(|module| format!("python -m {module}"));
    CliError::UnknownCommand { given, nearest }
}

/// The commands of `servemark`.
const COMMANDS: [&str; 21] = [
    "ab",
    "ais_bench",
    "bench-embedding",
    "bench-offline",
    "bench-serving",
    "compare",
    "completions",
    "demo",
    "doctor",
    "evalscope",
    "export",
    "help",
    "man",
    "noise",
    "python",
    "rerun",
    "run",
    "schema",
    "score",
    "selftest",
    "vllm",
];

/// Commands that start a server, each with the command that measures it.
const SERVERS: [(&str, &str); 5] = [
    ("lmdeploy serve", "bench-serving --backend lmdeploy-chat"),
    ("ollama serve", "bench-serving --backend ollama-chat"),
    ("sglang serve", SGLANG),
    ("text-generation-launcher", VLLM),
    ("trtllm-serve", VLLM),
];

const SGLANG: &str = "bench-serving --backend sglang";
const VLLM: &str = "vllm bench serve";

/// Modules that start a server, each with the command that measures it.
const SERVER_MODULES: [(&str, &str); 7] = [
    ("sglang.launch_server", SGLANG),
    ("sglang_router.launch_router", SGLANG),
    ("sglang_router.launch_server", SGLANG),
    ("tensorrt_llm.commands.serve", VLLM),
    ("vllm.entrypoints.api_server", VLLM),
    ("vllm.entrypoints.cli.serve", VLLM),
    ("vllm.entrypoints.openai.api_server", VLLM),
];

/// Python modules whose command lines Servemark reads.
const MODULES: [&str; 11] = [
    "sglang.bench_serving",
    "sglang.benchmark.serving",
    "sglang.bench_offline_throughput",
    "sglang.benchmark.offline_throughput",
    "sglang.bench_one_batch_server",
    "sglang.benchmark.one_batch_server",
    "sglang.benchmark.steady_state_serving",
    "evalscope.cli.cli",
    "evalscope.perf.main",
    "vllm.entrypoints.cli.main",
    "vllm.benchmarks.datasets.create_txt_slices_dataset",
];

/// Python modules of the peers that Servemark does not have.
const PEERS_MODULES: [&str; 8] = [
    "sglang.bench_one_batch",
    "sglang.benchmark.one_batch",
    "sglang.benchmark.dspark_sps_profiler",
    "sglang.benchmark.dspark_sts_fit",
    "vllm.benchmarks.forward.main",
    "vllm.benchmarks.mm_processor",
    "vllm.benchmarks.startup",
    "vllm.collect_env",
];
