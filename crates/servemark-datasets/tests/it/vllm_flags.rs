//! Builds a data set spec from vLLM's command line. The real command line is in another crate; this
//! parser reads only what the recorded cases use.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use serde_json::Value;
use servemark_datasets::{
    Bounds, CustomLayout, CustomOutput, DatasetSpec, HubReading, MediaBucket, MediaDraws,
    PictureReader, PrefixRepetitionSpec, PromptFormat, PromptShape, RerankMode, RowOrder,
    SpecError, Spread, TimedTraceSpec, TooFewRows, VllmBurstgptSpec, VllmCustomAudioSpec,
    VllmCustomImageSpec, VllmCustomSpec, VllmData, VllmHubSpec, VllmLengths, VllmRandomMmSpec,
    VllmRandomSpec, VllmRerankSpec, VllmShareGptSpec, VllmSpec,
};

use crate::fixture;

pub(crate) struct Flags {
    argv: Vec<String>,
}

impl Flags {
    pub(crate) fn new(argv: Vec<String>) -> Self {
        Self { argv }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.number("--seed").unwrap_or(0)
    }

    pub(crate) fn count(&self) -> usize {
        self.number("--num-prompts").unwrap_or(1000)
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.argv.iter().any(|word| word == flag)
    }

    pub(crate) fn does_without_tokenizer(&self) -> bool {
        self.has("--skip-tokenizer-init")
    }

    pub(crate) fn spec(&self) -> Result<DatasetSpec, SpecError> {
        let mut spec = VllmSpec::new(self.data()?);
        spec.seed = u32::try_from(self.seed()).unwrap_or_default();
        spec.request_ids = self.text("--request-id-prefix").map(str::to_owned);
        Ok(DatasetSpec::Vllm(spec))
    }

    fn data(&self) -> Result<VllmData, SpecError> {
        let path = self.text("--dataset-path").map(fixture).map(named_from_here);
        let name = self.text("--dataset-name").unwrap();
        Ok(match name {
            "burstgpt" => {
                let spec = VllmBurstgptSpec { path };
                VllmData::Burstgpt(spec)
            }
            "custom" | "spec_bench" | "speed_bench" => {
                let mut spec = self.custom(name);
                spec.path = path;
                VllmData::Custom(spec)
            }
            "prefix_repetition" => VllmData::PrefixRepetition(self.prefix_repetition()),
            "random" => {
                let mut spec = VllmRandomSpec::default();
                spec.lengths = self.lengths()?;
                spec.prefix_tokens = self.number("--random-prefix-len").unwrap_or(0);
                spec.batch = self.number("--random-batch-size").unwrap_or(spec.batch);
                VllmData::Random(spec)
            }
            "random-rerank" => {
                let (mut spec, lengths) = (VllmRerankSpec::default(), self.lengths()?);
                (spec.input_tokens, spec.spread) = (lengths.input_tokens, lengths.input_spread);
                spec.batch = self.number("--random-batch-size").unwrap_or(spec.batch);
                if self.has("--no-reranker") {
                    spec.mode = RerankMode::Each;
                }
                VllmData::RandomRerank(spec)
            }
            "sharegpt" => VllmData::Sharegpt(VllmShareGptSpec {
                path,
                output_tokens: self.output("--sharegpt-output-len"),
                order: self.order(),
                too_few: self.too_few(),
                shape: self.shape(),
            }),
            "timed_trace" => {
                let mut spec = self.timed_trace();
                spec.path = path;
                VllmData::TimedTrace(spec)
            }
            "custom_audio" => {
                let mut spec = VllmCustomAudioSpec::default();
                let custom = self.custom(name);
                (spec.path, spec.output) = (path, custom.output);
                if self.has("--enable-multimodal-chat") {
                    spec.prompt_format = PromptFormat::Raw;
                    spec.shape = self.shape();
                }
                (spec.order, spec.too_few) = (self.order(), self.too_few());
                VllmData::CustomAudio(spec)
            }
            "custom_image" => {
                let mut spec = VllmCustomImageSpec {
                    path,
                    output_tokens: self.number("--custom-output-len").unwrap_or(256),
                    ..VllmCustomImageSpec::default()
                };
                if self.has("--custom-ensure-client-side-data") {
                    spec.pictures = PictureReader::Client;
                }
                (spec.order, spec.too_few, spec.shape) =
                    (self.order(), self.too_few(), self.shape());
                VllmData::CustomImage(spec)
            }
            "hf" => VllmData::Hub(self.hub()?),
            "random-mm" => {
                let spec = VllmRandomMmSpec {
                    lengths: self.lengths()?,
                    prefix_tokens: self.number("--random-prefix-len").unwrap_or(0),
                    media: self.media(),
                    shape: self.shape(),
                };
                VllmData::RandomMm(spec)
            }
            other => panic!("{other} is built and this test does not know it"),
        })
    }

