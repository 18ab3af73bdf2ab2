//! MMMU's questions about pictures: SGLang's `mmmu`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Medium, Tokenizer, parallel};
use servemark_rng::PythonRandom;

use crate::image::{Showing, Shown, Stored, notices};
use crate::table::{self, Row};
use crate::{DatasetName, Draw, PromptFormat, Summary};

/// Questions of MMMU, each with its first picture.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MmmuSpec {
    /// The parquet file, or a folder of them.
    pub path: Option<PathBuf>,
    /// The output length of every request.
    pub output_tokens: u32,
    /// Whether the text is sent as it is, to a server that renders it, or rendered.
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
        let hint = "pass MMMU's parquet file, or the folder that holds it, with --dataset-path";
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
        let asked = parallel::map("reading pictures", &rows, context.progress, ask);
        let Usable { shown, left_out } = usable(asked)?;
        let mut notices = notices(&shown);
        notices.extend(left_out);
        let samples: Vec<_> = shown.into_iter().map(|shown| shown.sample).collect();
        let lines = lines(count, total, rows.len(), samples.len());
        let summary = Summary::of(DatasetName::Mmmu, &samples).in_lines(lines);
        Ok(Draw::of(samples, summary).noting(notices))
    }

    /// A row's request; a row without a picture has none.
    fn ask(&self, row: &Row, tokenizer: &dyn Tokenizer) -> Result<Option<Shown>, DatasetError> {
        let Some(file) = row.bytes(PICTURE) else { return Ok(None) };
        let unreadable = |why| row.malformed(format!("its picture cannot be read: {why}"));
        let picture = Stored::new(file.to_vec()).map_err(unreadable)?;
        let size = picture.size();
        let showing = Showing {
            text: format!("Question: {}\n\nAnswer: ", row.text(QUESTION)?),
            pictures: vec![(Medium::image(picture), size)],
            output_tokens: self.output_tokens,
        };
        showing.count(self.prompt_format, tokenizer).map(Some)
    }
}

/// The requests that rows gave, and a word on the rows that gave none because they are broken.
struct Usable {
    shown: Vec<Shown>,
    left_out: Option<String>,
}

/// A broken row is left out, as with SGLang, and never silently; anything else that fails is no
/// row's fault.
fn usable(asked: Vec<Result<Option<Shown>, DatasetError>>) -> Result<Usable, DatasetError> {
    let (mut shown, mut broken) = (Vec::new(), Vec::new());
    for asked in asked {
        match asked {
            Ok(found) => shown.extend(found),
            Err(error @ DatasetError::Row { .. }) => broken.push(error),
            Err(error) => return Err(error),
        }
    }
    let left_out = broken.first().map(|first| {
        let count = broken.len();
        format!("Rows left out: {count}; the first is {first}")
    });
    Ok(Usable { shown, left_out })
}

/// Which rows are asked: a sample of them in drawn order, or all if there are no more than that.
fn choose(rows: usize, count: usize, random: &mut PythonRandom) -> Vec<usize> {
    let sampled = if rows > count { random.sample_indices(rows, count) } else { None };
    sampled.unwrap_or_else(|| (0..rows).collect())
}

/// The parquet files of a table: the one at `path`, or those of the test split in the folder there
/// or in its part for mathematics, which is what SGLang asks the hub for.
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

/// What SGLang prints once it has the table.
fn lines(count: usize, total: usize, selected: usize, created: usize) -> String {
    let few = format!("Dataset has less than {count} examples, using all examples\n");
    let few = if total > count { String::new() } else { few };
    let selected = format!("Selected {selected} examples for benchmarking\n");
    format!("{few}{selected}\nCreated {created} MMMU prompts\n")
}

const QUESTION: &str = "question";
const PICTURE: &str = "image_1.bytes";
