//! A picture of a file.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use servemark_core::{ImageSize, Media, RequestError};

use super::noise::QUALITY;
use super::{ImageFormat, codec, data_uri, jpeg, unrendered};

/// A picture as its file holds it; it is sent as a PNG.
pub(crate) struct Stored {
    file: Vec<u8>,
    size: ImageSize,
}

impl Stored {
    /// A picture that can be read and sent.
    pub(crate) fn new(file: Vec<u8>) -> Result<Self, String> {
        let (_, size) = codec::as_png(&file)?;
        Ok(Self { file, size })
    }

    pub(crate) fn size(&self) -> ImageSize {
        self.size
    }
}

impl Media for Stored {
    fn uri(&self) -> Result<String, RequestError> {
        let (file, _) = codec::as_png(&self.file).map_err(|why| unrendered(&why))?;
        Ok(data_uri("image/png", &file))
    }
}

/// A picture of a file, sent as vLLM sends it: in three colours, on white.
pub(crate) struct Redrawn {
    file: Source,
    format: ImageFormat,
}

/// Where a picture is.
enum Source {
    Bytes(Vec<u8>),
    Path(PathBuf),
}

impl Redrawn {
    /// A picture that can be read, sent with losses.
    pub(crate) fn jpeg(file: Vec<u8>) -> Result<Self, String> {
        codec::on_white(&file)?;
        Ok(Self { file: Source::Bytes(file), format: ImageFormat::Jpeg })
    }

    /// A picture at a path, read when it is sent, without losses.
    pub(crate) fn png_of(path: PathBuf) -> Self {
        Self { file: Source::Path(path), format: ImageFormat::Png }
    }

    fn redraw(&self) -> Result<Vec<u8>, String> {
        let (pixels, size) = match &self.file {
            Source::Bytes(file) => codec::on_white(file)?,
            Source::Path(path) => codec::on_white(&read(path)?)?,
        };
        match self.format {
            ImageFormat::Jpeg => jpeg::encode(&pixels, size, QUALITY),
            ImageFormat::Png => codec::png(&pixels, size),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

impl Media for Redrawn {
    fn uri(&self) -> Result<String, RequestError> {
        let file = self.redraw().map_err(|why| unrendered(&why))?;
        Ok(data_uri(&format!("image/{}", self.format.as_str()), &file))
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
