//! Encoding and decoding of images with external libraries.

use std::io::{self, Cursor};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageReader, Rgba,
};
use png::EncodingError;

use crate::{PictureError, Pixels, Size};

/// Encodes pixels as a PNG file.
pub fn png(pixels: &Pixels, size: Size) -> Result<Vec<u8>, PictureError> {
    match pixels {
        Pixels::Rgb(pixels) => png_in(pixels, size, ExtendedColorType::Rgb8),
        Pixels::Rgba(pixels) => png_in(pixels, size, ExtendedColorType::Rgba8),
        Pixels::Indexed { places, palette } => {
            indexed(places, palette, size).map_err(PictureError::new)
        }
    }
}

/// Encodes palette indices as PNG with the `png` crate, because the `image` crate writes no
/// palettes.
fn indexed(places: &[u8], palette: &[[u8; 3]], size: Size) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.width, size.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.as_flattened());
    encoder.write_header()?.write_image_data(places)?;
    Ok(file)
}

fn png_in(pixels: &[u8], size: Size, colours: ExtendedColorType) -> Result<Vec<u8>, PictureError> {
    let mut file = Vec::new();
    PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Adaptive)
        .write_image(pixels, size.width, size.height, colours)
        .map_err(PictureError::new)?;
    Ok(file)
}

/// Returns an image file as it is sent, and its size. A PNG file is kept unless it is in true
/// colour with alpha; every other file is converted to PNG.
pub fn as_png(file: &[u8]) -> Result<(Vec<u8>, Size), PictureError> {
    let (picture, kind) = decode(file).map_err(PictureError::new)?;
    let size = Size { width: picture.width(), height: picture.height() };
    let opaque = match kind {
        Kind::OpaquePng => return Ok((file.to_vec(), size)),
        Kind::TransparentColours => picture.into_rgb8().into(),
        Kind::Other => picture,
    };
    Ok((png_in(opaque.as_bytes(), size, opaque.color().into())?, size))
}

/// Decodes an image file to RGB, with its orientation applied and transparency blended with white.
pub fn on_white(file: &[u8]) -> Result<(Vec<u8>, Size), PictureError> {
    let picture = upright(file).map_err(PictureError::new)?;
    let size = Size { width: picture.width(), height: picture.height() };
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

/// Blends a colour with white, with Pillow's rounding.
fn blend(colour: u8, alpha: u8) -> u8 {
    let (colour, alpha) = (u32::from(colour), u32::from(alpha));
    let sum = colour * alpha + 255 * (255 - alpha) + 128;
    (((sum >> 8) + sum) >> 8) as u8
}

/// Kind of an image file.
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

/// Returns an error if an image's pixels would exceed the memory limit, which is above what models
/// accept.
fn check(decoder: &impl ImageDecoder) -> Result<(), ImageError> {
    if decoder.total_bytes() <= MOST_PIXEL_BYTES {
        return Ok(());
    }
    let (width, height) = decoder.dimensions();
    Err(ImageError::IoError(io::Error::other(format!(
        "an image of {width} x {height} pixels takes more than {MOST_PIXEL_BYTES} bytes, which is \
         the limit"
    ))))
}

const MOST_PIXEL_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_billions_of_pixels_is_refused_before_it_is_unpacked() {
        let size = Size { width: 1, height: 1 };
        let mut file = png(&Pixels::Rgb(vec![0; 3]), size).unwrap();
        // Overwrite width and height in the header chunk, and then its checksum.
        file[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        let checksum = crc32fast::hash(&file[12..29]);
        file[29..33].copy_from_slice(&checksum.to_be_bytes());
        for refused in [on_white(&file).map(drop), as_png(&file).map(drop)] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("an image of 60000 x 60000 pixels takes more"), "{error}");
        }
    }
}
