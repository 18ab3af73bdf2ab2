//! Finds flags that would have no effect.
//!
//! SGLang's client accepts flags of data sets and routes that are not in use. Servemark accepts
//! them too, with a warning. Servemark's own flags without effect are refused as mistakes. The
//! limits on each flag stand where the flag is declared, in [`args`](super::args).

use servemark_backends::BackendName;
use servemark_datasets::DatasetName;

use super::args::{DatasetArgs, SglangArgs, TargetArgs, TraceArgs};
use crate::address::{doubled_slash, is_encrypted};
use crate::argparse::{Effects, ParsedCommandLine};
use crate::error::CliError;

/// Warning if `mooncake` sends SGLang's own prompts only because that is the default.
const SHORT_PROMPTS: &str = "prompts of mooncake are SGLang's own, some 130 tokens for each block of 512, \
                             whatever the trace says; --mooncake-prompts lengths sends as many tokens as \
                             it says";

/// Refuses Servemark's own flags that have no effect, and warns of SGLang's.
pub(super) fn check(
    args: &SglangArgs,
    given: &ParsedCommandLine,
    (dataset, backend): (DatasetName, BackendName),
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    if dataset == DatasetName::Mooncake && !given.is(TraceArgs::MOONCAKE_PROMPTS) {
        warnings.push(SHORT_PROMPTS.to_owned());
    }
    if dataset == DatasetName::Openai && backend.route().passes_messages() {
        let path = backend.route().path();
        warnings.push(format!(
            "--dataset-name openai: {path} takes texts, and is sent messages as they stand, as by \
             SGLang's client; choose a chat backend (--backend sglang-oai-chat, vllm-chat or \
             lmdeploy-chat)"
        ));
    }
    let base_url = args.target.base_url.as_deref().unwrap_or_default();
    warnings.extend(doubled_slash(base_url, "SGLang"));
    let effects = Effects::of(given)
        .with(DatasetArgs::DATASET_NAME, dataset.as_str())
        .with(TargetArgs::BACKEND, backend.as_str())
        .encrypted(args.target.base_url.as_deref().is_some_and(is_encrypted));
    effects.check(SglangArgs::GROUPS, warnings)
}
