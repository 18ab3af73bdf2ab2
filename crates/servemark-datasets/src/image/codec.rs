//! Pictures to bytes and back, with libraries that know how.

use std::io::Cursor;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageReader};
use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder, SamplingFactor};
use servemark_core::ImageSize;

use crate::image::ImageFormat;

/// Red, green and blue as a file.
///
/// As Pillow does it where SGLang's client asks for quality 85: JPEG with a quarter of the colours
/// and the tables of the standard.
pub(super) fn encode(
    pixels: &[u8],
    size: ImageSize,
    format: ImageFormat,
) -> Result<Vec<u8>, String> {
    match format {
        ImageFormat::Jpeg => jpeg(pixels, size),
        ImageFormat::Png => png(pixels, size, ExtendedColorType::Rgb8),
    }
}

fn jpeg(pixels: &[u8], size: ImageSize) -> Result<Vec<u8>, String> {
    let side = |side: u32| u16::try_from(side).map_err(|_| format!("{side} pixels are too many"));
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, QUALITY);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    let (width, height) = (side(size.width)?, side(size.height)?);
    encoder.encode(pixels, width, height, ColorType::Rgb).map_err(|error| error.to_string())?;
    Ok(file)
}

fn png(pixels: &[u8], size: ImageSize, colours: ExtendedColorType) -> Result<Vec<u8>, String> {
    let mut file = Vec::new();
    PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Adaptive)
        .write_image(pixels, size.width, size.height, colours)
        .map_err(|error| error.to_string())?;
    Ok(file)
}

/// A picture file as it is sent, and its size: what is a PNG stays as it is, unless it is partly
/// transparent in true colour; everything else becomes one without losses.
pub(super) fn as_png(file: &[u8]) -> Result<(Vec<u8>, ImageSize), String> {
    let (picture, kind) = decode(file).map_err(|error| error.to_string())?;
    let size = ImageSize { width: picture.width(), height: picture.height() };
    let opaque = match kind {
        Kind::OpaquePng => return Ok((file.to_vec(), size)),
        Kind::TransparentColours => picture.into_rgb8().into(),
        Kind::Other => picture,
    };
    Ok((png(opaque.as_bytes(), size, opaque.color().into())?, size))
}

/// What a picture file is, as far as it matters here.
enum Kind {
    OpaquePng,
    TransparentColours,
    Other,
}

fn decode(file: &[u8]) -> Result<(DynamicImage, Kind), ImageError> {
    let reader = ImageReader::new(Cursor::new(file)).with_guessed_format()?;
    let is_png = reader.format() == Some(image::ImageFormat::Png);
    let decoder = reader.into_decoder()?;
    let kind = match decoder.original_color_type() {
        ExtendedColorType::Rgba8 | ExtendedColorType::Rgba16 => Kind::TransparentColours,
        _ if is_png => Kind::OpaquePng,
        _ => Kind::Other,
    };
    Ok((DynamicImage::from_decoder(decoder)?, kind))
}

const QUALITY: u8 = 85;
