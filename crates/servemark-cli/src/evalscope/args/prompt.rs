//! Flags of the length and the form of prompts.

use clap::Args;

use super::choice::{PROMPT, datasets};
use crate::argparse::Limit::Never;
use crate::argparse::{Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Prompts")]
pub(in crate::evalscope) struct PromptArgs {
    /// The longest prompt, in tokens with a tokenizer, in characters without
    #[arg(long, value_name = "LENGTH", default_value = "131072", value_parser = python::int)]
    pub(in crate::evalscope) max_prompt_length: i64,
    /// The shortest prompt, counted like --max-prompt-length
    #[arg(long, value_name = "LENGTH", default_value = "0", value_parser = python::int)]
    pub(in crate::evalscope) min_prompt_length: i64,
    /// Number of tokens of the common prefix of random prompts, in addition to their length
    #[arg(long, value_name = "TOKENS", default_value = "0", value_parser = python::int)]
    pub(in crate::evalscope) prefix_length: i64,
    /// Number of different prefixes of random prompts, which are used in turn
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::evalscope) prefix_count: i64,
    /// One prompt for all requests, as it stands or from a file (@FILE); then no data set is read
    #[arg(long, value_name = "TEXT")]
    pub(in crate::evalscope) prompt: Option<String>,
    /// The body of every request, as it stands or from a file (@FILE); its messages are replaced
    #[arg(long, value_name = "JSON")]
    pub(in crate::evalscope) query_template: Option<String>,
    /// Send messages, as is usual where the URL ends with chat/completions
    #[arg(long, overrides_with = "no_apply_chat_template")]
    pub(in crate::evalscope) apply_chat_template: bool,
    /// Send texts instead of messages
    #[arg(long, overrides_with = "apply_chat_template")]
    pub(in crate::evalscope) no_apply_chat_template: bool,
    /// The width of random pictures
    #[arg(long, value_name = "PIXELS", default_value = "224", value_parser = python::int)]
    pub(in crate::evalscope) image_width: i64,
    /// The height of random pictures
    #[arg(long, value_name = "PIXELS", default_value = "224", value_parser = python::int)]
    pub(in crate::evalscope) image_height: i64,
    /// Colour mode of random pictures, by Pillow's names: RGB, RGBA or P
    #[arg(long, value_name = "MODE", default_value = "RGB")]
    pub(in crate::evalscope) image_format: String,
    /// Number of random pictures in a prompt
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::evalscope) image_num: i64,
    /// Side of the square of a picture that counts as one token, in pixels: no effect, the server
    /// counts the tokens of pictures
    #[arg(long, value_name = "PIXELS", default_value = "28", value_parser = python::int)]
    pub(in crate::evalscope) image_patch_size: i64,
}

flags! { PromptArgs {
    MAX_PROMPT_LENGTH = "--max-prompt-length";
    MIN_PROMPT_LENGTH = "--min-prompt-length";
    PREFIX_LENGTH = "--prefix-length" => [datasets(&[
        "random",
        "random_multi_turn",
        "random_vl",
        "trie_agentic_coding",
        "trie_code_qa",
        "trie_office_work",
    ])];
    PREFIX_COUNT = "--prefix-count" => [datasets(&["random"])];
    PROMPT = PROMPT.name();
    QUERY_TEMPLATE = "--query-template";
    APPLY_CHAT_TEMPLATE = "--apply-chat-template";
    NO_APPLY_CHAT_TEMPLATE = "--no-apply-chat-template";
    IMAGE_WIDTH = "--image-width" => [PICTURED];
    IMAGE_HEIGHT = "--image-height" => [PICTURED];
    IMAGE_FORMAT = "--image-format" => [PICTURED];
    IMAGE_NUM = "--image-num" => [PICTURED];
    IMAGE_PATCH_SIZE = "--image-patch-size"
        => [Never("here: the tokens of pictures are counted by the server")];
}}

const PICTURED: Limit = datasets(&["random_vl"]);
