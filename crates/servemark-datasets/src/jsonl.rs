//! Files with one JSON object per line.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, JsonObject};

use crate::{python_json, text_file};

/// Handling of a line that is not JSON. Exhaustive: such a line either stops the draw or is
/// skipped.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BadLine {
    /// The draw fails with an error that names the file and the line.
    #[default]
    Fail,
    /// The line is left out and counted in a warning of the [`Draw`](crate::Draw). SGLang silently
    /// leaves such lines out of its data sets `custom` and `openai`.
    Skip,
}

/// Lines that were left out because they are not JSON.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SkippedLines {
    /// Number of lines left out.
    pub count: usize,
    /// Path of the file.
    pub path: PathBuf,
    /// One-based number of the first line left out.
    pub first_line: usize,
    /// Parse error of the first line left out.
    pub first_reason: String,
}

impl fmt::Display for SkippedLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, path, first_line, first_reason } = self;
        let path = path.display();
        write!(
            formatter,
            "lines left out: {count}; the first is {path}:{first_line}: {first_reason}; \
             with `workload.dataset.on_bad_line` \"fail\" it stops there instead"
        )
    }
}

/// Result of reading a JSON lines file.
pub(crate) struct Rows<T> {
    /// Rows made from the lines.
    pub(crate) rows: Vec<T>,
    /// Lines that were left out, if any.
    pub(crate) skipped: Option<SkippedLines>,
}

/// Reader of a JSON lines file.
pub(crate) struct Reader<'a> {
    /// Path of the file.
    pub(crate) path: &'a Path,
    /// Handling of a line that is not JSON, if the user can choose it (`--bad-lines`); otherwise
    /// such a line fails the draw.
    pub(crate) on_bad_line: Option<BadLine>,
    /// Maximum number of JSON values to read, counting those that give no row; `None` reads the
    /// whole file.
    pub(crate) limit: Option<usize>,
}

impl Reader<'_> {
    /// Passes each object with its line number to `take` and collects the results. `take` may
    /// return `None` to skip an object; its error is reported with the line.
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

    /// Returns an error if the first line of the file shows that it has another layout. A file that
    /// cannot be read passes.
    pub(crate) fn check_beginning(&self) -> Result<(), DatasetError> {
        let Some(beginning) = text_file::beginning(self.path)? else { return Ok(()) };
        let Some((line, text)) = text_file::lines(&beginning.text).next() else { return Ok(()) };
        let fail = |reason: &str| Err(text_file::malformed(self.path, line, reason.to_owned()));
        if text.starts_with('[') {
            return fail(ARRAY);
        }
        let is_cut = beginning.is_cut && !beginning.text.trim_start().contains('\n');
        if is_cut {
            return Ok(());
        }
        match python_json::parse(text) {
            Ok(value) => object(value).map(drop).or_else(|reason| fail(&reason)),
            Err(error) => self.leave_out(line, &error, &mut None),
        }
    }

    fn leave_out(
        &self,
        line: usize,
        error: &serde_json::Error,
        skipped: &mut Option<SkippedLines>,
    ) -> Result<(), DatasetError> {
        let reason = python_json::without_line(error);
        let fail = |reason| Err(text_file::malformed(self.path, line, reason));
        match self.on_bad_line {
            None => return fail(reason),
            Some(BadLine::Fail) => return fail(format!("{reason}; {LEAVE_OUT}")),
            Some(BadLine::Skip) => {}
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

const ARRAY: &str = "expected one JSON object per line, got an array; an array of conversations is \
                     read by the data set sharegpt";

const LEAVE_OUT: &str = "`workload.dataset.on_bad_line` \"skip\" leaves such lines out";

fn object(value: Value) -> Result<JsonObject, String> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err("expected a JSON object".to_owned()),
    }
}
