//! Stub of the image codecs for builds without the feature `image`.

use crate::{PictureError, Pixels, Size};

/// Returns an error, because the feature `image` is off.
pub fn png(_pixels: &Pixels, _size: Size) -> Result<Vec<u8>, PictureError> {
    Err(absent())
}

/// Returns an error, because the feature `image` is off.
pub fn on_white(_file: &[u8]) -> Result<(Vec<u8>, Size), PictureError> {
    Err(absent())
}

/// Returns an error, because the feature `image` is off.
pub fn as_png(_file: &[u8]) -> Result<(Vec<u8>, Size), PictureError> {
    Err(absent())
}

fn absent() -> PictureError {
    PictureError::new(
        "this program was built without the feature image, so it writes no PNG files and reads no \
         images; the program servemark has it",
    )
}
