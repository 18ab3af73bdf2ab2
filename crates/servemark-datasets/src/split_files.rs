//! Selection of the files that belong to a split of a data set.

use std::fs;
use std::path::{Path, PathBuf};

use servemark_core::DatasetError;

/// Returns the files of a split: `path` itself if it is a file, else the matching files in the
/// subset's subfolder or in the folder. If no file name mentions any split, all files belong to the
/// training split.
pub(crate) fn of_split(
    path: &Path,
    subset: Option<&str>,
    split: &str,
) -> Result<Vec<PathBuf>, DatasetError> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let part = subset.map(|subset| path.join(subset)).filter(|part| part.is_dir());
    let folder = part.as_deref().unwrap_or(path);
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let within = |file: &Path| file.strip_prefix(folder).unwrap_or(file).to_owned();
    let named: Vec<PathBuf> =
        files.iter().filter(|file| is_of(&within(file), split)).cloned().collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let ambiguous =
        SPLITS.iter().all(|names| !files.iter().any(|file| is_of(&within(file), names[0])));
    if split == TRAINING && ambiguous && !files.is_empty() {
        return Ok(files);
    }
    let reason = format!("it holds no parquet, json or jsonl file of the split {split:?}");
    Err(DatasetError::Table { path: folder.to_owned(), reason })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), DatasetError> {
    let unreadable = |source| DatasetError::Read { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            collect(&path, files)?;
        } else if matches!(ending, Some("json" | "jsonl" | "parquet")) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns whether the file's name or one of its folders contains a word for the split.
fn is_of(file: &Path, split: &str) -> bool {
    let names = SPLITS.iter().find(|names| names.contains(&split));
    let names: &[&str] = names.map_or(std::slice::from_ref(&split), |names| names);
    let steps = file.iter().filter_map(|step| step.to_str());
    let mut words = steps.flat_map(|step| step.split(|sign: char| !sign.is_alphabetic()));
    words.any(|word| names.contains(&word))
}

const TRAINING: &str = "train";

/// Words for each split in file and folder names.
const SPLITS: [&[&str]; 3] = [
    &[TRAINING, "training"],
    &["validation", "valid", "dev", "val"],
    &["test", "testing", "eval", "evaluation"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_a_word_of_the_name() {
        assert!(is_of(Path::new("data/train-00000-of-00002.parquet"), "train"));
        assert!(is_of(Path::new("dev/part.jsonl"), "validation"));
        assert!(is_of(Path::new("release1-0.parquet"), "release"));
        assert!(!is_of(Path::new("trainer.jsonl"), "train"));
    }
}
