//! Tests all cases in `fixtures/sglang/images`, recorded from the real client with the model's own
//! processor.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use servemark_core::{DatasetError, ImageSize, Medium, Prompt, Sample, Tokenizer};
use servemark_datasets::{DatasetSpec, Draw, ImageFormat, ImageSpec, MmmuSpec, SpecError};
use servemark_rng::RandomState;
use servemark_tokenizer::HfTokenizer;
use tempfile::TempDir;

use crate::sglang_flags::Flags;
use crate::{draw, fixture, tokenizer};

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    processor: String,
    #[serde(default)]
    rows: Vec<Row>,
    #[serde(default)]
    pictures: Vec<Picture>,
    #[serde(default)]
    uris: Vec<String>,
    #[serde(default)]
    bytes_per_row: Vec<usize>,
    #[serde(default)]
    after: Vec<f64>,
    #[serde(default)]
    stdout: String,
    jpeg: Option<Jpeg>,
    error: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Row {
    prompt: Prompt,
    prompt_len: u32,
    output_len: u32,
    text_prompt_len: u32,
    vision_prompt_len: u32,
    images: usize,
}

/// An image as it was passed to the encoder.
#[derive(Debug, Deserialize)]
struct Picture {
    size: (u32, u32),
    crc32: Option<u32>,
}

/// Options passed to the JPEG encoder.
#[derive(Debug, Default, Deserialize, PartialEq)]
struct Jpeg {
    tables: Vec<Vec<u8>>,
    sampling: Vec<u8>,
}

impl From<&Sample> for Row {
    fn from(sample: &Sample) -> Self {
        Self {
            prompt: sample.prompt.clone(),
            prompt_len: sample.prompt_tokens,
            output_len: sample.output_tokens,
            text_prompt_len: sample.text_tokens,
            vision_prompt_len: sample.vision_tokens,
            images: sample.media.len(),
        }
    }
}

impl Case {
    fn load(name: &str) -> Self {
        let path = fixture("sglang/images").join(name).with_extension("json");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    fn spec(&self) -> Result<DatasetSpec, SpecError> {
        Flags::new(self.argv.clone()).spec()
    }

    fn draw(&self, spec: &DatasetSpec) -> (Draw, RandomState) {
        let flags = Flags::new(self.argv.clone());
        let mut random = RandomState::seeded(flags.seed().unwrap());
        let drawn = draw(spec, flags.count(), seeing(&self.processor), &mut random).unwrap();
        (drawn, random)
    }
}

/// Returns the fixtures' tokenizer with a processor's files, loaded once.
fn seeing(processor: &str) -> &'static HfTokenizer {
    static ALL: LazyLock<[(&str, HfTokenizer); 5]> = LazyLock::new(|| {
        ["gemma3", "llava", "qwen2-vl", "qwen2.5-vl", "qwen3-vl"]
            .map(|name| (name, load_seeing(name)))
    });
    &ALL.iter().find(|(name, _)| *name == processor).unwrap().1
}

fn load_seeing(processor: &str) -> HfTokenizer {
    let folder = TempDir::new().unwrap();
    for source in [&format!("processors/{processor}"), "tokenizers/qwen2.5"] {
        for entry in fs::read_dir(fixture(source)).unwrap() {
            let entry = entry.unwrap();
            let (file, link) = (entry.path(), folder.path().join(entry.file_name()));
            if !link.exists() {
                symlink(file.canonicalize().unwrap(), link).unwrap();
            }
        }
    }
    HfTokenizer::load(folder.path()).unwrap()
}

#[track_caller]
fn check(name: &str) {
    let case = Case::load(name);
    let spec = case.spec().unwrap();
    let (drawn, mut random) = case.draw(&spec);
    let message = drawn.summary.to_string();
    let samples = drawn.into_samples();
    let found: Vec<Row> = samples.iter().map(Row::from).collect();
    assert_eq!(found, case.rows, "{name}");
    let after: Vec<f64> = case.after.iter().map(|_| random.numpy.exponential(0.1)).collect();
    assert_eq!(after, case.after, "{name}: arrivals come from another place");
    let images = || samples.iter().flat_map(|sample| &sample.media);
    assert!(images().map(head).eq(case.uris.iter().cloned()), "{name}");
    check_printed(&message, &case.stdout);
    check_pixels(name, &case, &spec);
    if let Some(settings) = &case.jpeg {
        assert_eq!(&jpeg_settings(&file(images().next().unwrap())), settings, "{name}");
        check_lengths(&samples, &case.bytes_per_row);
    }
}

