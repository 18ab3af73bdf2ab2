//! Files with one JSON object a line.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, JsonObject};

use crate::{python_json, text_file};

/// What to do about a line that is not JSON. Closed: it stops the draw or it does not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BadLine {
    /// Fail, naming the file and the line.
    #[default]
    Fail,
    /// Leave it out and count it in a warning of the [`Draw`](crate::Draw). SGLang leaves lines of
    /// its data sets `custom` and `openai` out without a word.
    Skip,
}

/// Lines that were left out because they are not JSON.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SkippedLines {
    /// How many.
    pub count: usize,
    /// The file.
    pub path: PathBuf,
    /// The first of them, counted from one.
    pub first_line: usize,
    /// What is wrong with the first.
    pub first_reason: String,
}

impl fmt::Display for SkippedLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, path, first_line, first_reason } = self;
        let path = path.display();
        write!(
            formatter,
            "lines left out: {count}; the first is {path}:{first_line}: {first_reason}; \
             --bad-lines fail stops there instead"
        )
    }
}

/// What is read from a file of JSON lines.
pub(crate) struct Rows<T> {
    /// What the lines gave.
    pub(crate) rows: Vec<T>,
    /// What was left out.
    pub(crate) skipped: Option<SkippedLines>,
}

/// Reads a file of JSON lines.
pub(crate) struct Reader<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// What to do about a line that is not JSON.
    pub(crate) on_bad_line: BadLine,
    /// How many objects to read; what they give does not matter.
    pub(crate) limit: Option<usize>,
}

impl Reader<'_> {
    /// What `take` makes of each object, given its line. It may make nothing of one, and an error
    /// of its names the line.
    pub(crate) fn read<T>(
        &self,
        take: impl Fn(usize, JsonObject) -> Result<Option<T>, String>,
    ) -> Result<Rows<T>, DatasetError> {
        let text = text_file::read(self.path)?;
        let mut read = Rows { rows: Vec::new(), skipped: None };
        let mut left = self.limit;
        for (line, text) in text_file::lines(&text) {
            if left == Some(0) {
                break;
            }
            text_file::check_row(self.path, line, text.len())?;
            match python_json::parse(text) {
                Err(error) => self.leave_out(line, &error, &mut read.skipped)?,
                Ok(value) => {
                    left = left.map(|left| left - 1);
                    let taken = object(value).and_then(|object| take(line, object));
                    let fail = |reason| text_file::malformed(self.path, line, reason);
                    read.rows.extend(taken.map_err(fail)?);
                }
            }
        }
        Ok(read)
    }

    fn leave_out(
        &self,
        line: usize,
        error: &serde_json::Error,
        skipped: &mut Option<SkippedLines>,
    ) -> Result<(), DatasetError> {
        let reason = python_json::without_line(error);
        if self.on_bad_line == BadLine::Fail {
            return Err(text_file::malformed(self.path, line, reason));
        }
        let nothing_yet = || SkippedLines {
            count: 0,
            path: self.path.to_owned(),
            first_line: line,
            first_reason: reason,
        };
        skipped.get_or_insert_with(nothing_yet).count += 1;
        Ok(())
    }
}

fn object(value: Value) -> Result<JsonObject, String> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err("expected a JSON object".to_owned()),
    }
}
