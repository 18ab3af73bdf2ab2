//! A picture that is drawn: noise, or nothing at all.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use servemark_core::{ImageSize, Media, RequestError};
use servemark_rng::{Leap, NumpyRandom};

use super::{codec, data_uri, unrendered};
use crate::SpecError;

/// What a drawn picture shows. Closed: SGLang draws nothing else.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageContent {
    /// Colours of which each is as likely as the others.
    #[default]
    Random,
    /// White.
    Blank,
}

/// How a drawn picture is encoded.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImageFormat {
    /// With losses, at quality 85 and a quarter of the colours.
    #[default]
    Jpeg,
    /// Without.
    Png,
}

/// A picture, described by the draws that make it.
///
/// Noise is kept as the state of the generator that draws it, which takes less room than the
/// pixels of a picture of 30 by 30.
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
    /// The next picture. The generator is left where drawing it leaves it, over `leap` if there is
    /// one over a picture of this size.
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

    /// Red, green and blue of each pixel, line by line. As NumPy rounds them, noise is never
    /// brighter than 254.
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
        let file = codec::encode(&self.pixels(), self.size, self.format);
        let kind = format!("image/{}", self.format.as_str());
        file.map(|file| data_uri(&kind, &file)).map_err(|why| unrendered(&why))
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
    /// The name as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Blank => "blank",
        }
    }
}

impl ImageFormat {
    /// The name as it is written, in a `data:` URI too.
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

/// How many floats the noise of a picture takes: one for each of three colours of a pixel.
pub(super) fn samples(size: ImageSize) -> u64 {
    size.pixels() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first pixels after two draws of `randint(256, 1025)`, as the real client makes them.
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
            "there are no \"gradient\" pictures; known are random and blank"
        );
        assert_eq!(
            "webp".parse::<ImageFormat>().unwrap_err().to_string(),
            "pictures are not encoded as \"webp\"; known are jpeg and png"
        );
    }
}
