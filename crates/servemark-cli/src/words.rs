//! Replaces the flags that an error names by those of the command line's dialect.
//!
//! Crates below this one name SGLang's flags. Some of them have other names in vLLM, evalscope and
//! AISBench, so each dialect has a list of replacements.

use servemark_plan::PlanError;

use crate::error::CliError;

/// Flags and phrases of the crates below this one, each with the words of a dialect.
pub(crate) type Words = &'static [(&'static str, &'static str)];

/// Returns a text with the flags of a dialect in place of those of the crates below.
pub(crate) fn replaced(text: &str, words: Words) -> String {
    let mut rewritten = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let is_inside = rewritten.ends_with(|sign: char| sign.is_alphanumeric() || sign == '-');
        let found = words.iter().find(|(other, _)| !is_inside && begins(rest, other));
        let (other, own) = found.copied().unwrap_or_default();
        match other.len() {
            0 => {
                rewritten.push(sign);
                rest = &rest[sign.len_utf8()..];
            }
            length => {
                rewritten.push_str(own);
                rest = &rest[length..];
            }
        }
    }
    rewritten
}

/// Returns the refusal of a plan, in the words of a dialect.
pub(crate) fn refuse(words: Words) -> impl FnOnce(PlanError) -> CliError {
    move |error| {
        let (message, rewritten) = (error.to_string(), replaced(&error.to_string(), words));
        if message == rewritten { CliError::Plan(error) } else { CliError::Peer(rewritten) }
    }
}

/// Returns whether a text begins with a flag or phrase that ends there: `--model` does not begin
/// `--model-path`.
fn begins(text: &str, phrase: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '-');
    text.strip_prefix(phrase).is_some_and(|rest| phrase.ends_with(' ') || ends(rest))
}

/// Removes the flag of an API key, for dialects that find keys in the environment and in headers.
pub(crate) const NO_API_KEY: (&str, &str) = ("--api-key, ", "");

/// Backends that send conversations.
pub(crate) const CHAT_BACKENDS: &str = "--backend sglang-oai-chat, vllm-chat or lmdeploy-chat";