    fn hub(&self) -> Result<VllmHubSpec, SpecError> {
        let name = self.text("--dataset-path").unwrap();
        let mut spec = VllmHubSpec::new(name.parse()?);
        spec.path = Some(fixture("vllm/hub").join(name));
        let text = |flag| self.text(flag).map(str::to_owned);
        (spec.subset, spec.split) = (text("--hf-subset"), text("--hf-split"));
        spec.output_tokens = self.output("--hf-output-len");
        if self.has("--no-stream") {
            spec.reading = HubReading::Whole;
        }
        if self.has("--skip-chat-template") {
            spec.prompt_format = PromptFormat::Raw;
        }
        let number = |flag, unset| self.number(flag).unwrap_or(unset);
        let (least, most) =
            (number("--blazedit-min-distance", 0.0), number("--blazedit-max-distance", 1.0));
        spec.distance = Bounds::new(least, most);
        let most = number("--asr-max-audio-len-sec", f64::INFINITY);
        spec.audio_seconds = Bounds::new(number("--asr-min-audio-len-sec", 0.0), most);
        let categories = self.text("--bfcl-categories").unwrap_or_default().split(',');
        spec.categories = categories.filter(|word| !word.is_empty()).map(str::to_owned).collect();
        (spec.order, spec.too_few, spec.shape) = (self.order(), self.too_few(), self.shape());
        Ok(spec)
    }

    fn media(&self) -> MediaDraws {
        let mut media = MediaDraws::default();
        let own = |name: &str| format!("--random-mm-{name}");
        media.items = self.number(&own("base-items-per-request")).unwrap_or(media.items);
        media.spread = self.number(&own("num-mm-items-range-ratio")).unwrap_or(media.spread);
        if let Some(limits) = self.text(&own("limit-mm-per-prompt")) {
            media.limits = serde_json::from_str(limits).unwrap();
        }
        if let Some(buckets) = self.text(&own("bucket-config")) {
            let numbers = buckets.replace(['{', '}', '(', ')', ' '], "").replace(':', ",");
            let numbers: Vec<f64> = numbers.split(',').map(|text| text.parse().unwrap()).collect();
            #[expect(clippy::cast_sign_loss, reason = "no side is below zero")]
            let bucket = |part: &[f64]| MediaBucket {
                height: part[0] as u32,
                width: part[1] as u32,
                frames: part[2] as u32,
                weight: part[3],
            };
            media.buckets = numbers.chunks(4).map(bucket).collect();
        }
        media
    }

    fn shape(&self) -> PromptShape {
        if self.has("--enable-multimodal-chat") { PromptShape::Message } else { PromptShape::Text }
    }

