//! Questions from a user's file, with an optional file of sampling settings.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, JsonObject};
use servemark_rng::{NumpyRandom, RandomState};

use super::no_file;
use super::row::Row;
use crate::csv_file::Table;
use crate::jsonl::Reader;
use crate::text_file;

/// A file of questions, as JSON lines or CSV. An optional second file, `NAME.meta.json`, sets the
/// number of requests, the sampling and the output lengths.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct AisbenchCustomSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Path of the settings file; `None` uses `NAME.meta.json` beside the file if it exists.
    pub meta: Option<PathBuf>,
}

impl AisbenchCustomSpec {
    /// Creates a spec for a file of questions.
    pub fn new(path: Option<PathBuf>, meta: Option<PathBuf>) -> Self {
        Self { path, meta }
    }

    pub(super) fn rows(&self, random: &mut RandomState) -> Result<Vec<Row>, DatasetError> {
        let path = no_file("custom", self.path.as_ref())?;
        let rows = read(path)?;
        let mut rows = match self.meta(path)? {
            Some((file, meta)) => meta.applied(&file, rows, random)?,
            None => rows,
        };
        keep_first_columns(&mut rows);
        Ok(rows)
    }

    fn meta(&self, path: &Path) -> Result<Option<(PathBuf, Meta)>, DatasetError> {
        let beside = PathBuf::from(format!("{}.meta.json", path.display()));
        let file = match &self.meta {
            Some(file) => file.clone(),
            None if fs::exists(&beside).unwrap_or_default() => beside,
            None => return Ok(None),
        };
        let text = text_file::read(&file)?;
        let meta = serde_json::from_str(&text)
            .map_err(|error| text_file::malformed(&file, error.line(), error.to_string()))?;
        Ok(Some((file, meta)))
    }
}

/// Removes from all rows the columns that the first row lacks: AISBench builds a table whose
/// columns are those of its first row.
fn keep_first_columns(rows: &mut [Row]) {
    let Some((first, later)) = rows.split_first_mut() else { return };
    for row in later {
        row.output_tokens = row.output_tokens.filter(|_| first.output_tokens.is_some());
        row.columns.retain(|(name, _)| first.columns.iter().any(|(known, _)| known == name));
    }
}

fn read(path: &Path) -> Result<Vec<Row>, DatasetError> {
    let ending = path.extension().unwrap_or_default();
    if ending == "jsonl" {
        let reader = Reader { path, on_bad_line: None, limit: None };
        return Ok(reader.read(|_, record: JsonObject| Row::of_object(record).map(Some))?.rows);
    }
    if ending == "csv" {
        return read_csv(path);
    }
    let why = format!("{} is neither .jsonl nor .csv", path.display());
    Err(DatasetError::Settings(why))
}

fn read_csv(path: &Path) -> Result<Vec<Row>, DatasetError> {
    let mut rows = Vec::new();
    Table::untouched(path, b',')?.read(|cells| {
        let cells = cells.named_cells().map(|(name, cell)| (name.to_owned(), cell.into()));
        rows.push(Row::of_object(cells.collect())?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

/// Settings file: number of rows, sampling mode and output lengths.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta {
    #[serde(default, deserialize_with = "int")]
    request_count: usize,
    #[serde(default)]
    sampling_mode: Sampling,
    output_config: Option<OutputLengths>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sampling {
    #[default]
    Default,
    Random,
    Shuffle,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
enum OutputLengths {
    Uniform {
        #[serde(deserialize_with = "int")]
        min_value: u32,
        #[serde(deserialize_with = "int")]
        max_value: u32,
    },
    Percentage {
        percentage_distribute: Vec<(u32, f64)>,
    },
}

/// Parses a whole number or a string that contains one; AISBench's documentation writes
/// `"request_count": "10"`.
fn int<'de, T: TryFrom<u64>, D: Deserializer<'de>>(given: D) -> Result<T, D::Error> {
    let value = Value::deserialize(given)?;
    let number = match &value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    };
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| D::Error::custom(format!("expected a whole number, not {value}")))
}

impl Meta {
    fn applied(
        &self,
        file: &Path,
        rows: Vec<Row>,
        random: &mut RandomState,
    ) -> Result<Vec<Row>, DatasetError> {
        let mut rows = self.sampled(rows, random);
        if let Some(output) = &self.output_config {
            let wrong = |why: &str| DatasetError::Settings(format!("{}: {why}", file.display()));
            let lengths = output.lengths(rows.len(), &mut random.numpy).ok_or_else(|| {
                wrong("output lengths must be above 0, and shares between 0 and 1 with a sum of 1")
            })?;
            for (row, tokens) in rows.iter_mut().zip(lengths) {
                row.output_tokens = Some(tokens);
            }
        }
        Ok(rows)
    }

    /// Selects the rows to send. Rows repeat if more are requested than the file has.
    fn sampled(&self, rows: Vec<Row>, random: &mut RandomState) -> Vec<Row> {
        let count = if self.request_count == 0 { rows.len() } else { self.request_count };
        let found: Vec<Row> = if count > rows.len() {
            rows.iter().cycle().take(count).cloned().collect()
        } else {
            rows
        };
        match self.sampling_mode {
            Sampling::Default => found.into_iter().take(count).collect(),
            Sampling::Random => {
                let sample = random.python.sample(&found, count).unwrap_or_default();
                sample.into_iter().cloned().collect()
            }
            Sampling::Shuffle => {
                let mut first: Vec<Row> = found.into_iter().take(count).collect();
                random.python.shuffle(&mut first);
                first
            }
        }
    }
}

impl OutputLengths {
    /// Returns an output length per row, or `None` if the settings are invalid.
    fn lengths(&self, rows: usize, numpy: &mut NumpyRandom) -> Option<Vec<u32>> {
        match self {
            Self::Uniform { min_value, max_value } => {
                let (low, high) = (i64::from(*min_value), i64::from(*max_value) + 1);
                let drawn = numpy.randint_vec(low, high, rows).filter(|_| low > 0)?;
                drawn.into_iter().map(|tokens| u32::try_from(tokens).ok()).collect()
            }
            Self::Percentage { percentage_distribute: shares } => {
                let (last, _) = shares.last()?;
                let is_share =
                    |(tokens, share): &(u32, f64)| *tokens > 0 && (0.0..=1.0).contains(share);
                let whole: f64 = shares.iter().map(|(_, share)| share).sum();
                if !shares.iter().all(is_share) || (whole - 1.0).abs() > 1e-6 {
                    return None;
                }
                let each =
                    shares.iter().flat_map(|(tokens, share)| vec![*tokens; part(*share, rows)]);
                Some(each.chain(std::iter::repeat(*last)).take(rows).collect())
            }
        }
    }
}

/// Returns the given share of `rows`, rounded down.
#[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
fn part(share: f64, rows: usize) -> usize {
    (share * rows as f64).floor() as usize
}
