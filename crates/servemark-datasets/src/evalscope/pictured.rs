//! Images from a table with questions or instructions about them.

mod mmmu;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servemark_core::{DatasetError, DrawContext, Medium, Prompt, parallel};

use super::{EvalscopeData, EvalscopeName, RequestDraft};
use crate::image::Redrawn;
use crate::split_files;
use crate::table::{Cell, Record, Records};

/// Images from a table with questions or instructions about them, in the table's order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EvalscopePicturedSpec {
    /// The data set.
    pub pictured: EvalscopePictured,
    /// Path of the folder with the tables, or of one table; without one, they are downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
}

impl EvalscopePicturedSpec {
    pub(super) fn of(pictured: EvalscopePictured) -> EvalscopeData {
        EvalscopeData::Pictured(Self { pictured, path: None })
    }

    /// Returns the first `count` requests.
    pub(super) fn ask(
        &self,
        count: usize,
        context: &DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let path = self.path.as_deref().ok_or(DatasetError::NoFile {
            dataset: self.pictured.name().as_str(),
            hint: "give the folder of its tables with `workload.dataset.path`",
        })?;
        match self.pictured {
            EvalscopePictured::Flickr8k => {
                captioned(path, count, context, "jpg", |row| row.text("txt").map(str::to_owned))
            }
            EvalscopePictured::KontextBench => captioned(path, count, context, "image", |row| {
                let drafts = row.cell.get("instruction").and_then(Cell::text);
                Ok(drafts
                    .filter(|text| !text.is_empty())
                    .unwrap_or("Describe the image")
                    .to_owned())
            }),
            EvalscopePictured::MmmuMultiImage => mmmu::ask(path, count, context),
        }
    }
}

/// Builds a request per row from the row's text followed by the image in `column`.
fn captioned(
    path: &Path,
    count: usize,
    context: &DrawContext<'_>,
    column: &str,
    text: impl Fn(&Record) -> Result<String, DatasetError> + Sync,
) -> Result<Vec<RequestDraft>, DatasetError> {
    let files = split_files::of_split(path, None, "test")?;
    let records = Records::open(&files, &[column, "txt", "instruction"])?;
    let rows: Vec<usize> = (0..records.lengths().iter().sum()).take(count).collect();
    let ask = |row: &Record| {
        let picture = picture(row, column)?.ok_or_else(|| row.malformed(no_picture(column)))?;
        Ok(message(vec![text_part(&text(row)?), place()], vec![picture]))
    };
    let drafts = parallel::map("reading pictures", &records.read(&rows)?, context.progress, ask);
    drafts.into_iter().collect()
}

fn no_picture(column: &str) -> String {
    format!("it has no image under {column}")
}

/// Returns the image in a row's column as it is sent: converted to RGB and encoded as JPEG with
/// Pillow's default quality.
fn picture(row: &Record, column: &str) -> Result<Option<Medium>, DatasetError> {
    let Some(file) = row.cell.get(column).and_then(|cell| cell.get("bytes")?.bytes()) else {
        return Ok(None);
    };
    let unreadable = |why| row.malformed(format!("its image {column} cannot be read: {why}"));
    Redrawn::jpeg(file.to_vec()).map(Medium::image).map(Some).map_err(unreadable)
}

/// Returns a text part of a message.
fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns the placeholder of the next image.
fn place() -> Value {
    json!({"type": "image_url", "image_url": {}})
}

/// Builds a request with one user message.
fn message(parts: Vec<Value>, media: Vec<Medium>) -> RequestDraft {
    let message = [("role".to_owned(), json!("user")), ("content".to_owned(), parts.into())];
    let prompt = Prompt::Messages(vec![message.into_iter().collect()]);
    RequestDraft { media, ..RequestDraft::new(prompt, 0) }
}

/// A data set of images.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalscopePictured {
    /// Images with their captions.
    Flickr8k,
    /// Images with editing instructions.
    KontextBench,
    /// MMMU questions with two or more images, taking one subject after the other.
    MmmuMultiImage,
}

impl EvalscopePictured {
    pub(super) fn name(self) -> EvalscopeName {
        match self {
            Self::Flickr8k => EvalscopeName::Flickr8k,
            Self::KontextBench => EvalscopeName::KontextBench,
            Self::MmmuMultiImage => EvalscopeName::MmmuMultiImage,
        }
    }
}
