//! Image sizes in the syntax of SGLang's `--image-resolution`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use servemark_core::ImageSize;
use servemark_rng::NumpyRandom;

use crate::SpecError;

/// Size of the images of a data set.
///
/// ```
/// use servemark_datasets::Resolution;
///
/// let fixed: Resolution = "720x1280".parse()?;
/// assert_eq!(fixed, "720p".parse()?);
/// assert!("random:512x512-256x256".parse::<Resolution>().is_err());
/// # Ok::<(), servemark_datasets::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(into = "String", try_from = "String")]
pub enum Resolution {
    /// All images have this size.
    Fixed(ImageSize),
    /// Each side of each image is drawn between two inclusive bounds.
    Random {
        /// Minimum width and height.
        least: ImageSize,
        /// Maximum width and height.
        most: ImageSize,
    },
}

impl Resolution {
    /// Returns the size of the next image. A side with equal bounds draws nothing, as in SGLang.
    pub(super) fn draw(self, numpy: &mut NumpyRandom) -> ImageSize {
        match self {
            Self::Fixed(size) => size,
            Self::Random { least, most } => ImageSize {
                width: side(least.width, most.width, numpy),
                height: side(least.height, most.height, numpy),
            },
        }
    }
}

fn side(least: u32, most: u32, numpy: &mut NumpyRandom) -> u32 {
    // Bounds are checked to be in order, so the range is never empty.
    numpy
        .randint(least.into(), i64::from(most) + 1)
        .map_or(least, |side| side.unsigned_abs() as u32)
}

/// SGLang's default.
impl Default for Resolution {
    fn default() -> Self {
        Self::Fixed(ImageSize { width: 1920, height: 1080 })
    }
}

impl FromStr for Resolution {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match after_prefix(text.trim()) {
            None => size(text).map(Self::Fixed),
            Some(bounds) => random(bounds),
        }
    }
}

fn after_prefix(text: &str) -> Option<&str> {
    let prefix = text.get(..PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PREFIX).then(|| &text[PREFIX.len()..])
}

fn random(bounds: &str) -> Result<Resolution, SpecError> {
    let (least, most) = bounds.split_once('-').ok_or(SpecError::ResolutionBounds)?;
    let (least, most) = (size(least)?, size(most)?);
    if least.width > most.width || least.height > most.height {
        return Err(SpecError::ResolutionOrder);
    }
    Ok(Resolution::Random { least, most })
}

/// Parses a preset name, or the height followed by the width.
fn size(text: &str) -> Result<ImageSize, SpecError> {
    if let Some((_, (width, height))) = PRESETS.iter().find(|(name, _)| *name == text) {
        return Ok(ImageSize { width: *width, height: *height });
    }
    let unsupported = || SpecError::Resolution(text.to_owned());
    let sides = text.trim().to_ascii_lowercase();
    let (height, width) = sides.split_once('x').ok_or_else(unsupported)?;
    let side = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let side = is_number.then(|| text.parse::<u16>().ok()).flatten();
        side.filter(|side| *side > 0).map(u32::from).ok_or_else(unsupported)
    };
    Ok(ImageSize { width: side(width)?, height: side(height)? })
}

impl TryFrom<String> for Resolution {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}

impl From<Resolution> for String {
    fn from(resolution: Resolution) -> Self {
        resolution.to_string()
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => write!(f, "{}x{}", size.height, size.width),
            Self::Random { least, most } => {
                let (height, width) = (most.height, most.width);
                write!(f, "{PREFIX}{}x{}-{height}x{width}", least.height, least.width)
            }
        }
    }
}

const PREFIX: &str = "random:";

/// Width and height of each preset.
const PRESETS: [(&str, (u32, u32)); 4] =
    [("4k", (3840, 2160)), ("1080p", (1920, 1080)), ("720p", (1280, 720)), ("360p", (640, 360))];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, width: u32, height: u32) {
        let size = ImageSize { width, height };
        assert_eq!(text.parse(), Ok(Resolution::Fixed(size)), "{text}");
    }

    #[track_caller]
    fn refuses(text: &str, message: &str) {
        assert_eq!(text.parse::<Resolution>().unwrap_err().to_string(), message);
    }

    #[test]
    fn presets_and_sides_with_the_height_first() {
        reads("4k", 3840, 2160);
        reads("1080p", 1920, 1080);
        reads("720p", 1280, 720);
        reads("360p", 640, 360);
        reads(" 60X90 ", 90, 60);
    }

    #[test]
    fn bounds_may_be_presets() {
        let least = ImageSize { width: 30, height: 20 };
        let most = ImageSize { width: 640, height: 360 };
        assert_eq!("Random:20x30-360p".parse(), Ok(Resolution::Random { least, most }));
    }

    #[test]
    fn what_is_no_resolution_is_refused_in_the_peers_words() {
        for text in ["8k", "0x20", "20x", "+2x3", "2x3x4", "4K", "", "70000x2"] {
            refuses(text, &SpecError::Resolution(text.to_owned()).to_string());
        }
        refuses("random:20x20", &SpecError::ResolutionBounds.to_string());
        refuses("random:20x20-30x10", "Random image resolution minimum cannot exceed maximum.");
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        for text in ["60x90", "random:20x30-360x640"] {
            let resolution: Resolution = text.parse().unwrap();
            assert_eq!(resolution.to_string(), text);
            let json = serde_json::to_string(&resolution).unwrap();
            assert_eq!(serde_json::from_str::<Resolution>(&json).unwrap(), resolution);
        }
    }

    #[test]
    fn a_side_that_cannot_vary_draws_nothing() {
        let mut numpy = NumpyRandom::seeded(42);
        let random: Resolution = "random:9x100-9x100".parse().unwrap();
        assert_eq!(random.draw(&mut numpy), ImageSize { width: 100, height: 9 });
        assert_eq!(numpy, NumpyRandom::seeded(42));
    }
}
