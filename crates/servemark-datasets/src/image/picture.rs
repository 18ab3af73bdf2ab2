//! Generated images: random noise or plain white.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use servemark_core::{ImageSize, Media, RequestError};
use servemark_rng::{Leap, NumpyRandom};

use super::encode;
use crate::SpecError;

/// Content of a generated image. Exhaustive: SGLang generates nothing else.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageContent {
    /// Uniformly distributed random colours.
    #[default]
    Random,
    /// Plain white.
    Blank,
}

/// File format of a generated image.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageFormat {
    /// JPEG at quality 85 with 4:2:0 chroma subsampling.
    #[default]
    Jpeg,
    /// PNG, without loss.
    Png,
}

/// An image, stored as the draws that define it.
///
/// Noise is stored as the state of the generator that draws it, which is smaller than the pixels of
/// a 30 by 30 image.
pub(super) struct Picture {
    size: ImageSize,
    format: ImageFormat,
    colours: Colours,
}

enum Colours {
    White,
    Noise(NumpyRandom),
}

impl Picture {
    /// Draws the next image. The generator is advanced past its draws, with `leap` if there is one
    /// for this image size.
    pub(super) fn draw(
        size: ImageSize,
        format: ImageFormat,
        content: ImageContent,
        numpy: &mut NumpyRandom,
        leap: Option<&Leap>,
    ) -> Self {
        let colours = match content {
            ImageContent::Blank => Colours::White,
            ImageContent::Random => {
                let noise = numpy.clone();
                match leap {
                    Some(leap) => numpy.leap(leap),
                    None => numpy.skip_samples(samples(size)),
                }
                Colours::Noise(noise)
            }
        };
        Self { size, format, colours }
    }

    /// Returns red, green and blue of each pixel, row by row. Noise is never brighter than 254, as
    /// in NumPy's conversion.
    #[expect(clippy::cast_sign_loss, reason = "a sample is not negative")]
    fn pixels(&self) -> Vec<u8> {
        let mut pixels = vec![255; samples(self.size) as usize];
        if let Colours::Noise(noise) = &self.colours {
            let mut noise = noise.clone();
            pixels.fill_with(|| (noise.random_sample() * 255.0) as u8);
        }
        pixels
    }
}

impl Media for Picture {
    fn uri(&self) -> Result<String, RequestError> {
        encode(self.pixels(), self.size, self.format, QUALITY)
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Picture")
            .field("size", &self.size)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl ImageContent {
    /// Returns the name used on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Blank => "blank",
        }
    }
}

impl ImageFormat {
    /// Returns the name used on the command line and in `data:` URIs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
        }
    }
}

impl FromStr for ImageContent {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let all = [Self::Random, Self::Blank];
        let found = all.into_iter().find(|content| content.as_str() == text);
        found.ok_or_else(|| SpecError::ImageContent(text.to_owned()))
    }
}

impl FromStr for ImageFormat {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let all = [Self::Jpeg, Self::Png];
        let found = all.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| SpecError::ImageFormat(text.to_owned()))
    }
}

/// Quality of SGLang's JPEG files.
const QUALITY: u8 = 85;

/// Returns the number of floats that an image's noise takes: one per pixel and colour channel.
pub(super) fn samples(size: ImageSize) -> u64 {
    size.pixels() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the first pixels after two draws of `randint(256, 1025)` against those of the real
    /// client.
    #[test]
    fn noise_is_numpys() {
        let mut numpy = NumpyRandom::seeded(42);
        assert_eq!((numpy.randint(256, 1025), numpy.randint(256, 1025)), (Some(358), Some(691)));
        let size = ImageSize { width: 2, height: 1 };
        let picture = Picture::draw(size, ImageFormat::Png, ImageContent::Random, &mut numpy, None);
        assert_eq!(picture.pixels(), [242, 186, 152, 39, 39, 14]);
    }

    #[test]
    fn a_picture_leaves_the_generator_where_drawing_it_does() {
        let mut numpy = NumpyRandom::seeded(7);
        let size = ImageSize { width: 31, height: 17 };
        Picture::draw(size, ImageFormat::Png, ImageContent::Random, &mut numpy, None);
        let mut drawn = NumpyRandom::seeded(7);
        (0..31 * 17 * 3).for_each(|_| _ = drawn.random_sample());
        assert_eq!(numpy.randint(0, 1 << 40), drawn.randint(0, 1 << 40));
        let before = numpy.clone();
        Picture::draw(size, ImageFormat::Png, ImageContent::Blank, &mut numpy, None);
        assert_eq!(numpy, before, "a blank picture draws nothing");
    }

    #[test]
    fn only_what_is_drawn_has_a_name() {
        assert_eq!("blank".parse(), Ok(ImageContent::Blank));
        assert_eq!("png".parse(), Ok(ImageFormat::Png));
        assert_eq!(
            "gradient".parse::<ImageContent>().unwrap_err().to_string(),
            "unknown image content \"gradient\"; known are random and blank"
        );
        assert_eq!(
            "webp".parse::<ImageFormat>().unwrap_err().to_string(),
            "unknown image format \"webp\"; known are jpeg and png"
        );
    }
}
