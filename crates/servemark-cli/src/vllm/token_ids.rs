//! Converts the flags of prompts that are sent as token ids (`--prompt-token-ids`), as in vLLM's
//! Rust client.

use servemark_datasets::{VllmRandomSpec, WarmPrompts};

use super::args::{ExtrasArgs, VllmArgs};
use crate::error::CliError;

/// Applies the flags about token ids and prefix-cache hits to the data set `random`.
pub(super) fn apply(args: &VllmArgs, spec: &mut VllmRandomSpec) -> Result<(), CliError> {
    let extras = &args.extras;
    if extras.prompt_token_ids && !SENT_AS_IDS.contains(&args.target.backend.as_str()) {
        let why = format!("takes --backend {}", SENT_AS_IDS.join(", "));
        return Err(CliError::setting(ExtrasArgs::PROMPT_TOKEN_IDS, why));
    }
    spec.as_token_ids = extras.prompt_token_ids;
    spec.warm = warm(args)?;
    Ok(())
}

fn warm(args: &VllmArgs) -> Result<Option<WarmPrompts>, CliError> {
    let extras = &args.extras;
    let (share, prefix) = (extras.random_cache_hit_fraction, extras.random_cache_ratio);
    let is_requested = share != 0.0;
    if is_requested && prefix == 0.0 {
        return Err(CliError::Together(
            "--random-cache-hit-fraction requires --random-cache-ratio, the share of each of those \
             prompts that is alike",
        ));
    }
    if is_requested && !extras.prompt_token_ids {
        return Err(CliError::Together(
            "--random-cache-hit-fraction requires --prompt-token-ids: texts that begin alike may be \
             other tokens",
        ));
    }
    let warm = WarmPrompts::new(share, prefix);
    let warm = warm.map_err(|why| {
        CliError::setting("--random-cache-hit-fraction or --random-cache-ratio:", why)
    })?;
    Ok(is_requested.then_some(warm))
}

/// Backends whose prompts can be token ids.
const SENT_AS_IDS: [&str; 4] = ["vllm", "openai", "openai-embeddings", "vllm-pooling"];
