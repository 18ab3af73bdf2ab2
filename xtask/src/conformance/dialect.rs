//! In whose words the client is asked.

use std::path::Path;
use std::process::Command;

/// In whose words the client is asked. Closed: there is a program of ours for each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Dialect {
    /// SGLang's, for text.
    Sglang,
    /// SGLang's, for vectors and scores.
    SglangItems,
    /// vLLM's.
    Vllm,
}

impl Dialect {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Sglang | Self::SglangItems => "sglang",
            Self::Vllm => "vllm",
        }
    }

    /// Our program and the words before its flags.
    pub(super) const fn program(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Sglang => ("bench-serving", &[]),
            Self::SglangItems => ("bench-embedding", &[]),
            Self::Vllm => ("servemark", &["vllm", "bench", "serve"]),
        }
    }

    /// Tells a client where its result goes.
    pub(super) fn keep_result(self, client: &mut Command, folder: &Path) {
        match self {
            Self::Sglang | Self::SglangItems => {
                client.arg("--output-file").arg(folder.join(RESULT));
            }
            Self::Vllm => {
                client.args(["--save-result", "--save-detailed", "--result-filename", RESULT]);
                client.arg("--result-dir").arg(folder);
            }
        }
    }
}

/// The file of the result in a run's folder.
pub(super) const RESULT: &str = "result.json";
