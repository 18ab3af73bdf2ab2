//! `mlx_lm`: small, quick to install, and with an unusual wire format.

use super::{Engine, Refusal, Serving, TINY_LLAMA, Task};

pub(super) const MLX: Engine = Engine {
    name: "mlx",
    title: "mlx_lm.server",
    packages: &["mlx-lm==0.32.2", "mlx[cpu]==0.32.4", "numpy", "safetensors"],
    install_flags: &[],
    overrides: &[],
    wants_driver: None,
    environment: &[],
    arguments: &[],
    servers: &[Serving {
        launch: &["-m", "mlx_lm.server", "--model"],
        ready_path: "/health",
        model: "default_model",
        weights: TINY_LLAMA,
        task: Task::Generate,
        backends: &["vllm", "vllm-chat", "lmdeploy", "lmdeploy-chat"],
        honours_ignore_eos: false,
        takes_logprobs: false,
        refusals: &[
            Refusal {
                name: "unknown model",
                backend: "vllm-chat",
                flags: &["--served-model-name", "no-such-model"],
                status: 404,
                kind: "status",
                excerpt: "Cannot find",
            },
            Refusal {
                name: "log-probabilities",
                backend: "vllm",
                flags: &["--return-logprob", "--top-logprobs-num", "2"],
                status: 400,
                kind: "status",
                excerpt: "logprobs must be of type bool",
            },
        ],
        tells_times: &[],
        histograms: &[],
        peer: None,
    }],
    offline: None,
};
