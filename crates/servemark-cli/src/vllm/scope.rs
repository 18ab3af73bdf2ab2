//! Finds flags that would have no effect.
//!
//! vLLM accepts flags of data sets and routes that are not in use. Servemark accepts them too, with
//! a warning. Servemark's own flags without effect are refused as mistakes. The limits on each flag
//! stand where the flag is declared, in [`args`](super::args).

use super::args::{DatasetArgs, LoadArgs, TargetArgs, VllmArgs, generates};
use crate::address::{doubled_slash, is_encrypted};
use crate::argparse::{Effects, ParsedCommandLine};
use crate::error::CliError;

/// Refuses Servemark's own flags that have no effect, and warns of vLLM's.
pub(super) fn check(
    args: &VllmArgs,
    given: &ParsedCommandLine,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    let effects = Effects::of(given)
        .with(DatasetArgs::DATASET_NAME, &args.dataset.dataset_name)
        .with(TargetArgs::BACKEND, &args.target.backend)
        .with(LoadArgs::REQUEST_RATE, args.load.request_rate.to_string())
        .encrypted(args.target.base_url.as_deref().is_some_and(is_encrypted));
    effects.check(VllmArgs::GROUPS, warnings)?;
    let base_url = args.target.base_url.as_deref().unwrap_or_default();
    warnings.extend(doubled_slash(base_url, "vLLM"));
    let is_custom = args.dataset.dataset_name == "custom";
    if args.target.skip_tokenizer_init && is_custom && generates(&effects) {
        warnings.push(ONE_TOKEN.to_owned());
    }
    Ok(())
}

const ONE_TOKEN: &str = "--skip-tokenizer-init: every request asks for one token of output, \
                         whatever is said of lengths, as vLLM's client has it";
