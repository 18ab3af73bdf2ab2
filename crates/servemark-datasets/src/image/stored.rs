//! A picture of a file.

use std::fmt;

use servemark_core::{ImageSize, Media, RequestError};

use super::{ImageFormat, codec, data_uri, unrendered};

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
        Ok(data_uri(ImageFormat::Png, &file))
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("size", &self.size).finish_non_exhaustive()
    }
}
