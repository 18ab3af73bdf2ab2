//! The dialects of command lines, and the dialect of each command line.

use servemark_backends::BackendSpec;
use servemark_plan::BenchPlan;

use crate::dispatch::Invocation;
use crate::words::replaced;
use crate::{aisbench, evalscope, sglang, vllm};

/// A peer whose command lines are read. Closed enum: each peer has a list of words.
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
    /// Returns the dialect whose requests a plan sends.
    pub fn of(plan: &BenchPlan) -> Self {
        match &plan.wire {
            BackendSpec::Aisbench(_) => Self::Aisbench,
            BackendSpec::Evalscope(_) => Self::Evalscope,
            BackendSpec::Vllm(_) => Self::Vllm,
            _ => Self::Sglang,
        }
    }

    /// Returns the text with the flags of this dialect in place of SGLang's.
    ///
    /// ```
    /// use servemark_cli::Dialect;
    ///
    /// let error = "no tokenizer: neither --tokenizer nor --model names one";
    /// let told = Dialect::Evalscope.words(error);
    /// assert_eq!(told, "no tokenizer: neither --tokenizer-path nor --model names one");
    /// ```
    pub fn words(self, text: &str) -> String {
        let words = match self {
            Self::Aisbench => aisbench::WORDS,
            Self::Evalscope => evalscope::WORDS,
            Self::Sglang => sglang::WORDS,
            Self::Vllm => vllm::WORDS,
        };
        replaced(text, words)
    }
}

impl Invocation {
    /// Returns the dialect in which the command line was given.
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

#[cfg(test)]
mod tests {
    use servemark_plan::PlanError;

    use super::*;
    use crate::words::refuse;

    #[test]
    fn flags_are_those_of_the_dialect() {
        let nothing = PlanError::NoRequests;
        for (words, expected) in [
            (sglang::WORDS, "(--num-prompts 1)"),
            (vllm::WORDS, "(--num-prompts 1)"),
            (evalscope::WORDS, "(--number 1)"),
            (aisbench::WORDS, "(--num-prompts 1)"),
        ] {
            let refusal = refuse(words)(nothing.clone()).to_string();
            assert!(refusal.ends_with(expected), "{refusal}");
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
