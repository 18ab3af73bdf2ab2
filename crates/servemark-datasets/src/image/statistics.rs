//! The lines that SGLang prints about generated images.

use std::fmt;

use servemark_core::{DatasetError, ImageSize, RequestError, Sample};

use super::{Draft, ImageCount, ImageSpec, Resolution};

/// The lines that SGLang prints once the data set is ready. The last line differs: SGLang renders
/// all images and prints their total size, while here only the first request's images are rendered.
pub(super) struct Statistics<'a> {
    spec: &'a ImageSpec,
    samples: &'a [Sample],
    raw_tokens: Vec<u32>,
    images: Vec<u32>,
    sizes: Vec<ImageSize>,
    first_bytes: usize,
}

impl<'a> Statistics<'a> {
    pub(super) fn of(
        spec: &'a ImageSpec,
        drafts: &[Draft],
        samples: &'a [Sample],
    ) -> Result<Self, DatasetError> {
        let pictures = drafts.iter().flat_map(|draft| &draft.pictures);
        Ok(Self {
            spec,
            samples,
            raw_tokens: drafts.iter().map(|draft| draft.ids.len() as u32).collect(),
            images: drafts.iter().map(|draft| draft.pictures.len() as u32).collect(),
            sizes: pictures.map(|(_, size)| *size).collect(),
            first_bytes: first_bytes(samples)
                .map_err(|error| DatasetError::Settings(error.to_string()))?,
        })
    }

    fn column(&self, of: impl Fn(&Sample) -> u32) -> Vec<i64> {
        self.samples.iter().map(|sample| of(sample).into()).collect()
    }

    fn write_count(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "#Total images: {}", self.sizes.len())?;
        match self.spec.images {
            ImageCount::Fixed(count) => writeln!(f, "#Images per request: {count} (fixed)"),
            ImageCount::UpTo(_) => {
                let (least, most) = bounds(self.images.iter().copied());
                let mean = mean(self.images.iter().copied().map(i64::from));
                writeln!(f, "#Images per request: min={least}, max={most}, mean={mean:.2}")
            }
        }
    }

    fn write_resolution(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resolution::Random { .. } = self.spec.resolution else { return Ok(()) };
        let widths = || self.sizes.iter().map(|size| size.width);
        let heights = || self.sizes.iter().map(|size| size.height);
        let ((narrowest, widest), (lowest, highest)) = (bounds(widths()), bounds(heights()));
        let (width, height) = (mean(widths().map(i64::from)), mean(heights().map(i64::from)));
        write!(f, "#Image resolution: min={narrowest}x{lowest}, max={widest}x{highest}, ")?;
        writeln!(f, "mean={width:.1}x{height:.1}")
    }

    fn write_breakdown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw: Vec<i64> = self.raw_tokens.iter().copied().map(i64::from).collect();
        let text = self.column(|sample| sample.text_tokens);
        let overhead = text.iter().zip(&raw).map(|(text, raw)| text - raw).collect();
        let vision = self.column(|sample| sample.vision_tokens);
        writeln!(f, "\n=== Token Breakdown (per request avg / total) ===")?;
        for (label, tokens) in [
            ("Raw text prompt tokens (without overhead)", raw),
            ("Text prompt tokens (with chat template)", text),
            ("Text prompt overhead", overhead),
            ("Vision tokens", vision),
        ] {
            let (mean, total) = (mean(tokens.iter().copied()), tokens.iter().sum::<i64>());
            writeln!(f, "  {label}: avg={mean:.1}, total={total}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Statistics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = |tokens: Vec<i64>| tokens.into_iter().sum::<i64>();
        writeln!(f, "#Input tokens: {}", total(self.column(|sample| sample.prompt_tokens)))?;
        writeln!(f, "#Output tokens: {}", total(self.column(|sample| sample.output_tokens)))?;
        self.write_count(f)?;
        self.write_resolution(f)?;
        self.write_breakdown(f)?;
        let (content, format) = (self.spec.content.as_str(), self.spec.format.as_str());
        let (requests, bytes) = (self.samples.len(), self.first_bytes);
        write!(f, "\nCreated {requests} {content} {format} images ")?;
        writeln!(f, "with {bytes} bytes in the first request")
    }
}

/// Returns the number of bytes of the first request's images. Rendering them also detects problems
/// before anything is sent.
fn first_bytes(samples: &[Sample]) -> Result<usize, RequestError> {
    let images = samples.first().map_or(&[][..], |sample| &sample.media);
    images.iter().map(|image| image.uri().map(|uri| uri.len())).sum()
}

fn bounds(values: impl Iterator<Item = u32> + Clone) -> (u32, u32) {
    (values.clone().min().unwrap_or_default(), values.max().unwrap_or_default())
}

fn mean(values: impl Iterator<Item = i64> + Clone) -> f64 {
    values.clone().sum::<i64>() as f64 / values.count().max(1) as f64
}
