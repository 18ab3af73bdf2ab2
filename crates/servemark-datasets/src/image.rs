//! Random text with generated images: SGLang's `image`, and code shared with `mmmu`.
//!
//! An image is kept as its recipe and rendered when its request is prepared, so a run never holds
//! the images of all requests in memory.

mod noise;
mod picture;
mod resolution;
mod showing;
mod statistics;
mod stored;

use std::fmt;
use std::num::NonZero;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, ErrorKind, ImageSize, Medium, RequestError, Tokenizer, parallel,
};
use servemark_pictures::{Pixels, Size};
use servemark_rng::{Leap, NumpyRandom};

pub(crate) use self::noise::Noise;
use self::picture::Picture;
pub use self::picture::{ImageContent, ImageFormat};
pub use self::resolution::Resolution;
pub(crate) use self::showing::{ImageSample, TextWithImages, notices};
use self::statistics::Statistics;
pub(crate) use self::stored::{Redrawn, Stored};
use crate::{DatasetName, Draw, PromptFormat, RangeRatio, Summary};

/// Random text with generated images.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ImageSpec {
    /// Number of images per request.
    pub images: ImageCount,
    /// Size of the images.
    pub resolution: Resolution,
    /// Content of the images.
    pub content: ImageContent,
    /// File format of the images.
    pub format: ImageFormat,
    /// Maximum text length in tokens, without the tokens that the chat template adds.
    pub input_tokens: u32,
    /// Maximum output length in tokens; 0 requests none.
    pub output_tokens: u32,
    /// Minimum length as a share of the maximum, for text and output.
    pub range_ratio: RangeRatio,
    /// Whether the text is sent raw, for the server to render, or rendered with the chat template.
    pub prompt_format: PromptFormat,
}

/// Number of images per request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageCount {
    /// Exactly this number.
    Fixed(NonZero<u32>),
    /// A uniformly drawn number from one to this maximum.
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
    /// Draws `count` samples. SGLang reseeds its generators here, because loading a processor may
    /// use them. No draw comes before this one, so the result is equal.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let drafts = self.draft(count, context)?;
        let tokenizer = context.tokenizer;
        let show =
            |draft: &Draft| draft.text_with_images(tokenizer)?.count(self.prompt_format, tokenizer);
        let with_images = parallel::map("making prompts", &drafts, context.progress, show);
        let with_images = with_images.into_iter().collect::<Result<Vec<_>, _>>()?;
        let notices = notices(&with_images);
        let samples: Vec<_> = with_images.into_iter().map(|sample| sample.sample).collect();
        let statistics = Statistics::of(self, &drafts, &samples)?;
        let summary = Summary::of(DatasetName::Image, &samples).in_lines(statistics.to_string());
        Ok(Draw::of(samples, summary).with_notices(notices))
    }

    /// Makes all random draws, in SGLang's order.
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

    /// Returns a precomputed leap over the noise of one image, if all images have equal size and
    /// are large enough for a leap to be faster than stepping.
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
                // `most` is at least one, so the range is never empty.
                drawn
                    .unwrap_or_default()
                    .into_iter()
                    .map(|count| count.unsigned_abs() as u32)
                    .collect()
            }
        }
    }
}

/// The random draws of one request, before tokens are counted.
struct Draft {
    ids: Vec<u32>,
    pictures: Vec<(Medium, ImageSize)>,
    output_tokens: u32,
}

impl Draft {
    fn text_with_images(&self, tokenizer: &dyn Tokenizer) -> Result<TextWithImages, DatasetError> {
        Ok(TextWithImages {
            text: tokenizer.decode(&self.ids)?,
            pictures: self.pictures.clone(),
            output_tokens: self.output_tokens,
        })
    }
}

/// Returns all ids of plain text: neither special tokens nor the image placeholder.
fn text_vocabulary(tokenizer: &dyn Tokenizer) -> Vec<u32> {
    let (special, image) = (tokenizer.special_ids(), tokenizer.image_token_id());
    let is_text = |id: &u32| special.binary_search(id).is_err() && image != Some(*id);
    tokenizer.token_ids().iter().copied().filter(is_text).collect()
}

/// Image size in pixels above which a leap pays off. A leap takes as long as skipping about 360,000
/// pixels, plus the time to compute it.
const WORTH_A_LEAP: u64 = 500_000;

/// Returns a file as a base64 data URI.
fn data_uri(media_type: &str, file: &[u8]) -> String {
    let mut uri = format!("data:{media_type};base64,");
    STANDARD.encode_string(file, &mut uri);
    uri
}

/// Encodes an image as a PNG data URI.
pub(crate) fn png_uri(pixels: &Pixels, size: ImageSize) -> Result<String, RequestError> {
    let file = servemark_pictures::png(pixels, sides(size)).map_err(|why| unrendered(&why))?;
    Ok(data_uri("image/png", &file))
}

/// Encodes RGB pixels as a file; JPEG with a quality.
fn encode(
    pixels: Vec<u8>,
    size: ImageSize,
    format: ImageFormat,
    quality: u8,
) -> Result<String, RequestError> {
    let file = match format {
        ImageFormat::Jpeg => servemark_pictures::jpeg(&pixels, sides(size), quality),
        ImageFormat::Png => servemark_pictures::png(&Pixels::Rgb(pixels), sides(size)),
    };
    let file = file.map_err(|why| unrendered(&why))?;
    Ok(data_uri(&format!("image/{}", format.as_str()), &file))
}

fn sides(ImageSize { width, height }: ImageSize) -> Size {
    Size { width, height }
}

fn unrendered(reason: &dyn fmt::Display) -> RequestError {
    RequestError::new(ErrorKind::Encode, format!("an image cannot be rendered: {reason}"))
}
