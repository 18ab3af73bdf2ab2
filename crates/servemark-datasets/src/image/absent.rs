//! Stub of the image codecs for builds without the feature `image`.

use servemark_core::ImageSize;

use crate::image::{ImageFormat, Pixels};

pub(super) fn encode(
    _pixels: &[u8],
    _size: ImageSize,
    _format: ImageFormat,
) -> Result<Vec<u8>, String> {
    Err(ABSENT.to_owned())
}

pub(super) fn png(_pixels: &[u8], _size: ImageSize) -> Result<Vec<u8>, String> {
    Err(ABSENT.to_owned())
}

pub(super) fn png_of(_pixels: &Pixels, _size: ImageSize) -> Result<Vec<u8>, String> {
    Err(ABSENT.to_owned())
}

pub(super) fn on_white(_file: &[u8]) -> Result<(Vec<u8>, ImageSize), String> {
    Err(ABSENT.to_owned())
}

pub(super) fn as_png(_file: &[u8]) -> Result<(Vec<u8>, ImageSize), String> {
    Err(ABSENT.to_owned())
}

const ABSENT: &str =
    "this program was built without the feature image; the program servemark has it";
