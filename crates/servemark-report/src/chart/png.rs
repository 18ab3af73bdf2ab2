//! Renders a figure as PNG, with a font that is built into the program.

use std::io;
use std::sync::LazyLock;

use plotters::prelude::*;
use plotters::style::register_font;

use super::canvas::{Canvas, FAMILY};
use super::{Figure, draw};

impl Figure {
    /// Renders the figure as a PNG file with the given resolution.
    pub fn png(&self, dots_per_inch: u32) -> io::Result<Vec<u8>> {
        LazyLock::force(&FONT);
        let scale = f64::from(dots_per_inch) / 100.0;
        let (width, height) = draw::size(self);
        let pixels = |length: u32| (length * dots_per_inch).div_ceil(100).max(1);
        let size = (pixels(width), pixels(height));
        let mut buffer = vec![255; size.0 as usize * size.1 as usize * 3];
        let area = BitMapBackend::with_buffer(&mut buffer, size).into_drawing_area();
        draw::draw(self, &Canvas { area: &area, scale })?;
        area.present().map_err(|error| io::Error::other(error.to_string()))?;
        drop(area);
        encoded(&buffer, size, dots_per_inch)
    }
}

fn encoded(buffer: &[u8], (width, height): (u32, u32), dpi: u32) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, width, height);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_pixel_dims(Some(per_metre(dpi)));
    encoder.write_header()?.write_image_data(buffer)?;
    Ok(file)
}

fn per_metre(dots_per_inch: u32) -> ::png::PixelDimensions {
    let dots = dots_per_inch * 10_000 / 254;
    ::png::PixelDimensions { xppu: dots, yppu: dots, unit: ::png::Unit::Meter }
}

/// Registers the built-in font with the plotting library, once per process.
static FONT: LazyLock<()> = LazyLock::new(|| {
    let known = register_font(FAMILY, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    assert!(known.is_ok(), "the font is a font");
});
