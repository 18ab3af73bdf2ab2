//! Tests with parquet files written by pyarrow.

use std::fs;

use super::*;

const MMMU: [&str; 2] = ["question", "image_1.bytes"];

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures/parquet", name].iter().collect()
}

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

fn fails(path: &Path, columns: &[&str]) -> String {
    let error = rows(&[path.to_owned()], columns, all).unwrap_err();
    error.to_string().replace(&path.display().to_string(), "FILE")
}

#[test]
fn rows_come_in_the_order_that_was_chosen() {
    let choose = |count| {
        assert_eq!(count, 9);
        vec![7, 0, 4]
    };
    let rows = rows(&[fixture("mmmu.parquet")], &MMMU, choose).unwrap();
    let numbers: Vec<usize> = rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers, [8, 1, 5]);
    assert_eq!(rows[1].text("question").unwrap(), "What is shown in <image 1>? Variant 0, ");
    assert!(rows[1].bytes("image_1.bytes").unwrap().starts_with(b"\x89PNG"));
    assert!(rows[2].bytes("image_1.bytes").unwrap().starts_with(b"\xff\xd8"));
    assert_eq!(rows[0].bytes("options"), None, "a column that is not asked for is not read");
}

#[test]
fn every_compression_gives_the_same_rows() {
    let read = |name| rows(&[fixture(name)], &MMMU, all).unwrap();
    let (snappy, zstd) = (read("mmmu.parquet"), read("mmmu_zstd.parquet"));
    assert_eq!(snappy.len(), 9);
    assert!(snappy.iter().zip(&zstd).all(|(one, other)| one.cells == other.cells));
}

#[test]
fn several_files_are_one_table() {
    let files = [fixture("longbench_v2.parquet"), fixture("longbench_v2.parquet")];
    let rows = rows(&files, &["context", "choice_D"], |count| vec![count - 1, 1]).unwrap();
    let texts: Vec<&str> = rows.iter().map(|row| row.text("choice_D").unwrap()).collect();
    assert_eq!(texts, ["choice_D of 4", "choice_D of 1"]);
    assert!(rows[0].text("context").unwrap().starts_with("Context 4. word "));
}

#[test]
fn an_empty_cell_is_named_by_its_row() {
    let rows = rows(&[fixture("mmmu.parquet")], &MMMU, all).unwrap();
    assert_eq!(rows[5].bytes("image_1.bytes"), None);
    let error = rows[5].text("image_1.bytes").unwrap_err().to_string();
    assert!(error.ends_with("mmmu.parquet, row 6: column image_1.bytes is empty"), "{error}");
    let error = rows[0].text("image_1.bytes").unwrap_err().to_string();
    assert!(error.ends_with("row 1: image_1.bytes is not a string"), "{error}");
}

#[test]
fn a_missing_column_is_named() {
    assert_eq!(
        fails(&fixture("no_image.parquet"), &MMMU),
        "FILE cannot be used as a parquet table: it has no text or bytes column image_1.bytes, \
         only id, question, options, image_2.bytes, image_2.path"
    );
    let numbers = fails(&fixture("numbers.parquet"), &MMMU);
    assert!(numbers.contains("it has no text or bytes column question"), "{numbers}");
}

#[test]
fn a_table_without_rows_has_none() {
    assert_eq!(rows(&[fixture("empty.parquet")], &MMMU, all).unwrap(), []);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    assert_eq!(fails(Path::new("/absent.parquet"), &MMMU), "cannot read FILE");
}

/// Checks that a damaged file gives an error or rows, and never a panic.
#[test]
fn a_broken_file_is_refused() {
    let whole = fs::read(fixture("mmmu.parquet")).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut refused = 0;
    let mut read = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        if let Err(error) = rows(&[file.path().to_owned()], &MMMU, all) {
            assert!(matches!(error, DatasetError::Table { .. }), "{error:?}");
            refused += 1;
        }
    };
    for end in (0..whole.len()).step_by(97) {
        read(&whole[..end]);
    }
    for at in (0..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        read(&bytes);
    }
    assert!(refused > 150, "only {refused} are refused");
}
