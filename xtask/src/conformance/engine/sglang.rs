//! SGLang, whose kernels need a GPU driver's library even on a CPU.

use super::super::parts::{RequestTime, TimeHistogram};
use super::{Engine, Offline, Refusal, Serving, TINY_LLAMA, Task};

pub(super) const SGLANG: Engine = Engine {
    name: "sglang",
    title: "SGLang",
    packages: &["sglang==0.5.23"],
    install_flags: &["--prerelease=allow"],
    overrides: &[],
    wants_driver: Some("sgl_kernel"),
    environment: &[
        ("SGLANG_USE_CPU_ENGINE", "1"),
        ("SGLANG_CPU_OMP_THREADS_BIND", "0-1"),
        ("OMP_NUM_THREADS", "2"),
    ],
    arguments: &[
        "--device",
        "cpu",
        "--dtype",
        "float32",
        "--attention-backend",
        "torch_native",
        "--sampling-backend",
        "pytorch",
        "--disable-overlap-schedule",
        "--max-total-tokens",
        "20000",
        "--max-running-requests",
        "16",
    ],
    servers: &[Serving {
        launch: &[
            "-m",
            "sglang.launch_server",
            "--served-model-name",
            "tiny",
            "--skip-server-warmup",
            "--enable-metrics",
            "--model-path",
        ],
        ready_path: "/v1/models",
        model: "tiny",
        weights: TINY_LLAMA,
        task: Task::Generate,
        backends: &["sglang", "sglang-native", "sglang-oai", "sglang-oai-chat"],
        honours_ignore_eos: true,
        takes_logprobs: true,
        refusals: &[
            Refusal {
                name: "bad sampling parameter",
                backend: "sglang",
                flags: &["--extra-request-body", r#"{"sampling_params":{"max_new_tokens":"x"}}"#],
                status: 400,
                kind: "status",
                excerpt: "invalid type",
            },
            Refusal {
                name: "prompt too long",
                backend: "sglang",
                flags: &["--random-input-len", "5000", "--tokenize-prompt"],
                status: 200,
                kind: "in_stream",
                excerpt: "longer than the model's context length",
            },
        ],
        tells_times: &["sglang", "sglang-native"],
        histograms: &[
            TimeHistogram { name: "sglang:queue_time_seconds", time: RequestTime::Queue },
            TimeHistogram { name: "sglang:time_to_first_token_seconds", time: RequestTime::Ttft },
            TimeHistogram {
                name: "sglang:e2e_request_latency_seconds",
                time: RequestTime::Latency,
            },
        ],
        peer: None,
    }],
    offline: Some(Offline { core: "sglang::scheduler", bench: None, has_runtime: true }),
};
