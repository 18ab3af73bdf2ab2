//! Images from files.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use servemark_core::{ImageSize, Media, RequestError};
use servemark_pictures::{Size, as_png, on_white};

use super::noise::QUALITY;
use super::{ImageFormat, data_uri, encode, unrendered};

/// An image file that is sent as PNG.
pub(crate) struct Stored {
    file: Vec<u8>,
    size: ImageSize,
}

impl Stored {
    /// Checks that the file can be decoded and sent.
    pub(crate) fn new(file: Vec<u8>) -> Result<Self, String> {
        let (_, Size { width, height }) = as_png(&file).map_err(|why| why.to_string())?;
        Ok(Self { file, size: ImageSize { width, height } })
    }

    pub(crate) fn size(&self) -> ImageSize {
        self.size
    }
}

impl Media for Stored {
    fn uri(&self) -> Result<String, RequestError> {
        let (file, _) = as_png(&self.file).map_err(|why| unrendered(&why))?;
        Ok(data_uri("image/png", &file))
    }
}

/// An image file that is sent as vLLM sends it: as RGB, with transparency blended with white.
pub(crate) struct Redrawn {
    file: PictureOrigin,
    format: ImageFormat,
}

/// Source of the image file.
enum PictureOrigin {
    Bytes(Vec<u8>),
    Path(PathBuf),
}

impl Redrawn {
    /// Checks that the file can be decoded; it is sent as JPEG.
    pub(crate) fn jpeg(file: Vec<u8>) -> Result<Self, String> {
        on_white(&file).map_err(|why| why.to_string())?;
        Ok(Self { file: PictureOrigin::Bytes(file), format: ImageFormat::Jpeg })
    }

    /// Creates an image that is read from `path` when it is sent, as PNG.
    pub(crate) fn png_of(path: PathBuf) -> Self {
        Self { file: PictureOrigin::Path(path), format: ImageFormat::Png }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

impl Media for Redrawn {
    fn uri(&self) -> Result<String, RequestError> {
        let decoded = match &self.file {
            PictureOrigin::Bytes(file) => on_white(file),
            PictureOrigin::Path(path) => on_white(&read(path).map_err(|why| unrendered(&why))?),
        };
        let (pixels, Size { width, height }) = decoded.map_err(|why| unrendered(&why))?;
        encode(pixels, ImageSize { width, height }, self.format, QUALITY)
    }
}

impl fmt::Debug for Redrawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redrawn").field("format", &self.format).finish_non_exhaustive()
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("size", &self.size).finish_non_exhaustive()
    }
}
