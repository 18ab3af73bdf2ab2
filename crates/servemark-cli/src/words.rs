//! The flags that an error names, in the words of the command line that was given.
//!
//! Crates below this one name SGLang's flags where vLLM or AISBench call theirs alike. This module
//! replaces those that a dialect calls something else, once, where an error is told.

use servemark_backends::BackendSpec;
use servemark_plan::{BenchPlan, PlanError};

use crate::Invocation;
use crate::error::CliError;

/// A peer whose command line is spoken. Closed: each has a list of words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    /// AISBench's command line.
    Aisbench,
    /// evalscope's command line.
    Evalscope,
    /// SGLang's command line, which Servemark's own commands extend.
    Sglang,
    /// vLLM's command line.
    Vllm,
}

impl Dialect {
    /// The dialect whose requests a plan sends.
    pub fn of(plan: &BenchPlan) -> Self {
        match &plan.wire {
            BackendSpec::Aisbench(_) => Self::Aisbench,
            BackendSpec::Evalscope(_) => Self::Evalscope,
            BackendSpec::Vllm(_) => Self::Vllm,
            _ => Self::Sglang,
        }
    }

    /// The text with the flags of this dialect in place of those of others.
    ///
    /// ```
    /// use servemark_cli::Dialect;
    ///
    /// let error = "no tokenizer: neither --tokenizer nor --model names one";
    /// let told = Dialect::Evalscope.words(error);
    /// assert_eq!(told, "no tokenizer: neither --tokenizer-path nor --model names one");
    /// ```
    pub fn words(self, text: &str) -> String {
        let list = self.list();
        let mut told = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            let is_inside = told.ends_with(|sign: char| sign.is_alphanumeric() || sign == '-');
            let found = list.iter().find(|(other, _)| !is_inside && begins(rest, other));
            let (other, own) = found.copied().unwrap_or_default();
            match other.len() {
                0 => {
                    told.push(sign);
                    rest = &rest[sign.len_utf8()..];
                }
                length => {
                    told.push_str(own);
                    rest = &rest[length..];
                }
            }
        }
        told
    }

    /// The refusal of a plan, in the words of this dialect.
    pub(crate) fn refuse(self) -> impl FnOnce(PlanError) -> CliError {
        move |error| {
            let (said, told) = (error.to_string(), self.words(&error.to_string()));
            if said == told { CliError::Plan(error) } else { CliError::Peer(told) }
        }
    }

    fn list(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Aisbench => AISBENCH,
            Self::Evalscope => EVALSCOPE,
            Self::Sglang => SGLANG,
            Self::Vllm => VLLM,
        }
    }
}

impl Invocation {
    /// The dialect in which the command line was given.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Aisbench(_) => Dialect::Aisbench,
            Self::Evalscope(_) => Dialect::Evalscope,
            Self::Bench(parsed) | Self::DryRun(parsed) => Dialect::of(&parsed.plan),
            Self::Series(series) => Dialect::of(&series.first.plan),
            Self::SloSearch(runs) => Dialect::of(&runs.first.plan),
            Self::SweepRuns(runs) => Dialect::of(&runs.first.plan),
            Self::TextSlices(_) | Self::VllmSweep(_) => Dialect::Vllm,
            _ => Dialect::Sglang,
        }
    }
}

/// Whether a text begins with a flag or phrase that ends there: `--model` does not begin `--model-path`.
fn begins(text: &str, phrase: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '-');
    text.strip_prefix(phrase).is_some_and(|rest| phrase.ends_with(' ') || ends(rest))
}

/// Keys are found in the environment and in headers.
const NO_API_KEY: (&str, &str) = ("--api-key, ", "");
const CHAT_BACKENDS: &str = "--backend sglang-oai-chat, vllm-chat or lmdeploy-chat";

const SGLANG: &[(&str, &str)] = &[NO_API_KEY];

const VLLM: &[(&str, &str)] = &[NO_API_KEY, (CHAT_BACKENDS, "--backend openai-chat")];

const EVALSCOPE: &[(&str, &str)] = &[
    (CHAT_BACKENDS, "--api openai, and a --url that ends with /v1/chat/completions"),
    ("--base-url", "--url"),
    ("--header", "--headers"),
    ("--max-concurrency", "--parallel"),
    ("--num-prompts", "--number"),
    ("--request-rate", "--rate"),
    ("--tokenizer", "--tokenizer-path"),
];

const AISBENCH: &[(&str, &str)] = &[
    NO_API_KEY,
    ("or a header Authorization", "or api_key in the model's config"),
    (CHAT_BACKENDS, "a model whose type is VLLMCustomAPIChat"),
    ("--base-url", "--url"),
    ("--max-concurrency", "--batch-size"),
    ("--model", "--model-name"),
    ("--tokenizer", "--tokenizer-path"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_the_dialect() {
        let nothing = PlanError::NoRequests;
        for (dialect, told) in [
            (Dialect::Sglang, "(--num-prompts 1)"),
            (Dialect::Vllm, "(--num-prompts 1)"),
            (Dialect::Evalscope, "(--number 1)"),
            (Dialect::Aisbench, "(--num-prompts 1)"),
        ] {
            let refusal = dialect.refuse()(nothing.clone()).to_string();
            assert!(refusal.ends_with(told), "{refusal}");
        }
    }

    #[test]
    fn a_flag_that_begins_like_another_is_left_alone() {
        let text = "--tokenizer-mode, --model-path and --my--header";
        assert_eq!(Dialect::Evalscope.words(text), text);
        assert_eq!(Dialect::Aisbench.words("é --model é"), "é --model-name é");
    }

    #[test]
    fn a_key_is_given_by_flag_where_there_is_one() {
        let text = "is the key right (--api-key, OPENAI_API_KEY or API_KEY)?";
        assert_eq!(Dialect::Evalscope.words(text), text);
        let without = "is the key right (OPENAI_API_KEY or API_KEY)?";
        assert_eq!(Dialect::Vllm.words(text), without);
        assert_eq!(Dialect::Sglang.words(text), without);
    }
}
