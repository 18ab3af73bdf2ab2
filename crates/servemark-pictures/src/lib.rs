//! Image and video files as the Python benchmark clients write them.
//!
//! JPEG files are byte for byte those of Pillow, and videos are made of them, with code of this crate.
//! PNG files and the decoding of files come from external libraries, which the feature `image` turns
//! on; without it the functions return an error that says so.
//!
//! ```
//! use servemark_pictures::{Size, jpeg};
//!
//! let file = jpeg(&[255; 3 * 16 * 8], Size { width: 16, height: 8 }, 85).unwrap();
//! assert!(file.starts_with(&[0xff, 0xd8, 0xff]));
//! ```

#[cfg_attr(not(feature = "image"), path = "absent.rs")]
mod codec;
mod jpeg;
mod mp4;

use std::fmt;

use thiserror::Error;

pub use crate::codec::{as_png, on_white, png};
pub use crate::jpeg::encode as jpeg;
pub use crate::mp4::of_frames as mp4;

/// Size of an image in pixels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an image has no other side")]
pub struct Size {
    /// Pixels of a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

impl Size {
    /// Returns width and height, each of which JPEG and MP4 files store in two bytes.
    fn sides(self) -> Result<[u16; 2], PictureError> {
        let side = |side: u32| {
            let too_long = || PictureError::new(format!("a side of {side} pixels is too long"));
            u16::try_from(side).map_err(|_| too_long())
        };
        Ok([side(self.width)?, side(self.height)?])
    }
}

/// Pixels of an image, row by row. Exhaustive: the clients draw no others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Pixels {
    /// Red, green and blue bytes.
    Rgb(Vec<u8>),
    /// Red, green, blue and alpha bytes.
    Rgba(Vec<u8>),
    /// Indices into a colour palette.
    Indexed {
        /// Palette index of each pixel.
        places: Vec<u8>,
        /// Palette colours.
        palette: Vec<[u8; 3]>,
    },
}

/// Why a file was not written or read.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{0}")]
pub struct PictureError(String);

impl PictureError {
    fn new(reason: impl fmt::Display) -> Self {
        Self(format!("{reason}"))
    }
}
