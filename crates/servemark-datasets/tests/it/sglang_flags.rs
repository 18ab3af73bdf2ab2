//! Builds a data set spec from SGLang's command line. The real command line is in another crate;
//! this parser reads only what the recorded cases use.

use std::num::NonZero;
use std::str::FromStr;

use servemark_datasets::{
    AgenticTraceSpec, BadLine, Counting, CustomSpec, DatasetName, DatasetSpec, FixedOutput,
    GroupOrder, ImageCount, ImageSpec, LongBenchSpec, MmmuSpec, MooncakePrompts, MooncakeSpec,
    OpenaiSpec, Popularity, PromptForm, PromptFormat, RandomSpec, RangeRatio, Shaping,
    ShareGptSpec, SharedPrefixSpec, Source, SpecError, SpeedBenchCategory, SpeedBenchSpec,
    ZipfAlpha,
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

    /// Returns the data set spec. Lines that are not JSON are skipped, as in SGLang.
    pub(crate) fn spec(&self) -> Result<DatasetSpec, SpecError> {
        let path = self.text("--dataset-path").map(fixture);
        let on_bad_line = BadLine::Skip;
        Ok(match self.name().parse()? {
            DatasetName::AgenticTrace => {
                let mut spec = AgenticTraceSpec {
                    path,
                    offset: self.number("--dataset-offset").unwrap_or(0),
                    max_turns: self.number("--agentic-max-turns"),
                    ..AgenticTraceSpec::default()
                };
                let output = self.number("--sharegpt-output-len").filter(|tokens| *tokens > 0);
                spec.output_tokens = output.unwrap_or(spec.output_tokens);
                DatasetSpec::AgenticTrace(spec)
            }
            DatasetName::Custom => {
                let mut spec = CustomSpec::default();
                (spec.path, spec.on_bad_line, spec.shaping) = (path, on_bad_line, self.shaping()?);
                DatasetSpec::Custom(spec)
            }
            DatasetName::GeneratedSharedPrefix => self.shared_prefix()?,
            DatasetName::LongBenchV2 => {
                let mut spec = LongBenchSpec { path, ..LongBenchSpec::default() };
                let output = self.number("--sharegpt-output-len");
                spec.output_tokens = output.unwrap_or(spec.output_tokens);
                spec.context_tokens = self.number("--sharegpt-context-len").and_then(NonZero::new);
                DatasetSpec::LongBenchV2(spec)
            }
            DatasetName::Image => DatasetSpec::Image(self.image()?),
            DatasetName::Mmmu => {
                let spec = MmmuSpec {
                    path: Some(fixture("parquet/mmmu.parquet")),
                    output_tokens: self.number("--random-output-len").unwrap(),
                    prompt_format: self.pictured_text(),
                };
                DatasetSpec::Mmmu(spec)
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
            DatasetName::SpeedBench => {
                let mut spec = SpeedBenchSpec { path, ..SpeedBenchSpec::default() };
                let category = self.text("--speed-bench-category");
                spec.category = category.and_then(SpeedBenchCategory::of);
                let output = self.number("--speed-bench-output-len");
                spec.output_tokens = output.unwrap_or(spec.output_tokens);
                DatasetSpec::SpeedBench(spec)
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

    fn shared_prefix(&self) -> Result<DatasetSpec, SpecError> {
        let mut spec = SharedPrefixSpec::default();
        spec.groups = self.number("--gsp-num-groups").unwrap_or(spec.groups);
        spec.prompts_per_group =
            self.number("--gsp-prompts-per-group").unwrap_or(spec.prompts_per_group);
        spec.turns = self.number("--gsp-num-turns").unwrap_or(spec.turns);
        spec.system_tokens = self.number("--gsp-system-prompt-len").unwrap_or(spec.system_tokens);
        spec.question_tokens = self.number("--gsp-question-len").unwrap_or(spec.question_tokens);
        spec.output_tokens = self.number("--gsp-output-len").unwrap_or(spec.output_tokens);
        spec.range_ratio = RangeRatio::new(self.number("--gsp-range-ratio").unwrap_or(1.0))?;
        if let Some(alpha) = self.number("--gsp-zipf-alpha") {
            let seed = self.number("--seed").unwrap_or(42);
            spec.popularity = Popularity::Zipf { alpha: ZipfAlpha::new(alpha)?, seed };
        }
        if self.has("--gsp-ordered") {
            spec.order = GroupOrder::Drawn;
        }
        if self.has("--gsp-fast-prepare") {
            spec.counting = Counting::Skipped;
        }
        if self.has("--tokenize-prompt") {
            spec.form = PromptForm::TokenIds;
        }
        Ok(DatasetSpec::GeneratedSharedPrefix(spec))
    }

    fn image(&self) -> Result<ImageSpec, SpecError> {
        let mut spec = ImageSpec::default();
        let count = self.number("--image-count").unwrap_or(NonZero::<u32>::MIN);
        let is_random = self.has("--random-image-count");
        spec.images = if is_random { ImageCount::UpTo(count) } else { ImageCount::Fixed(count) };
        spec.resolution = self.text("--image-resolution").unwrap_or("1080p").parse()?;
        spec.format = self.text("--image-format").unwrap_or("jpeg").parse()?;
        spec.content = self.text("--image-content").unwrap_or("random").parse()?;
        spec.input_tokens = self.number("--random-input-len").unwrap_or(spec.input_tokens);
        spec.output_tokens = self.number("--random-output-len").unwrap_or(spec.output_tokens);
        spec.range_ratio = RangeRatio::new(self.number("--random-range-ratio").unwrap_or(0.0))?;
        spec.prompt_format = self.pictured_text();
        Ok(spec)
    }

    fn pictured_text(&self) -> PromptFormat {
        let is_chat = self.text("--backend").is_some_and(|name| name.ends_with("-chat"));
        if is_chat { PromptFormat::Raw } else { PromptFormat::ChatTemplate }
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
        let joined = self.argv.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        let at = || self.argv.iter().position(|word| word == flag);
        joined.or_else(|| Some(self.argv[at()? + 1].as_str()))
    }

    pub(crate) fn number<T: FromStr>(&self, flag: &str) -> Option<T> {
        self.text(flag).and_then(|word| word.parse().ok())
    }
}
