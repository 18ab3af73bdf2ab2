//! Errors about commands that Servemark does not have: servers, other commands of the peers, and
//! names with an error.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::commands::completions;
use crate::error::CliError;
use crate::nearest::nearest;

/// Returns the error about a command that is neither Python nor one of Servemark's.
pub(super) fn command(name: &str, mut args: impl Iterator<Item = OsString>) -> CliError {
    let second = args.next().unwrap_or_default().to_string_lossy().into_owned();
    let both = format!("{name} {second}");
    let found = SERVERS.iter().find(|(server, _)| *server == name || *server == both);
    if let Some(variable) = variable(name) {
        return CliError::Assignment { variable };
    }
    match found {
        Some((server, measure)) => CliError::StartsServer { given: (*server).to_owned(), measure },
        None if name == "sglang" => CliError::PeersAlone { given: both.trim_end().to_owned() },
        None if RUST_CLIENTS.contains(&name) => {
            CliError::OtherClient { given: name.to_owned(), instead: "servemark vllm bench serve" }
        }
        None if LAUNCHERS.contains(&name) => CliError::Launcher { given: name.to_owned() },
        None => CliError::unknown_command(name, commands().iter().map(String::as_str)),
    }
}

/// Returns whether a name is that of a peer's Python module.
pub(super) fn is_module(name: &str) -> bool {
    MODULES.contains(&name)
        || PEERS_MODULES.contains(&name)
        || SERVER_MODULES.iter().any(|(server, _)| *server == name)
}

/// Returns the environment variable that a word sets, as in front of a command. Its value may be a
/// secret.
fn variable(word: &str) -> Option<String> {
    let is_part = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
    let (name, _) = word.split_once('=')?;
    (!name.is_empty() && name.chars().all(is_part)).then(|| name.to_owned())
}

/// Returns the error about a Python module that Servemark does not have.
pub(super) fn module(name: &str) -> CliError {
    let given = format!("python -m {name}");
    if let Some((_, measure)) = SERVER_MODULES.iter().find(|(server, _)| *server == name) {
        return CliError::StartsServer { given, measure };
    }
    if name == "sglang.benchmark.rust_client" {
        return CliError::OtherClient { given, instead: "servemark bench-serving" };
    }
    let is_of_engine = !cfg!(feature = "engine") && name.ends_with("offline_throughput");
    if is_of_engine || PEERS_MODULES.contains(&name) {
        return CliError::PeersAlone { given };
    }
    // "python -m" is no part of the comparison: it would make all modules alike.
    let nearest = nearest(name, MODULES).map(|module| format!("python -m {module}"));
    CliError::UnknownCommand { given, nearest }
}

/// Returns the names of the commands of `servemark`, in order.
fn commands() -> BTreeSet<String> {
    let own = completions::whole();
    let own = own.get_subcommands().map(|command| command.get_name().to_owned());
    own.chain(["bench-offline", "help", "python"].map(str::to_owned)).collect()
}

/// Programs that start another command.
const LAUNCHERS: [&str; 30] = [
    "conda",
    "docker",
    "env",
    "hatch",
    "kubectl",
    "mamba",
    "micromamba",
    "mpirun",
    "nice",
    "nohup",
    "numactl",
    "pdm",
    "pipenv",
    "pipx",
    "pixi",
    "podman",
    "poetry",
    "setsid",
    "srun",
    "ssh",
    "stdbuf",
    "sudo",
    "taskset",
    "time",
    "timeout",
    "torchrun",
    "uv",
    "uvx",
    "watch",
    "xargs",
];

/// Commands that start a server, each with the command that measures it.
const SERVERS: [(&str, &str); 10] = [
    ("infinity_emb v2", "vllm bench serve --backend infinity-embeddings"),
    ("llama-server", VLLM),
    ("lmdeploy serve", "bench-serving --backend lmdeploy-chat"),
    (
        "mindieservice_daemon",
        "ais_bench --models mindie_stream_api_general --datasets synthetic_gen -m perf",
    ),
    ("ollama serve", "bench-serving --backend ollama-chat"),
    ("sglang serve", SGLANG),
    ("text-generation-launcher", VLLM),
    ("tritonserver", "bench-serving --backend trt"),
    ("trtllm-serve", VLLM),
    ("vllm-rs serve", VLLM),
];

/// Names of vLLM's client that is written in Rust.
const RUST_CLIENTS: [&str; 2] = ["vllm-bench", "vllm-rs"];

const SGLANG: &str = "bench-serving --backend sglang";
const VLLM: &str = "vllm bench serve";

/// Modules that start a server, each with the command that measures it.
const SERVER_MODULES: [(&str, &str); 10] = [
    ("llama_cpp.server", VLLM),
    ("mlx_lm.server", VLLM),
    ("sglang.launch_server", SGLANG),
    ("sglang.srt.entrypoints.http_server", SGLANG),
    ("sglang_router.launch_router", SGLANG),
    ("sglang_router.launch_server", SGLANG),
    ("tensorrt_llm.commands.serve", VLLM),
    ("vllm.entrypoints.api_server", VLLM),
    ("vllm.entrypoints.cli.serve", VLLM),
    ("vllm.entrypoints.openai.api_server", VLLM),
];

/// Python modules whose command lines Servemark reads.
const MODULES: [&str; 15] = [
    "ais_bench.benchmark.cli.main",
    "sglang.bench_serving",
    "sglang.benchmark.serving",
    "sglang.bench_offline_throughput",
    "sglang.benchmark.offline_throughput",
    "sglang.bench_one_batch_server",
    "sglang.benchmark.one_batch_server",
    "sglang.benchmark.steady_state_serving",
    "evalscope.cli.cli",
    "evalscope.perf.main",
    "vllm.benchmarks.datasets.create_txt_slices_dataset",
    "vllm.benchmarks.latency",
    "vllm.benchmarks.serve",
    "vllm.benchmarks.throughput",
    "vllm.entrypoints.cli.main",
];

/// Python modules of the peers that Servemark does not have.
const PEERS_MODULES: [&str; 9] = [
    "sglang.bench_latency",
    "sglang.bench_one_batch",
    "sglang.benchmark.one_batch",
    "sglang.benchmark.dspark_sps_profiler",
    "sglang.benchmark.dspark_sts_fit",
    "vllm.benchmarks.forward.main",
    "vllm.benchmarks.mm_processor",
    "vllm.benchmarks.startup",
    "vllm.collect_env",
];
