//! Converts `--tokenizer-mode`, which selects how a tokenizer is built from a model's files.

use super::args::{TargetArgs, VllmArgs};
use crate::argparse::Flag;
use crate::error::CliError;
use crate::nearest::did_you_mean;

/// Returns whether the tokenizer is Mistral's own.
pub(super) fn is_mistrals(args: &VllmArgs) -> bool {
    args.target.tokenizer_mode == MISTRALS
}

/// Refuses unknown modes, and modes that need vLLM's own code for some models.
pub(super) fn check(args: &VllmArgs) -> Result<(), CliError> {
    let mode = args.target.tokenizer_mode.as_str();
    match mode {
        _ if args.target.skip_tokenizer_init => Ok(()),
        MISTRALS => Ok(()),
        _ if AS_TRANSFORMERS.contains(&mode) => Ok(()),
        _ if OTHER_CONVERSATIONS.contains(&mode) && !renders_conversations(args) => Ok(()),
        _ if OTHER_CONVERSATIONS.contains(&mode) => Err(CliError::setting(
            FLAG,
            format!(
                "{mode} renders conversations by code of vLLM's own, which is not here: give \
                 --skip-chat-template where the data set has it, or --tokenizer-mode hf and a \
                 tokenizer with a chat_template.jinja"
            ),
        )),
        _ if OTHER_TOKENS.contains(&mode) => Err(CliError::setting(
            FLAG,
            format!(
                "{mode} makes its tokens by code of vLLM's own, which is not here: give \
                 --tokenizer-mode hf and a folder with the same tokens as a tokenizer.json \
                 (--tokenizer DIR)"
            ),
        )),
        _ => {
            let known = || [MISTRALS].into_iter().chain(AS_TRANSFORMERS).chain(OTHER_CONVERSATIONS);
            let known: Vec<&str> = known().chain(OTHER_TOKENS).collect();
            let hint = did_you_mean(mode, known.iter().copied());
            Err(CliError::Peer(format!(
                "No tokenizer registered for tokenizer_mode='{mode}'. Known are {}{hint}",
                known.join(", ")
            )))
        }
    }
}

/// Returns whether prompts are rendered with the model's chat template.
fn renders_conversations(args: &VllmArgs) -> bool {
    let data = &args.dataset;
    match data.dataset_name.as_str() {
        "custom" | "speed_bench" | "hf" => !data.skip_chat_template,
        "custom_audio" => !data.enable_multimodal_chat,
        name => name == "spec_bench",
    }
}

const FLAG: Flag = TargetArgs::TOKENIZER_MODE;
const MISTRALS: &str = "mistral";

/// Modes with the tokens and templates of transformers. The last one is that of earlier versions of
/// vLLM; it gives equal ids more slowly.
const AS_TRANSFORMERS: [&str; 6] = ["auto", "cohere", "hf", "inkling", "kimi_k3", "slow"];

/// Modes with the tokens of transformers and other templates.
const OTHER_CONVERSATIONS: [&str; 3] = ["deepseek_v32", "deepseek_v4", "deepseek_v41"];

/// Modes with tokens of their own.
const OTHER_TOKENS: [&str; 2] = ["alpamayo2_super", "kimi_audio"];
