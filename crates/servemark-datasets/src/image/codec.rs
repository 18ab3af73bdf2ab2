//! Pictures to bytes and back, with libraries that know how.

use std::io::{self, Cursor};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageReader, Rgba,
};
use png::EncodingError;
use servemark_core::ImageSize;

use crate::image::{ImageFormat, Pixels, jpeg};

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
        ImageFormat::Jpeg => jpeg::encode(pixels, size, QUALITY),
        ImageFormat::Png => png(pixels, size),
    }
}

/// The same without losses.
pub(super) fn png(pixels: &[u8], size: ImageSize) -> Result<Vec<u8>, String> {
    png_in(pixels, size, ExtendedColorType::Rgb8)
}

/// Pixels of any kind without losses.
pub(super) fn png_of(pixels: &Pixels, size: ImageSize) -> Result<Vec<u8>, String> {
    match pixels {
        Pixels::Rgb(pixels) => png(pixels, size),
        Pixels::Rgba(pixels) => png_in(pixels, size, ExtendedColorType::Rgba8),
        Pixels::Places { places, palette } => {
            indexed(places, palette, size).map_err(|error| error.to_string())
        }
    }
}

/// The library of all formats writes no palettes.
fn indexed(places: &[u8], palette: &[[u8; 3]], size: ImageSize) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.width, size.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.as_flattened());
    encoder.write_header()?.write_image_data(places)?;
    Ok(file)
}

fn png_in(pixels: &[u8], size: ImageSize, colours: ExtendedColorType) -> Result<Vec<u8>, String> {
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
    Ok((png_in(opaque.as_bytes(), size, opaque.color().into())?, size))
}

/// Red, green and blue of a picture file, upright, on white where it is transparent.
pub(super) fn on_white(file: &[u8]) -> Result<(Vec<u8>, ImageSize), String> {
    let picture = upright(file).map_err(|error| error.to_string())?;
    let size = ImageSize { width: picture.width(), height: picture.height() };
    if !picture.color().has_alpha() {
        return Ok((picture.into_rgb8().into_raw(), size));
    }
    let pixels = picture.into_rgba8();
    let opaque = pixels.pixels().flat_map(|Rgba([red, green, blue, alpha])| {
        [*red, *green, *blue].map(|colour| blend(colour, *alpha))
    });
    Ok((opaque.collect(), size))
}

fn upright(file: &[u8]) -> Result<DynamicImage, ImageError> {
    let mut decoder = ImageReader::new(Cursor::new(file)).with_guessed_format()?.into_decoder()?;
    let orientation = decoder.orientation()?;
    check(&decoder)?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

/// A colour over white, rounded as Pillow rounds it.
fn blend(colour: u8, alpha: u8) -> u8 {
    let (colour, alpha) = (u32::from(colour), u32::from(alpha));
    let sum = colour * alpha + 255 * (255 - alpha) + 128;
    (((sum >> 8) + sum) >> 8) as u8
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
    check(&decoder)?;
    Ok((DynamicImage::from_decoder(decoder)?, kind))
}

/// Refuses a picture whose pixels would take more memory than any that a model looks at.
fn check(decoder: &impl ImageDecoder) -> Result<(), ImageError> {
    if decoder.total_bytes() <= MOST_PIXEL_BYTES {
        return Ok(());
    }
    let (width, height) = decoder.dimensions();
    Err(ImageError::IoError(io::Error::other(format!(
        "a picture of {width} x {height} pixels takes more than {MOST_PIXEL_BYTES} bytes, which is \
         the limit"
    ))))
}

const MOST_PIXEL_BYTES: u64 = 256 << 20;

const QUALITY: u8 = 85;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_billions_of_pixels_is_refused_before_it_is_unpacked() {
        let mut file = png(&[0; 3], ImageSize { width: 1, height: 1 }).unwrap();
        // Width and height, and the checksum of their chunk.
        file[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        let checksum = crc32fast::hash(&file[12..29]);
        file[29..33].copy_from_slice(&checksum.to_be_bytes());
        for refused in [on_white(&file).map(drop), as_png(&file).map(drop)] {
            let error = refused.unwrap_err();
            assert!(error.contains("a picture of 60000 x 60000 pixels takes more"), "{error}");
        }
    }
}
