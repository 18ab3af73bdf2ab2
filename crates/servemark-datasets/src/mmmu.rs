//! MMMU's questions about images: SGLang's `mmmu`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Medium, Tokenizer, parallel};
use servemark_rng::PythonRandom;

use crate::image::{ImageSample, Stored, TextWithImages, notices};
use crate::table::{self, Row};
use crate::{DatasetName, Draw, PromptFormat, Summary};

/// MMMU questions, each with its first image.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct MmmuSpec {
    /// Path of the parquet file, or of a folder with parquet files.
    pub path: Option<PathBuf>,
    /// Output length of every request, in tokens.
    pub output_tokens: u32,
    /// Whether the text is sent raw, for the server to render, or rendered with the chat template.
    pub prompt_format: PromptFormat,
}

impl Default for MmmuSpec {
    fn default() -> Self {
        Self { path: None, output_tokens: 1024, prompt_format: PromptFormat::Raw }
    }
}

impl MmmuSpec {
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let path = self.path.as_deref();
        let hint =
            "pass MMMU's parquet file, or the folder that holds it, with `workload.dataset.path`";
        let path = path.ok_or(DatasetError::NoFile { dataset: "mmmu", hint })?;
        let random = &mut context.random.python;
        let mut total = 0;
        let choose = |rows| {
            total = rows;
            choose(rows, count, random)
        };
        let rows = table::rows(&files(path)?, &[QUESTION, PICTURE], choose)?;
        let tokenizer = context.tokenizer;
        let ask = |row: &Row| self.ask(row, tokenizer);
        let drafts = parallel::map("reading pictures", &rows, context.progress, ask);
        let Usable { with_images: pictured, left_out } = usable(drafts)?;
        let mut notices = notices(&pictured);
        notices.extend(left_out);
        let samples: Vec<_> = pictured.into_iter().map(|sample| sample.sample).collect();
        let lines = lines(count, total, rows.len(), samples.len());
        let summary = Summary::of(DatasetName::Mmmu, &samples).in_lines(lines);
        Ok(Draw::of(samples, summary).with_notices(notices))
    }

    /// Builds a row's request, or `None` if the row has no image.
    fn ask(
        &self,
        row: &Row,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Option<ImageSample>, DatasetError> {
        let Some(file) = row.bytes(PICTURE) else { return Ok(None) };
        let unreadable = |why| row.malformed(format!("its image cannot be read: {why}"));
        let picture = Stored::new(file.to_vec()).map_err(unreadable)?;
        let size = picture.size();
        let showing = TextWithImages {
            text: format!("Question: {}\n\nAnswer: ", row.text(QUESTION)?),
            pictures: vec![(Medium::image(picture), size)],
            output_tokens: self.output_tokens,
        };
        showing.count(self.prompt_format, tokenizer).map(Some)
    }
}

/// Requests made from the rows, and a notice about malformed rows that were left out.
struct Usable {
    with_images: Vec<ImageSample>,
    left_out: Option<String>,
}

/// Separates the requests from the errors. A malformed row is left out, as in SGLang, and counted
/// in a notice; any other error is returned.
fn usable(drafts: Vec<Result<Option<ImageSample>, DatasetError>>) -> Result<Usable, DatasetError> {
    let (mut with_images, mut broken) = (Vec::new(), Vec::new());
    for drafts in drafts {
        match drafts {
            Ok(found) => with_images.extend(found),
            Err(error @ DatasetError::Row { .. }) => broken.push(error),
            Err(error) => return Err(error),
        }
    }
    let left_out = broken.first().map(|first| {
        let count = broken.len();
        format!("Rows left out: {count}; the first is {first}")
    });
    Ok(Usable { with_images, left_out })
}

/// Returns the indices of the rows to send: `count` randomly sampled ones in drawn order, or all
/// rows if there are no more than `count`.
fn choose(rows: usize, count: usize, random: &mut PythonRandom) -> Vec<usize> {
    let sampled = if rows > count { random.sample_indices(rows, count) } else { None };
    sampled.unwrap_or_else(|| (0..rows).collect())
}

/// Returns the parquet files of a table: `path` itself if it is a file, else those of the test
/// split in the folder's `Math` subfolder or in the folder. SGLang requests the `Math` subset from
/// the hub.
fn files(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    for folder in [path.join("Math"), path.to_owned()] {
        let files = test_files(&folder)?;
        if !files.is_empty() {
            return Ok(files);
        }
    }
    let reason = "it holds no parquet file whose name begins with \"test\", nor does its Math";
    Err(DatasetError::Table { path: path.to_owned(), reason: reason.to_owned() })
}

fn test_files(folder: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |source| DatasetError::Read { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("test") && name.ends_with(".parquet")
    });
    paths.sort();
    Ok(paths)
}

/// Returns the lines that SGLang prints after reading the table.
fn lines(count: usize, total: usize, selected: usize, created: usize) -> String {
    let few = format!("Dataset has less than {count} examples, using all examples\n");
    let few = if total > count { String::new() } else { few };
    let selected = format!("Selected {selected} examples for benchmarking\n");
    format!("{few}{selected}\nCreated {created} MMMU prompts\n")
}

const QUESTION: &str = "question";
const PICTURE: &str = "image_1.bytes";