/// Checks the printed lines. SGLang also prints first what it loads from the hub, and last the
/// total size of all files.
#[track_caller]
fn check_printed(ours: &str, peers: &str) {
    if let Some((_, peers)) = peers.split_once("examples\n") {
        return assert_eq!(ours, peers);
    }
    let without_sizes = |text: &str| text.rsplit_once(" with ").unwrap().0.to_owned();
    assert_eq!(without_sizes(ours), without_sizes(peers));
}

/// Checks the pixels before any lossy encoding, by making the draws with a lossless format.
#[track_caller]
fn check_pixels(name: &str, case: &Case, spec: &DatasetSpec) {
    let mut spec = spec.clone();
    if let DatasetSpec::Image(spec) = &mut spec {
        spec.format = ImageFormat::Png;
    }
    let samples = case.draw(&spec).0.into_samples();
    let images: Vec<_> = samples.iter().flat_map(|sample| &sample.media).map(file).collect();
    assert_eq!(images.len(), case.pictures.len(), "{name}");
    for (image, expected) in images.iter().zip(&case.pictures) {
        let pixels = image::load_from_memory(image).unwrap().into_rgb8();
        assert_eq!(pixels.dimensions(), expected.size, "{name}");
        if let Some(crc32) = expected.crc32 {
            assert_eq!(crc32fast::hash(&pixels), crc32, "{name}");
        }
    }
}

/// Checks that the sizes of encoded images are within 5 % of the peer's; the encoders round
/// differently.
#[track_caller]
fn check_lengths(samples: &[Sample], peers: &[usize]) {
    for (sample, peers) in samples.iter().zip(peers) {
        let ours: usize = sample.media.iter().map(|image| image.uri().unwrap().len()).sum();
        let ratio = ours as f64 / *peers as f64;
        assert!((0.95..1.05).contains(&ratio), "{ours} bytes against {peers}");
    }
}

fn head(image: &Medium) -> String {
    image.uri().unwrap().split(',').next().unwrap().to_owned()
}

fn file(image: &Medium) -> Vec<u8> {
    STANDARD.decode(image.uri().unwrap().split(',').nth(1).unwrap()).unwrap()
}

fn jpeg_settings(file: &[u8]) -> Jpeg {
    let (mut settings, mut rest) = (Jpeg::default(), &file[2..]);
    while rest[1] != 0xda {
        let size = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let segment = &rest[4..2 + size];
        match rest[1] {
            0xdb => settings.tables.extend(segment.chunks(65).map(|table| table[1..].to_vec())),
            0xc0 => settings.sampling = segment[7..].iter().step_by(3).copied().collect(),
            _ => {}
        }
        rest = &rest[2 + size..];
    }
    settings
}

#[test]
fn every_recorded_case_is_known() {
    let known = RECORDED_CASES.len() + 5;
    assert_eq!(fs::read_dir(fixture("sglang/images")).unwrap().count(), known);
}

#[test]
fn every_recorded_case_is_reproduced() {
    RECORDED_CASES.into_iter().for_each(check);
}

const RECORDED_CASES: [&str; 12] = [
    "blank",
    "fixed",
    "gemma",
    "llava",
    "mmmu_all",
    "mmmu_sampled",
    "preset",
    "random_bounds_preset",
    "random_count",
    "random_count_and_size",
    "random_size",
    "several_jpeg",
];

#[derive(Deserialize)]
struct CountedImage {
    #[serde(flatten)]
    size: ImageSize,
    /// The token counts, or the reason why there are none.
    tokens: Value,
}

#[test]
fn pictures_of_every_size_have_the_processors_tokens() {
    let file = fs::read_to_string(fixture("sglang/image_tokens.json")).unwrap();
    let all: BTreeMap<String, Vec<CountedImage>> = serde_json::from_str(&file).unwrap();
    for (processor, counts) in all {
        assert_eq!(counts.len(), 15, "{processor}");
        let tokenizer = seeing(&processor);
        let placeholder = tokenizer.decode(&[tokenizer.image_token_id().unwrap()]).unwrap();
        for CountedImage { size, tokens } in counts {
            let counted = tokenizer.count_with_images(&placeholder, &[size]);
            let counted = counted.ok().map(Option::unwrap).map(u64::from);
            assert_eq!(counted, tokens.as_u64(), "{processor} {size:?}: {tokens}");
        }
    }
}

