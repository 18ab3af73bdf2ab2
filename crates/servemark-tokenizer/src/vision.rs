//! The number of tokens in a picture, by the rules of the models' published processors as
//! transformers 5.19 applies them.
//!
//! This module uses the size of a picture, never its pixels. An unknown processor counts as absent:
//! its pictures are left uncounted rather than counted wrongly.

use std::borrow::Cow;

use serde::Deserialize;
use servemark_core::{ImageSize, TokenizerError};

use crate::config::Config;
use crate::files::Folder;

/// A model's image processor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Vision {
    /// The placeholder of a picture in a rendered prompt, which is a single token.
    pub(crate) placeholder: String,
    /// The text that the processor puts in place of the placeholder, without the picture's own
    /// tokens.
    frame: String,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rule {
    /// The picture is scaled to whole patches within bounds and has one token for each square of
    /// merged patches: the models of the Qwen-VL family.
    Scaled {
        /// The side of the square that becomes one token, in pixels.
        side: u32,
        /// The smallest number of pixels in a scaled picture.
        least: u64,
        /// The largest number of pixels in a scaled picture.
        most: u64,
    },
    /// Every picture has this number of tokens: `LLaVA`, Gemma 3.
    Fixed(u32),
}

impl Vision {
    /// Returns the processor of a tokenizer, if there is one and its rule is known.
    pub(crate) fn of(folder: &Folder, config: &Config) -> Result<Option<Self>, TokenizerError> {
        let settings: ProcessorFile = folder.json("processor_config.json")?.unwrap_or_default();
        let beside = folder.json("preprocessor_config.json")?;
        let Some(pictures) = settings.image_processor.clone().or(beside) else { return Ok(None) };
        let class = [&settings.processor_class, &pictures.processor_class];
        let class = class.into_iter().flatten().next().map_or("", String::as_str);
        let own = config.token("image_token");
        // The processor repeats the placeholder, so a picture's tokens already include it.
        let repeated = |placeholder: &str, rule| {
            let placeholder = own.unwrap_or(placeholder).to_owned();
            Self { frame: placeholder.clone(), placeholder, rule }
        };
        Ok(match class {
            "Qwen2VLProcessor" | "Qwen2_5_VLProcessor" | "Qwen3VLProcessor" => {
                Some(repeated("<|image_pad|>", pictures.scaled()))
            }
            "LlavaProcessor" => {
                let placeholder = settings.image_token.as_deref().unwrap_or("<image>");
                settings.fixed(&pictures).map(|rule| repeated(placeholder, rule))
            }
            "Gemma3Processor" => Self::framed(config, settings.image_seq_length.unwrap_or(256)),
            _ => None,
        })
    }

    /// Returns Gemma 3's processor: a picture is on a line of its own, between an opening and a
    /// closing token; the opening token is also the placeholder.
    fn framed(config: &Config, tokens: u32) -> Option<Self> {
        let (opens, closes) = (config.token("boi_token")?, config.token("eoi_token")?);
        let frame = format!("\n\n{opens}{closes}\n\n");
        Some(Self { placeholder: opens.to_owned(), frame, rule: Rule::Fixed(tokens + 1) })
    }

    /// Returns a prompt with its first `pictures` placeholders replaced by the frame.
    pub(crate) fn framing<'a>(&self, prompt: &'a str, pictures: usize) -> Cow<'a, str> {
        if self.frame == self.placeholder {
            return prompt.into();
        }
        prompt.replacen(&self.placeholder, &self.frame, pictures).into()
    }

    /// Returns the number of tokens in a picture, including the placeholder.
    pub(crate) fn tokens(&self, size: ImageSize) -> Result<u32, TokenizerError> {
        match self.rule {
            Rule::Fixed(tokens) => Ok(tokens),
            Rule::Scaled { side, least, most } => scaled(size, side, least, most),
        }
    }
}

