//! Images, videos and audio files with questions about them.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, JsonObject, Medium};

use super::media_file::{MediaContent, MediaFile};
use super::no_file;
use super::row::Row;
use crate::csv_file::{self, Table};
use crate::jsonl::Reader;

/// A file of questions about images, videos or audio.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AisbenchMediaSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Layout of the file.
    pub layout: ShownLayout,
    /// How the media are sent to the server.
    pub form: MediaForm,
}

/// Layout of a file of questions about media.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownLayout {
    /// AISBench's custom layout: JSON lines with `type`, `path` and `question`.
    Custom,
    /// `MMStar`'s table, which contains its images.
    Mmstar,
    /// `TextVQA`'s JSON lines with `image` and `question`.
    Textvqa,
}

/// How media are sent to the server. Exhaustive: by path or by content.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaForm {
    /// By file path, which the server must be able to read.
    #[default]
    Path,
    /// In the request, as base64.
    Base64,
}

const KINDS: [&str; 3] = ["image", "video", "audio"];

impl AisbenchMediaSpec {
    /// Creates a spec for a file of questions.
    pub fn new(path: Option<PathBuf>, layout: ShownLayout, form: MediaForm) -> Self {
        Self { path, layout, form }
    }

    pub(super) fn rows(&self) -> Result<Vec<Row>, DatasetError> {
        match self.layout {
            ShownLayout::Custom => self.lines("mm_custom", |record| self.custom(record)),
            ShownLayout::Textvqa => self.lines("textvqa", |record| self.textvqa(record)),
            ShownLayout::Mmstar => self.mmstar(no_file("mmstar", self.path.as_ref())?),
        }
    }

    fn lines(
        &self,
        name: &'static str,
        row: impl Fn(&JsonObject) -> Result<Row, String>,
    ) -> Result<Vec<Row>, DatasetError> {
        let path = no_file(name, self.path.as_ref())?;
        let reader = Reader { path, on_bad_line: None, limit: None };
        Ok(reader.read(|_, record| row(&record).map(Some))?.rows)
    }

    fn custom(&self, record: &JsonObject) -> Result<Row, String> {
        let kind = record.get("type").and_then(Value::as_str).unwrap_or_default();
        let kind = KINDS
            .into_iter()
            .find(|known| *known == kind)
            .ok_or_else(|| format!("\"type\" must be image, video or audio, not {kind:?}"))?;
        if kind == "video" && self.form == MediaForm::Base64 {
            return Err(
                "videos cannot be sent as base64; send them by path (mm_type=\"path\")".to_owned()
            );
        }
        let paths = record.get("path").and_then(Value::as_array).ok_or("\"path\" is not a list")?;
        let shown = paths.iter().filter_map(Value::as_str).map(|path| self.file(kind, path));
        Ok(Row { shown: shown.collect(), ..Row::of("question", question(record)?) })
    }

    fn textvqa(&self, record: &JsonObject) -> Result<Row, String> {
        let path = record.get("image").and_then(Value::as_str).ok_or("there is no \"image\"")?;
        let shown = vec![self.file("image", path)];
        Ok(Row { shown, ..Row::of("question", question(record)?) })
    }

    fn file(&self, kind: &'static str, path: &str) -> MediaFile {
        let source = match self.form {
            MediaForm::Path => MediaContent::Text(path.to_owned()),
            MediaForm::Base64 => MediaContent::File(path.into()),
        };
        MediaFile { kind, source }
    }

