//! Finds flags that would have no effect.
//!
//! SGLang's client accepts flags of data sets and routes that are not in use. Servemark accepts
//! them too, with a warning; flags that SGLang's result line repeats need none. Servemark's own
//! flags without effect are refused as mistakes.

use servemark_backends::{BackendName, Route, ServerKind};
use servemark_datasets::DatasetName;

use super::dataset::draws_ids;
use super::load::is_replayed;
use super::shared_prefix::takes_routing_key;
use crate::argparse::{Given, Owner, Scope, check_scopes};
use crate::error::CliError;
use crate::own;

/// Facts that decide whether a flag has an effect.
#[derive(Debug)]
pub(super) struct ScopeInputs<'a> {
    pub(super) given: &'a Given,
    pub(super) dataset: DatasetName,
    pub(super) backend: BackendName,
}

/// Warning if `mooncake` sends SGLang's own prompts only because that is the default.
const SHORT_PROMPTS: &str = "prompts of mooncake are SGLang's own, some 130 tokens for each block of 512, \
                             whatever the trace says; --mooncake-prompts lengths sends as many tokens as \
                             it says";

impl ScopeInputs<'_> {
    /// Refuses Servemark's own flags that have no effect, and warns of SGLang's.
    pub(super) fn check(&self, warnings: &mut Vec<String>) -> Result<(), CliError> {
        if self.is_mooncake() && !self.given.is("--mooncake-prompts") {
            warnings.push(SHORT_PROMPTS.to_owned());
        }
        if self.dataset == DatasetName::Openai && self.backend.route().passes_messages() {
            let path = self.backend.route().path();
            warnings.push(format!(
                "--dataset-name openai: {path} takes texts, and is sent messages as they stand, as by \
                 SGLang's client; choose a chat backend (--backend sglang-oai-chat, vllm-chat or \
                 lmdeploy-chat)"
            ));
        }
        own::check(self.given)?;
        check_scopes(SCOPES, self.given, |in_use| in_use(self), warnings)
    }

    fn is_generate(&self) -> bool {
        self.backend.route() == Route::GENERATE
    }

    fn is_chat(&self) -> bool {
        self.backend.route() == Route::CHAT
    }

    fn is_ollama(&self) -> bool {
        matches!(self.backend.route(), Route::OLLAMA_CHAT | Route::OLLAMA_GENERATE)
    }

    fn is_anthropic(&self) -> bool {
        self.backend.route() == Route::ANTHROPIC
    }

    fn is_completions(&self) -> bool {
        self.backend.route() == Route::COMPLETIONS
    }

    fn reads_conversations(&self) -> bool {
        matches!(self.dataset, DatasetName::Custom | DatasetName::Sharegpt)
    }

    fn reads_lines(&self) -> bool {
        matches!(
            self.dataset,
            DatasetName::Custom
                | DatasetName::LongBenchV2
                | DatasetName::Openai
                | DatasetName::SpeedBench
        )
    }

    fn is_shared_prefix(&self) -> bool {
        self.dataset == DatasetName::GeneratedSharedPrefix
    }

    fn reads_no_file(&self) -> bool {
        let draws_all = matches!(self.dataset, DatasetName::Image | DatasetName::RandomIds);
        draws_all || self.is_shared_prefix()
    }

    fn is_mooncake(&self) -> bool {
        self.dataset == DatasetName::Mooncake
    }

    fn is_replayed(&self) -> bool {
        is_replayed(self.dataset, self.given.is("--use-trace-timestamps"))
    }

    fn flushes(&self) -> bool {
        self.given.is("--flush-cache") && self.backend.server() == ServerKind::Sglang
    }

    fn converses(&self) -> bool {
        ["agentic-trace", "generated-shared-prefix"].contains(&self.dataset.as_str())
    }
}

