//! Random noise as vLLM draws it: images, and videos whose frames are such images.

use std::fmt;

use servemark_core::{ImageSize, Media, RequestError};
use servemark_pictures::{PictureError, jpeg, mp4};
use servemark_rng::Pcg64;

use super::{ImageFormat, data_uri, encode, picture, sides, unrendered};

/// An image or video of noise, stored as the state of the generator that draws it.
pub(crate) struct Noise {
    size: ImageSize,
    frames: u32,
    format: ImageFormat,
    random: Pcg64,
}

impl Noise {
    /// Draws the next `frames` frames of noise. The generator is advanced past their draws.
    pub(crate) fn draw(
        size: ImageSize,
        frames: u32,
        format: ImageFormat,
        random: &mut Pcg64,
    ) -> Self {
        let before = random.clone();
        random.skip_u8(picture::samples(size) * u64::from(frames));
        Self { size, frames, format, random: before }
    }

    /// Returns three bytes per pixel, row by row and frame by frame. They are RGB for an image and
    /// BGR for a video, because vLLM passes video frames to `OpenCV`.
    fn samples(&self) -> Vec<u8> {
        let count = picture::samples(self.size) * u64::from(self.frames);
        self.random.clone().integers_u8(count as usize)
    }

    fn video(&self) -> Result<Vec<u8>, PictureError> {
        let mut samples = self.samples();
        for pixel in samples.chunks_exact_mut(3) {
            pixel.reverse();
        }
        let frames = samples.chunks_exact(picture::samples(self.size) as usize);
        let frames = frames.map(|frame| jpeg(frame, sides(self.size), QUALITY));
        let frames = frames.collect::<Result<Vec<_>, _>>()?;
        mp4(&frames, sides(self.size), FRAMES_A_SECOND)
    }
}

impl Media for Noise {
    fn uri(&self) -> Result<String, RequestError> {
        if self.frames == 1 {
            return encode(self.samples(), self.size, self.format, QUALITY);
        }
        let file = self.video().map_err(|why| unrendered(&why))?;
        Ok(data_uri("video/mp4", &file))
    }
}

impl fmt::Debug for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, frames, .. } = self;
        f.debug_struct("Noise").field("size", size).field("frames", frames).finish_non_exhaustive()
    }
}

/// Pillow's default JPEG quality.
pub(super) const QUALITY: u8 = 75;

const FRAMES_A_SECOND: u32 = 30;

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// Returns the pixels of the image at offset `start` of a file.
    fn frame(file: &[u8], start: usize) -> Vec<u8> {
        let format = image::ImageFormat::Jpeg;
        image::load_from_memory_with_format(&file[start..], format).unwrap().into_rgb8().into_raw()
    }

    fn distance(a: &[u8], b: &[u8]) -> u64 {
        a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
    }

    #[test]
    fn a_video_shows_its_noise_blue_first() {
        let size = ImageSize { width: 32, height: 16 };
        let mut random = Pcg64::seeded(5);
        let video = Noise::draw(size, 3, ImageFormat::Jpeg, &mut random);
        let mut samples = Pcg64::seeded(5).integers_u8(3 * 32 * 16 * 3);
        let uri = video.uri().unwrap();
        let file = STANDARD.decode(uri.strip_prefix("data:video/mp4;base64,").unwrap()).unwrap();
        let begins = |at: &usize| file[*at..].starts_with(&[0xff, 0xd8, 0xff]);
        let starts: Vec<usize> = (0..file.len()).filter(begins).collect();
        assert_eq!(starts.len(), 3);
        let second = frame(&file, starts[1]);
        let as_drawn = distance(&second, &samples[32 * 16 * 3..]);
        samples.chunks_exact_mut(3).for_each(<[u8]>::reverse);
        let reversed = distance(&second, &samples[32 * 16 * 3..]);
        assert!(reversed < as_drawn, "{reversed} {as_drawn}");
    }
}
