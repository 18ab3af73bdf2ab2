//! A spec from SGLang's command line, as far as data sets go. The real command line is another
//! crate's; this one reads only what the recorded cases use.

use std::num::NonZero;
use std::str::FromStr;

use servemark_datasets::{
    BadLine, CustomSpec, DatasetName, DatasetSpec, FixedOutput, MooncakePrompts, MooncakeSpec,
    OpenaiSpec, PromptForm, PromptFormat, RandomSpec, RangeRatio, Shaping, ShareGptSpec, Source,
    SpecError,
};

use crate::fixture;

pub(crate) struct Flags {
    argv: Vec<String>,
}

impl Flags {
    pub(crate) fn new(argv: Vec<String>) -> Self {
        Self { argv }
    }

    pub(crate) fn name(&self) -> &str {
        self.text("--dataset-name").unwrap_or("sharegpt")
    }

    pub(crate) fn seed(&self) -> Option<u64> {
        self.text("--seed").map_or(Some(42), |seed| seed.parse().ok())
    }

    pub(crate) fn count(&self) -> usize {
        self.number("--num-prompts").unwrap_or(1000)
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.argv.iter().any(|word| word == flag)
    }

    /// The data set; lines that are no JSON are left out, as SGLang does.
    pub(crate) fn spec(&self) -> Result<DatasetSpec, SpecError> {
        let path = self.text("--dataset-path").map(fixture);
        let on_bad_line = BadLine::Skip;
        Ok(match self.name().parse()? {
            DatasetName::Custom => {
                let mut spec = CustomSpec::default();
                (spec.path, spec.on_bad_line, spec.shaping) = (path, on_bad_line, self.shaping()?);
                DatasetSpec::Custom(spec)
            }
            DatasetName::Mooncake => {
                let mut spec = MooncakeSpec::default();
                (spec.path, spec.prompts) = (path, MooncakePrompts::Sglang);
                spec.rounds = self.number("--mooncake-num-rounds").unwrap_or(spec.rounds);
                DatasetSpec::Mooncake(spec)
            }
            DatasetName::Openai => {
                let mut spec = OpenaiSpec::default();
                (spec.path, spec.on_bad_line) = (path, on_bad_line);
                spec.output_tokens = self.number("--sharegpt-output-len");
                DatasetSpec::Openai(spec)
            }
            DatasetName::Random => self.random(Source::Sharegpt { path })?,
            DatasetName::RandomIds => self.random(Source::Vocabulary)?,
            DatasetName::Sharegpt => {
                let mut spec = ShareGptSpec::default();
                (spec.path, spec.shaping) = (path, self.shaping()?);
                DatasetSpec::Sharegpt(spec)
            }
            other => panic!("{other} is built and this test does not know it"),
        })
    }

    fn random(&self, source: Source) -> Result<DatasetSpec, SpecError> {
        let mut spec = RandomSpec::default();
        spec.source = source;
        spec.input_tokens = self.number("--random-input-len").unwrap_or(spec.input_tokens);
        spec.output_tokens = self.number("--random-output-len").unwrap_or(spec.output_tokens);
        spec.range_ratio = RangeRatio::new(self.number("--random-range-ratio").unwrap_or(0.0))?;
        if self.has("--tokenize-prompt") {
            spec.form = PromptForm::TokenIds;
        }
        Ok(DatasetSpec::Random(spec))
    }

    fn shaping(&self) -> Result<Shaping, SpecError> {
        let mut shaping = Shaping::default();
        let output = self.number("--sharegpt-output-len");
        shaping.output_tokens = output.map(FixedOutput::new).transpose()?;
        shaping.context_tokens = self.number("--sharegpt-context-len").and_then(NonZero::new);
        self.text("--prompt-suffix").unwrap_or_default().clone_into(&mut shaping.prompt_suffix);
        if self.has("--apply-chat-template") {
            shaping.prompt_format = PromptFormat::ChatTemplate;
        }
        Ok(shaping)
    }

    fn text(&self, flag: &str) -> Option<&str> {
        let at = self.argv.iter().position(|word| word == flag)?;
        Some(&self.argv[at + 1])
    }

    pub(crate) fn number<T: FromStr>(&self, flag: &str) -> Option<T> {
        self.text(flag).and_then(|word| word.parse().ok())
    }
}