    fn lengths(&self) -> Result<VllmLengths, SpecError> {
        let mut lengths = VllmLengths::default();
        let input = self.number("--input-len").or_else(|| self.number("--random-input-len"));
        lengths.input_tokens = input.unwrap_or(lengths.input_tokens);
        lengths.output_tokens = self.output("--random-output-len").unwrap_or(lengths.output_tokens);
        let ratio = self.text("--random-range-ratio").unwrap_or("0.0");
        let ratio: Value = serde_json::from_str(ratio).unwrap();
        // A ratio that lacks one of its parts is invalid.
        let part = |name: &str| match &ratio {
            Value::Object(parts) => parts.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN),
            number => number.as_f64().unwrap(),
        };
        lengths.input_spread = Spread::new(part("input"))?;
        lengths.output_spread = Spread::new(part("output"))?;
        Ok(lengths)
    }

    fn custom(&self, name: &str) -> VllmCustomSpec {
        let mut spec = VllmCustomSpec::default();
        let category = |flag| self.text(flag).map(str::to_owned);
        let (layout, output) = match name {
            "spec_bench" => {
                let category = category("--spec-bench-category");
                let output = self.output("--spec-bench-output-len").unwrap_or(256);
                (CustomLayout::SpecBench { category }, i64::from(output))
            }
            "speed_bench" => {
                let category = category("--speed-bench-category");
                let subset = "qualitative".to_owned();
                let output = self.number("--speed-bench-output-len").unwrap_or(4096);
                (CustomLayout::SpeedBench { subset, category }, output)
            }
            _ if self.does_without_tokenizer() => {
                spec.prompt_format = PromptFormat::Raw;
                (CustomLayout::Prompts, 1)
            }
            _ => {
                let given = self.number("--output-len");
                let output = given.or_else(|| self.number("--custom-output-len"));
                (CustomLayout::Prompts, output.unwrap_or(256))
            }
        };
        spec.layout = layout;
        spec.output = u32::try_from(output).map_or(CustomOutput::OfRow, CustomOutput::Fixed);
        if self.has("--skip-chat-template") {
            spec.prompt_format = PromptFormat::Raw;
        }
        if let Some(arguments) = self.text("--chat-template-kwargs") {
            spec.template_arguments = serde_json::from_str(arguments).unwrap();
        }
        (spec.order, spec.too_few) = (self.order(), self.too_few());
        spec
    }

    fn prefix_repetition(&self) -> PrefixRepetitionSpec {
        let mut spec = PrefixRepetitionSpec::default();
        let own = |name: &str| format!("--prefix-repetition-{name}");
        spec.prefixes = self.number(&own("num-prefixes")).unwrap_or(spec.prefixes);
        spec.prefix_tokens = self.number(&own("prefix-len")).unwrap_or(spec.prefix_tokens);
        spec.suffix_tokens = self.number(&own("suffix-len")).unwrap_or(spec.suffix_tokens);
        spec.output_tokens = self.output(&own("output-len")).unwrap_or(spec.output_tokens);
        spec.order = self.order();
        spec
    }

    fn timed_trace(&self) -> TimedTraceSpec {
        let mut spec = TimedTraceSpec::default();
        let own = |name: &str| format!("--timed-trace-{name}");
        spec.block_tokens = self.number(&own("chunk-hash-size")).unwrap_or(spec.block_tokens);
        spec.seconds = self.number(&own("sec-multiplier")).unwrap_or(spec.seconds);
        let label = |name: &str, label: &mut String| {
            if let Some(given) = self.text(&own(name)) {
                given.clone_into(label);
            }
        };
        label("label-input-length", &mut spec.labels.input_length);
        label("label-output-length", &mut spec.labels.output_length);
        label("label-hash-ids", &mut spec.labels.hash_ids);
        spec
    }

    fn order(&self) -> RowOrder {
        if self.has("--disable-shuffle") { RowOrder::AsRead } else { RowOrder::Shuffled }
    }

    fn too_few(&self) -> TooFewRows {
        if self.has("--no-oversample") { TooFewRows::Keep } else { TooFewRows::Repeat }
    }

    /// Returns the output length; the general flag takes precedence.
    fn output(&self, own: &str) -> Option<u32> {
        self.number("--output-len").or_else(|| self.number(own))
    }

    fn text(&self, name: &str) -> Option<&str> {
        let at = self.argv.iter().rposition(|word| word == name)?;
        Some(&self.argv[at + 1])
    }

    fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).and_then(|text| text.parse().ok())
    }
}

/// Returns the path of the file, or of a copy in which paths relative to the fixtures' folder are
/// absolute.
fn named_from_here(path: PathBuf) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !matches!(&*name, "custom_audio.jsonl" | "custom_image_here.jsonl") {
        return path;
    }
    let text = fs::read_to_string(&path).unwrap();
    let inputs = fixture("vllm/inputs/");
    let (_, copy) = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap().keep().unwrap();
    fs::write(&copy, text.replace("vllm/inputs/", &inputs.to_string_lossy())).unwrap();
    copy
}
