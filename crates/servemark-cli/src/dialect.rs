//! The dialects of command lines, and the dialect of each command line.

use servemark_backends::BackendSpec;
use servemark_plan::BenchPlan;

use crate::sglang;
use crate::words::{Words, worded};
#[cfg(feature = "commands")]
use crate::{aisbench, evalscope, vllm};

/// Where settings come from: a peer's command line or a file. Closed enum: each has a list of words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    /// AISBench's command line.
    Aisbench,
    /// evalscope's command line.
    Evalscope,
    /// A file, in which settings have the keys of a plan.
    File,
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

    /// Returns a message with the flags of this dialect in place of the plan's keys.
    ///
    /// ```
    /// use servemark_cli::Dialect;
    ///
    /// let error = "no tokenizer: neither `model.tokenizer` nor `model.name` names one";
    /// let told = Dialect::Evalscope.words(error);
    /// assert_eq!(told, "no tokenizer: neither --tokenizer-path nor --model names one");
    /// assert_eq!(Dialect::File.words(error), error);
    /// ```
    pub fn words(self, text: &str) -> String {
        self.list().map_or_else(|| text.to_owned(), |list| worded(text, list))
    }

    /// Returns the list of words of the dialect; `None` for files, which have the plan's keys, and for
    /// dialects that this build does not read.
    fn list(self) -> Option<Words> {
        match self {
            Self::File => None,
            Self::Sglang => Some(sglang::WORDS),
            #[cfg(feature = "commands")]
            Self::Aisbench => Some(aisbench::WORDS),
            #[cfg(feature = "commands")]
            Self::Evalscope => Some(evalscope::WORDS),
            #[cfg(feature = "commands")]
            Self::Vllm => Some(vllm::WORDS),
            #[cfg(not(feature = "commands"))]
            Self::Aisbench | Self::Evalscope | Self::Vllm => None,
        }
    }
}

#[cfg(feature = "commands")]
#[cfg(test)]
mod tests {
    use servemark_plan::PlanError;

    use super::*;
    use crate::words::{FLAGS, refuse};

    #[test]
    fn flags_are_those_of_the_dialect() {
        let nothing = PlanError::NoRequests;
        for (words, expected) in [
            (sglang::WORDS, "(--num-prompts)"),
            (vllm::WORDS, "(--num-prompts)"),
            (evalscope::WORDS, "(--number)"),
            (aisbench::WORDS, "(--num-prompts)"),
        ] {
            let refusal = refuse(words)(nothing.clone()).to_string();
            assert!(refusal.ends_with(expected), "{refusal}");
        }
    }

    #[test]
    fn what_is_no_key_is_left_alone() {
        for text in ["model.name and `model.names`", "``model.name", "--my`model.name`"] {
            assert_eq!(Dialect::Evalscope.words(text), text);
        }
        assert_eq!(Dialect::Aisbench.words("é `model.name` é"), "é --model-name é");
    }

    #[test]
    fn a_key_is_given_by_flag_where_there_is_one() {
        let text = "is the key right (OPENAI_API_KEY or API_KEY)?";
        assert_eq!(Dialect::Vllm.words(text), text);
        assert_eq!(Dialect::Sglang.words(text), text);
        let with = "is the key right (--api-key, OPENAI_API_KEY or API_KEY)?";
        assert_eq!(Dialect::Evalscope.words(text), with);
    }

    /// Every key of a list of words is one of a plan, so that a renamed key fails this test.
    #[test]
    fn the_keys_of_the_lists_are_those_of_plans() {
        let known = servemark_plan::plan_schema();
        for words in [FLAGS, sglang::WORDS, vllm::WORDS, evalscope::WORDS, aisbench::WORDS] {
            for (phrase, _) in words.iter().filter(|(phrase, _)| phrase.contains('`')) {
                let key = phrase.split('`').nth(1).unwrap();
                if key.starts_with("server.engine.") && !cfg!(feature = "engine") {
                    continue;
                }
                let steps: Vec<&str> = key.split('.').collect();
                assert!(has_key(&known, &steps), "{key} is no key of a plan");
            }
        }
    }

    /// Returns whether a schema or one of its alternatives has a key.
    fn has_key(schema: &serde_json::Value, steps: &[&str]) -> bool {
        let Some((first, rest)) = steps.split_first() else { return true };
        let own = schema.pointer(&format!("/properties/{first}"));
        let alternatives =
            ["oneOf", "anyOf"].into_iter().filter_map(|name| schema[name].as_array());
        own.is_some_and(|schema| has_key(schema, rest))
            || alternatives.flatten().any(|schema| has_key(schema, steps))
    }
}