    /// Reads the rows that have an image. A row may refer to another row's image by its index.
    fn mmstar(&self, path: &Path) -> Result<Vec<Row>, DatasetError> {
        let mut entries: Vec<Entry> = Vec::new();
        Table::untouched(path, b'\t')?.read(|row| {
            entries.extend(Entry::of(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        let pictures: HashMap<String, String> =
            entries.iter().map(|entry| (entry.index.clone(), entry.picture.clone())).collect();
        let folder = path.parent().unwrap_or(Path::new("")).join("MMStar_images");
        let row = |entry: Entry| {
            let picture = if entry.picture.len() > LONGEST_INDEX {
                &entry.picture
            } else {
                pictures.get(&entry.picture).ok_or_else(|| entry.unknown(path))?
            };
            let source = match self.form {
                MediaForm::Base64 => MediaContent::Text(picture.clone()),
                MediaForm::Path => MediaContent::Text(store_image(&folder, &entry.index, picture)?),
            };
            let shown = vec![MediaFile { kind: "image", source }];
            Ok(Row { shown, ..Row::of("question", entry.question) })
        };
        entries.into_iter().map(row).collect()
    }
}

/// A row of `MMStar`'s table.
struct Entry {
    line: usize,
    index: String,
    question: String,
    picture: String,
}

impl Entry {
    /// Parses a row, or returns `None` if it has no image.
    fn of(row: &csv_file::Row<'_>) -> Result<Option<Self>, String> {
        let cell = |column: &str| row.text(column).filter(|text| !text.is_empty());
        let Some(picture) = cell("image") else { return Ok(None) };
        let index = cell("index").ok_or("there is no index")?;
        let mut question = String::new();
        if let Some(hint) = cell("hint") {
            let _ = writeln!(question, "Hint: {hint}");
        }
        question.push_str(cell("question").ok_or("there is no question")?);
        let letters = ('A'..='Z').map(String::from);
        let options: Vec<(String, &str)> =
            letters.filter_map(|letter| Some((letter.clone(), cell(&letter)?))).collect();
        if !options.is_empty() {
            question.push_str("Options:\n");
            for (letter, option) in options {
                let _ = writeln!(question, "{letter}. {option}");
            }
            question.push_str("Please select the correct answer from the options above. \n");
        }
        Ok(Some(Self {
            line: row.line(),
            index: index.to_owned(),
            question,
            picture: picture.to_owned(),
        }))
    }

    fn unknown(&self, path: &Path) -> DatasetError {
        let reason =
            format!("it refers to the image of row {:?}, which does not exist", self.picture);
        crate::text_file::malformed(path, self.line, reason)
    }
}

/// Stores an image as a file beside the table, in the folder that AISBench uses, and returns its
/// path. An existing file is kept.
fn store_image(folder: &Path, index: &str, picture: &str) -> Result<String, DatasetError> {
    let path = folder.join(format!("{index}.jpg"));
    if !fs::exists(&path).unwrap_or_default() {
        let file = STANDARD.decode(picture.trim()).map_err(|error| {
            DatasetError::Settings(format!("the image of row {index} is not base64: {error}"))
        })?;
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, file));
        written.map_err(|error| {
            let why = format!("{} cannot be written: {error}", path.display());
            DatasetError::Settings(why)
        })?;
    }
    Ok(path.to_string_lossy().into_owned())
}

fn question(record: &JsonObject) -> Result<&str, String> {
    record
        .get("question")
        .and_then(Value::as_str)
        .ok_or_else(|| "there is no \"question\"".to_owned())
}

/// Builds the content of a user message: the row's media in order, then the text. Media that are
/// read at send time are returned separately and have a placeholder in the content.
pub(super) fn content(
    parts: &JsonObject,
    row: &Row,
    fill: impl Fn(&str) -> String,
) -> Result<(Value, Vec<Medium>), DatasetError> {
    let (mut content, mut media) = (Vec::new(), Vec::new());
    for shown in &row.shown {
        let part = parts.get(shown.kind).ok_or_else(|| {
            let why = format!("the template has no part for the row's {:?}", shown.kind);
            DatasetError::Settings(why)
        })?;
        let (part, medium) = shown.placed(part.clone())?;
        content.push(part);
        media.extend(medium);
    }
    if let Some(mut part) = parts.get("text").cloned() {
        let text = fill(part["text"].as_str().unwrap_or_default());
        part["text"] = text.into();
        content.push(part);
    }
    Ok((content.into(), media))
}

/// Maximum length of an index, in bytes; longer cells of the image column hold an image.
const LONGEST_INDEX: usize = 64;
