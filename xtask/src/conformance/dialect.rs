//! Command-line dialects of the client.

use std::path::Path;
use std::process::Command;

/// Command-line dialect of the client; each has a program of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Dialect {
    /// SGLang's dialect, for text.
    Sglang,
    /// SGLang's dialect, for vectors and scores.
    SglangItems,
    /// Dialect of vLLM's client.
    Vllm,
}

impl Dialect {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Sglang | Self::SglangItems => "sglang",
            Self::Vllm => "vllm",
        }
    }

    /// Returns our program and the arguments before its flags.
    pub(super) const fn program(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Sglang => ("bench-serving", &[]),
            Self::SglangItems => ("bench-embedding", &[]),
            Self::Vllm => ("servemark", &["vllm", "bench", "serve"]),
        }
    }

    /// Adds the flags that set the client's result file.
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

/// Name of the result file in a run's folder.
pub(super) const RESULT: &str = "result.json";