type InUse = fn(&ScopeInputs<'_>) -> bool;

const SCOPES: &[Scope<InUse>] = &[
    Scope {
        flags: &["--include-usage"],
        in_use: |inputs| !inputs.is_generate(),
        when: "on /generate, which always counts tokens",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--include-usage"],
        in_use: |inputs| inputs.is_completions() || inputs.is_chat() || inputs.is_generate(),
        when: "beyond /v1/completions and /v1/chat/completions",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--batch-size", "--encoding-format", "--dimensions"],
        in_use: |inputs| inputs.backend.route() == Route::EMBEDDINGS,
        when: "beyond --backend sglang-embedding and vllm-embedding",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--documents"],
        in_use: |inputs| inputs.backend.route() == Route::RERANK,
        when: "beyond --backend sglang-rerank and vllm-rerank",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--disable-stream"],
        in_use: |inputs| inputs.backend.route() != Route::TRT,
        when: "with --backend trt, which always streams",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--disable-stream", "--disable-ignore-eos"],
        in_use: |inputs| inputs.backend.route().generates(),
        when: "on routes that generate nothing",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--disable-ignore-eos"],
        in_use: |inputs| !inputs.is_ollama() && !inputs.is_anthropic(),
        when: "with --backend ollama, ollama-chat and anthropic, whose servers always heed the end of \
               a text",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--include-usage"],
        in_use: |inputs| !inputs.given.is("--disable-stream"),
        when: "with --disable-stream, whose answers always count tokens",
        owner: Owner::Harmless,
    },
    Scope {
        flags: &["--echo-reasoning"],
        in_use: |inputs| inputs.converses(),
        when: "where no session has several turns",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--bad-lines"],
        in_use: |inputs| inputs.reads_lines(),
        when: "beyond --dataset-name custom, openai, longbench_v2 and speed-bench",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--mooncake-prompts"],
        in_use: |inputs| inputs.is_mooncake(),
        when: "beyond --dataset-name mooncake",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--mooncake-num-rounds", "--mooncake-workload"],
        in_use: |inputs| inputs.is_mooncake(),
        when: "beyond --dataset-name mooncake",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--mooncake-workload"],
        in_use: |inputs| !inputs.is_mooncake() || !inputs.given.asks("--dataset-path"),
        when: "with --dataset-path",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--tokenize-prompt"],
        in_use: |inputs| draws_ids(inputs.dataset),
        when: "beyond --dataset-name random, random-ids and generated-shared-prefix",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--use-trace-timestamps"],
        in_use: |inputs| inputs.dataset.tells_times(),
        when: "on when requests are sent: rows of this data set do not say when theirs came; the \
               rate is called trace, as SGLang calls it",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--mooncake-slowdown-factor"],
        in_use: |inputs| inputs.is_replayed(),
        when: "beyond --dataset-name mooncake and --use-trace-timestamps",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--request-rate"],
        in_use: |inputs| !inputs.is_replayed(),
        when: "where a trace says when requests are sent",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--host", "--port"],
        in_use: |inputs| !inputs.given.is("--base-url"),
        when: "with --base-url",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--dataset-path"],
        in_use: |inputs| !inputs.reads_no_file(),
        when: "with --dataset-name image, random-ids and generated-shared-prefix",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--num-prompts"],
        in_use: |inputs| !inputs.is_shared_prefix(),
        when: "with --dataset-name generated-shared-prefix, which sends --gsp-num-groups times \
               --gsp-prompts-per-group",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--gsp-num-groups",
            "--gsp-prompts-per-group",
            "--gsp-system-prompt-len",
            "--gsp-question-len",
            "--gsp-output-len",
            "--gsp-range-ratio",
            "--gsp-fast-prepare",
            "--gsp-send-routing-key",
            "--gsp-num-turns",
            "--gsp-ordered",
            "--gsp-group-distribution",
            "--gsp-zipf-alpha",
        ],
        in_use: |inputs| inputs.is_shared_prefix(),
        when: "beyond --dataset-name generated-shared-prefix",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--gsp-fast-prepare"],
        in_use: |inputs| !inputs.is_shared_prefix() || !inputs.given.is("--tokenize-prompt"),
        when: "with --tokenize-prompt, which knows every length",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--sharegpt-context-len"],
        in_use: |inputs| inputs.reads_conversations() || inputs.dataset == DatasetName::LongBenchV2,
        when: "beyond --dataset-name sharegpt, custom and longbench_v2",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--prompt-suffix", "--apply-chat-template"],
        in_use: |inputs| inputs.reads_conversations(),
        when: "beyond --dataset-name sharegpt and custom",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--dataset-offset", "--agentic-max-turns"],
        in_use: |inputs| inputs.dataset == DatasetName::AgenticTrace,
        when: "beyond --dataset-name agentic-trace",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--speed-bench-category", "--speed-bench-output-len"],
        in_use: |inputs| inputs.dataset == DatasetName::SpeedBench,
        when: "beyond --dataset-name speed-bench",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--image-count",
            "--image-resolution",
            "--random-image-count",
            "--image-format",
            "--image-content",
        ],
        in_use: |inputs| inputs.dataset == DatasetName::Image,
        when: "beyond --dataset-name image",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--temperature", "--top-p"],
        in_use: |inputs| inputs.is_generate() || inputs.is_ollama() || inputs.is_anthropic(),
        when: "beyond /generate, /v1/messages and Ollama's routes; use --extra-request-body on this \
               route",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--token-ids-logprob", "--logprob-start-len", "--return-routed-experts"],
        in_use: |inputs| inputs.is_generate(),
        when: "beyond /generate",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--return-logprob"],
        in_use: |inputs| {
            inputs.is_generate()
                || inputs.is_completions() && inputs.given.asks("--top-logprobs-num")
        },
        when: "beyond /generate, and /v1/completions with --top-logprobs-num",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--top-logprobs-num"],
        in_use: |inputs| {
            inputs.is_generate() || inputs.is_completions() && inputs.given.is("--return-logprob")
        },
        when: "beyond /generate, and /v1/completions with --return-logprob",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--gsp-send-routing-key"],
        in_use: |inputs| takes_routing_key(inputs.backend),
        when: "with --backend trt and truss, to which SGLang's client sends none",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--cache-report"],
        in_use: |inputs| inputs.backend.reports_cache(),
        when: "beyond sglang, sglang-native, sglang-oai and sglang-oai-chat, whose servers tell of \
               their cache",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--lora-name"],
        in_use: |inputs| {
            let route = inputs.backend.route();
            !inputs.is_ollama() && !matches!(route, Route::TRT | Route::TRUSS | Route::RERANK)
        },
        when: "on the routes of trt, truss, ollama and rerankers",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--lora-zipf-alpha"],
        in_use: |inputs| inputs.given.values("--lora-request-distribution") == ["skewed"],
        when: "without --lora-request-distribution skewed",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--flush-cache-timeout"],
        in_use: |inputs| inputs.flushes(),
        when: "without --flush-cache and a backend of SGLang",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--profile-activities",
            "--profile-start-step",
            "--profile-steps",
            "--profile-num-steps",
            "--profile-by-stage",
            "--profile-stages",
            "--profile-output-dir",
            "--profile-prefix",
            "--pd-separated",
        ],
        in_use: |inputs| inputs.given.is("--profile"),
        when: "without --profile",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--profile-prefill-url", "--profile-decode-url"],
        in_use: |inputs| inputs.given.is("--profile") && inputs.given.is("--pd-separated"),
        when: "without --profile and --pd-separated",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--rust-client"],
        in_use: |_| false,
        when: "here: this client is compiled already, for every backend and data set",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--rust-worker-threads"],
        in_use: |_| false,
        when: "here: --shards says how many threads send and read",
        owner: Owner::Peer,
    },
];
