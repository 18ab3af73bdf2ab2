//! Pictures to be described: SGLang's `image`, and what it shares with `mmmu`.
//!
//! A picture is kept as what makes it and rendered when its request is prepared, so that a run never
//! holds the pictures of all its requests.

#[cfg_attr(not(feature = "image"), path = "image/absent.rs")]
mod codec;
mod jpeg;
mod mp4;
mod noise;
mod picture;
mod resolution;
mod showing;
mod statistics;
mod stored;

use std::num::NonZero;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, ErrorKind, ImageSize, Medium, RequestError, Tokenizer, parallel,
};
use servemark_rng::{Leap, NumpyRandom};

pub(crate) use self::noise::Noise;
use self::picture::Picture;
pub use self::picture::{ImageContent, ImageFormat};
pub use self::resolution::Resolution;
pub(crate) use self::showing::{Showing, Shown, notices};
use self::statistics::Statistics;
pub(crate) use self::stored::{Redrawn, Stored};
use crate::{DatasetName, Draw, PromptFormat, RangeRatio, Summary};

/// Random text and drawn pictures.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ImageSpec {
    /// How many pictures a request has.
    pub images: ImageCount,
    /// How large they are.
    pub resolution: Resolution,
    /// What they show.
    pub content: ImageContent,
    /// How they are encoded.
    pub format: ImageFormat,
    /// The longest text, in tokens, without what the chat template adds.
    pub input_tokens: u32,
    /// The longest output, in tokens; 0 asks for none.
    pub output_tokens: u32,
    /// The shortest of either as a share of the longest.
    pub range_ratio: RangeRatio,
    /// Whether the text is sent as it is, to a server that renders it, or rendered.
    pub prompt_format: PromptFormat,
}

/// How many pictures a request has.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImageCount {
    /// So many.
    Fixed(NonZero<u32>),
    /// One to so many, each as likely as the others.
    UpTo(NonZero<u32>),
}

impl Default for ImageSpec {
    fn default() -> Self {
        Self {
            images: ImageCount::Fixed(NonZero::<u32>::MIN),
            resolution: Resolution::default(),
            content: ImageContent::default(),
            format: ImageFormat::default(),
            input_tokens: 1024,
            output_tokens: 1024,
            range_ratio: RangeRatio::default(),
            prompt_format: PromptFormat::Raw,
        }
    }
}

impl ImageSpec {
    /// SGLang seeds its generators again before these draws, because loading a processor may use
    /// them. Here nothing has drawn yet, which comes to the same.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let drafts = self.draft(count, context)?;
        let tokenizer = context.tokenizer;
        let show = |draft: &Draft| draft.showing(tokenizer)?.count(self.prompt_format, tokenizer);
        let shown = parallel::map("making prompts", &drafts, context.progress, show);
        let shown = shown.into_iter().collect::<Result<Vec<_>, _>>()?;
        let notices = notices(&shown);
        let samples: Vec<_> = shown.into_iter().map(|shown| shown.sample).collect();
        let statistics = Statistics::of(self, &drafts, &samples)?;
        let summary = Summary::of(DatasetName::Image, &samples).in_lines(statistics.to_string());
        Ok(Draw::of(samples, summary).noting(notices))
    }

    /// All draws, in SGLang's order.
    fn draft(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Draft>, DatasetError> {
        let vocabulary = text_vocabulary(context.tokenizer);
        if vocabulary.is_empty() {
            return Err(DatasetError::Settings("the tokenizer has no token of plain text".into()));
        }
        let numpy = &mut context.random.numpy;
        let images = self.images.draw(count, numpy);
        let input = self.range_ratio.draw(self.input_tokens, count, numpy);
        let output = self.range_ratio.draw(self.output_tokens, count, numpy);
        let lengths = input.into_iter().zip(output);
        let leap = self.leap();
        let drafts = images.into_iter().zip(lengths).map(|(images, (input, output_tokens))| {
            let ids = context.random.python.choices(&vocabulary, input as usize);
            Draft {
                ids: ids.unwrap_or_default().into_iter().copied().collect(),
                pictures: (0..images)
                    .map(|_| self.picture(&mut context.random.numpy, leap.as_ref()))
                    .collect(),
                output_tokens,
            }
        });
        Ok(drafts.collect())
    }

    fn picture(&self, numpy: &mut NumpyRandom, leap: Option<&Leap>) -> (Medium, ImageSize) {
        let size = self.resolution.draw(numpy);
        (Medium::image(Picture::draw(size, self.format, self.content, numpy, leap)), size)
    }

    /// A leap over the noise of each picture, where all are alike and large enough for it to be
    /// shorter than the way.
    fn leap(&self) -> Option<Leap> {
        match (self.resolution, self.content) {
            (Resolution::Fixed(size), ImageContent::Random) if size.pixels() > WORTH_A_LEAP => {
                Some(Leap::of_samples(picture::samples(size)))
            }
            _ => None,
        }
    }
}

impl ImageCount {
    fn draw(self, requests: usize, numpy: &mut NumpyRandom) -> Vec<u32> {
        match self {
            Self::Fixed(count) => vec![count.get(); requests],
            Self::UpTo(most) => {
                let drawn = numpy.randint_vec(1, i64::from(most.get()) + 1, requests);
                // At least one is allowed, so the range is never empty.
                drawn
                    .unwrap_or_default()
                    .into_iter()
                    .map(|count| count.unsigned_abs() as u32)
                    .collect()
            }
        }
    }
}

/// What is drawn of a request before anything is counted.
struct Draft {
    ids: Vec<u32>,
    pictures: Vec<(Medium, ImageSize)>,
    output_tokens: u32,
}

impl Draft {
    fn showing(&self, tokenizer: &dyn Tokenizer) -> Result<Showing, DatasetError> {
        Ok(Showing {
            text: tokenizer.decode(&self.ids)?,
            pictures: self.pictures.clone(),
            output_tokens: self.output_tokens,
        })
    }
}

/// Every id that is text: neither special nor the picture's own.
fn text_vocabulary(tokenizer: &dyn Tokenizer) -> Vec<u32> {
    let (special, image) = (tokenizer.special_ids(), tokenizer.image_token_id());
    let is_text = |id: &u32| special.binary_search(id).is_err() && image != Some(*id);
    tokenizer.token_ids().iter().copied().filter(is_text).collect()
}

/// A leap takes as long as skipping about 360,000 pixels, and some time to be made.
const WORTH_A_LEAP: u64 = 500_000;

/// A file as it stands in a request.
fn data_uri(media_type: &str, file: &[u8]) -> String {
    let mut uri = format!("data:{media_type};base64,");
    STANDARD.encode_string(file, &mut uri);
    uri
}

/// A picture line by line, by what each of its pixels has.
#[cfg_attr(not(feature = "image"), expect(dead_code, reason = "nothing is drawn without it"))]
pub(crate) enum Pixels {
    /// Red, green and blue.
    Rgb(Vec<u8>),
    /// The same and how opaque it is.
    Rgba(Vec<u8>),
    /// Where its colour stands in a palette.
    Places {
        /// One for each pixel.
        places: Vec<u8>,
        /// The colours.
        palette: Vec<[u8; 3]>,
    },
}

/// A picture without losses, as it stands in a request.
pub(crate) fn png_uri(pixels: &Pixels, size: ImageSize) -> Result<String, RequestError> {
    let file = codec::png_of(pixels, size).map_err(|why| unrendered(&why))?;
    Ok(data_uri("image/png", &file))
}

fn unrendered(reason: &str) -> RequestError {
    RequestError::new(ErrorKind::Encode, format!("a picture cannot be rendered: {reason}"))
}