#[test]
fn what_the_peer_refuses_is_refused_in_its_words() {
    for name in ["error_bounds", "error_no_bounds", "error_resolution", "error_zero"] {
        let case = Case::load(name);
        let refusal = case.spec().unwrap_err();
        assert_eq!(format!("ValueError: {refusal}"), case.error.unwrap());
    }
}

fn mmmu(path: &Path) -> DatasetSpec {
    let spec = MmmuSpec { path: Some(path.to_owned()), ..MmmuSpec::default() };
    DatasetSpec::Mmmu(spec)
}

fn draw_mmmu(path: &Path) -> Result<Draw, DatasetError> {
    draw(&mmmu(path), 100, tokenizer("qwen2.5"), &mut RandomState::seeded(1))
}

#[test]
fn a_model_whose_pictures_are_unknown_counts_text_and_says_so() {
    let drawn = draw_mmmu(&fixture("parquet/mmmu.parquet")).unwrap();
    let [template, tokens] = drawn.notices.as_slice() else { panic!("{:?}", drawn.notices) };
    assert!(template.starts_with("The chat template accepts no images ("), "{template}");
    assert!(tokens.starts_with("Vision tokens are not counted"), "{tokens}");
    let sample = &drawn.sessions[0].first;
    assert_eq!((sample.vision_tokens, sample.text_tokens), (0, sample.prompt_tokens));
}

#[test]
fn a_folder_is_searched_for_the_test_split() {
    let folder = TempDir::new().unwrap();
    let missing = draw_mmmu(folder.path()).unwrap_err().to_string();
    assert!(missing.contains("it holds no parquet file whose name begins with"), "{missing}");
    let part = folder.path().join("Math");
    fs::create_dir(&part).unwrap();
    for name in ["test-00000-of-00002.parquet", "test-00001-of-00002.parquet"] {
        fs::copy(fixture("parquet/mmmu.parquet"), part.join(name)).unwrap();
    }
    fs::write(part.join("dev-00000-of-00001.parquet"), "none of ours").unwrap();
    assert_eq!(draw_mmmu(folder.path()).unwrap().sessions.len(), 16);
}

#[test]
fn a_row_whose_picture_is_broken_is_left_out_and_named() {
    let path = fixture("parquet/broken_picture.parquet");
    let drawn = draw_mmmu(&path).unwrap();
    assert_eq!(drawn.sessions.len(), 1);
    let named = format!(
        "Rows left out: 2; the first is {}, row 1: its image cannot be read: ",
        path.display()
    );
    assert!(drawn.notices.last().unwrap().starts_with(&named), "{:?}", drawn.notices);
}

#[test]
fn a_table_that_is_none_is_named() {
    for (file, why) in [
        ("no_image.parquet", "it has no text or bytes column image_1.bytes"),
        ("numbers.parquet", "it has no text or bytes column question"),
        ("empty.parquet", "no row has a readable image in image_1"),
        ("../sglang/flags.json", "cannot be used as a parquet table"),
    ] {
        let error = draw_mmmu(&fixture("parquet").join(file)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let error = draw(
        &DatasetSpec::Mmmu(MmmuSpec::default()),
        1,
        tokenizer("qwen2.5"),
        &mut RandomState::seeded(1),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "the data set mmmu needs a file: pass MMMU's parquet file, or the folder that holds it, \
         with `workload.dataset.path`"
    );
}

#[test]
fn a_plan_holds_every_knob_of_pictures() {
    let json = r#"{"dataset":"image","images":{"up_to":3},"resolution":"random:20x30-300x200","content":"blank","format":"png","input_tokens":5,"output_tokens":6,"range_ratio":0.5,"prompt_format":"chat_template"}"#;
    let spec: DatasetSpec = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    let json = r#"{"dataset":"mmmu","path":"a","output_tokens":9,"prompt_format":"raw"}"#;
    let spec: DatasetSpec = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    let refused = serde_json::from_str::<ImageSpec>(r#"{"images":{"fixed":0}}"#);
    assert!(refused.is_err());
}