/// The contents of `preprocessor_config.json`, or of that part of `processor_config.json`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PictureFile {
    processor_class: Option<String>,
    patch_size: Option<u32>,
    merge_size: Option<u32>,
    min_pixels: Option<u64>,
    max_pixels: Option<u64>,
    size: Option<Size>,
    crop_size: Option<Size>,
    do_center_crop: Option<bool>,
}

/// The contents of `processor_config.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProcessorFile {
    processor_class: Option<String>,
    image_processor: Option<PictureFile>,
    image_token: Option<String>,
    patch_size: Option<u32>,
    num_additional_image_tokens: u32,
    image_seq_length: Option<u32>,
    vision_feature_select_strategy: Option<String>,
}

/// A size in the spellings of the files: one number for a square, or named sides or edges.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Size {
    Square(u32),
    Sides { width: u32, height: u32 },
    Edges { shortest_edge: Option<u64>, longest_edge: Option<u64> },
}

impl PictureFile {
    /// Returns the rule of the Qwen-VL family. For these models the edges are numbers of pixels,
    /// despite their names.
    fn scaled(&self) -> Rule {
        let (shortest, longest) = match self.size {
            Some(Size::Edges { shortest_edge, longest_edge }) => (shortest_edge, longest_edge),
            _ => (None, None),
        };
        Rule::Scaled {
            side: self.patch_size.unwrap_or(14) * self.merge_size.unwrap_or(2),
            least: self.min_pixels.or(shortest).unwrap_or(56 * 56),
            most: self.max_pixels.or(longest).unwrap_or(28 * 28 * 1280),
        }
    }

    /// Returns the size to which every picture is scaled, if it is the same for all.
    fn fixed_size(&self) -> Option<(u32, u32)> {
        let size = if self.do_center_crop.unwrap_or(true) { self.crop_size } else { self.size };
        match size? {
            Size::Square(side) => Some((side, side)),
            Size::Sides { width, height } => Some((width, height)),
            Size::Edges { .. } => None,
        }
    }
}

impl ProcessorFile {
    fn fixed(&self, pictures: &PictureFile) -> Option<Rule> {
        let (width, height) = pictures.fixed_size()?;
        let patch = self.patch_size.filter(|patch| *patch > 0)?;
        let patches = (width / patch) * (height / patch) + self.num_additional_image_tokens;
        let is_without_class = self.vision_feature_select_strategy.as_deref() == Some("default");
        Some(Rule::Fixed(patches.saturating_sub(u32::from(is_without_class))))
    }
}

/// Returns the number of tokens in a picture that is scaled to multiples of `side` with `least` to
/// `most` pixels, with its aspect ratio kept as far as that allows.
#[expect(clippy::cast_sign_loss, reason = "sides and their quotients are not negative")]
fn scaled(size: ImageSize, side: u32, least: u64, most: u64) -> Result<u32, TokenizerError> {
    let (width, height) = (f64::from(size.width), f64::from(size.height));
    let elongation = width.max(height) / width.min(height);
    if elongation > MOST_ELONGATED {
        let ImageSize { width, height } = size;
        let reason = format!(
            "the model takes no picture that is more than {MOST_ELONGATED} times as long as it is \
             wide, and this one is {width}x{height}"
        );
        return Err(TokenizerError::Picture { reason });
    }
    let side = f64::from(side);
    let (across, down) = ((width / side).round_ties_even(), (height / side).round_ties_even());
    let pixels = across * side * (down * side);
    let (across, down) = if pixels > most as f64 {
        let shrink = (width * height / most as f64).sqrt();
        ((width / shrink / side).floor().max(1.0), (height / shrink / side).floor().max(1.0))
    } else if pixels < least as f64 {
        let stretch = (least as f64 / (width * height)).sqrt();
        ((width * stretch / side).ceil(), (height * stretch / side).ceil())
    } else {
        (across, down)
    };
    Ok((across * down) as u32)
}

/// The models' own limit on the aspect ratio.
const MOST_ELONGATED: f64 = 200.0;
