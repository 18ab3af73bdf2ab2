//! Length distributions of a client's requests, by hour of the day.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::DatasetError;
use servemark_rng::NumpyRandom;

use crate::text_file;

/// A client's length distributions.
pub(super) struct Lengths {
    /// Distributions with the second from which they apply, in ascending order.
    windows: Vec<(f64, Option<Spread>)>,
    media: bool,
}

/// Length distributions of one window.
pub(super) struct Spread {
    pub(super) input: Weighted,
    pub(super) output: Weighted,
}

/// Token counts with their weights.
pub(super) struct Weighted {
    tokens: Vec<u32>,
    weights: Vec<f64>,
}

impl Lengths {
    pub(super) fn read(path: &Path) -> Result<Self, DatasetError> {
        let text = text_file::read(path)?;
        let records: BTreeMap<String, &RawValue> = serde_json::from_str(&text)
            .map_err(|error| text_file::malformed(path, error.line(), error.to_string()))?;
        let mut lengths = Self { windows: Vec::new(), media: false };
        for (start, record) in &records {
            let line = text_file::line_of(record.get(), &text);
            let added = lengths.add(start, record.get());
            added.map_err(|reason| text_file::malformed(path, line, reason))?;
        }
        lengths.windows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Ok(lengths)
    }

    /// Returns the distributions that apply at a time, or `None` if no lengths are recorded for it.
    pub(super) fn at(&self, seconds: f64) -> Option<&Spread> {
        let behind = self.windows.partition_point(|(start, _)| *start <= seconds);
        self.windows[..behind].last()?.1.as_ref()
    }

    /// Returns whether the client also sends images, audio or videos.
    pub(super) fn has_media(&self) -> bool {
        self.media
    }

    fn add(&mut self, start: &str, record: &str) -> Result<(), String> {
        let start = start.parse().map_err(|_| format!("{start:?} is not a number of seconds"))?;
        let record: Record = serde_json::from_str(record).map_err(|error| error.to_string())?;
        let (input, output) = (Weighted::read(&record.input)?, Weighted::read(&record.output)?);
        self.windows
            .push((start, input.zip(output).map(|(input, output)| Spread { input, output })));
        self.media |= record.image_tokens.is_some();
        Ok(())
    }
}

/// A window in the file's format. Each field is a text that contains a Python dictionary.
#[derive(Deserialize)]
struct Record {
    #[serde(rename = "input_tokens", alias = "text_tokens")]
    input: String,
    #[serde(rename = "output_tokens")]
    output: String,
    image_tokens: Option<String>,
}

impl Weighted {
    /// Parses `{45: 0.25, 46: 0.75}`; an empty dictionary gives `None`.
    fn read(text: &str) -> Result<Option<Self>, String> {
        let inner = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let inner = inner.ok_or_else(|| format!("{text:?} is not a dictionary of lengths"))?;
        let pairs = inner.split(',').filter(|pair| !pair.trim().is_empty()).map(pair);
        let (tokens, weights): (Vec<u32>, Vec<f64>) =
            pairs.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let total: f64 = weights.iter().sum();
        Ok((total > 0.0).then_some(Self { tokens, weights }))
    }

    pub(super) fn draw(&self, count: usize, numpy: &mut NumpyRandom) -> Vec<u32> {
        let chosen = numpy.choice_weighted_vec(&self.weights, count).unwrap_or_default();
        chosen.into_iter().map(|index| self.tokens[index]).collect()
    }
}

fn pair(text: &str) -> Result<(u32, f64), String> {
    let bad = || format!("{:?} is not a length with its share, such as 45: 0.25", text.trim());
    let (tokens, share) = text.split_once(':').ok_or_else(bad)?;
    let share: f64 = share.trim().parse().map_err(|_| bad())?;
    let tokens = tokens.trim().parse().map_err(|_| bad())?;
    (share.is_finite() && share >= 0.0).then_some((tokens, share)).ok_or_else(bad)
}
