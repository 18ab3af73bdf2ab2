//! Renders a figure as SVG.

use std::io;

use plotters::prelude::*;

use super::canvas::Canvas;
use super::{Figure, draw};

impl Figure {
    /// Renders the figure as an SVG element, which can be a file or part of a page.
    pub fn svg(&self) -> io::Result<String> {
        let mut svg = String::new();
        let size = draw::size(self);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw::draw(self, &Canvas { area: &area, scale: 1.0 })?;
        area.present().map_err(|error| io::Error::other(error.to_string()))?;
        drop(area);
        Ok(svg)
    }
}
