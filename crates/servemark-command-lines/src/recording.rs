//! Recordings as compressed files of JSON lines.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use crate::Line;

/// Reads recorded command lines from a compressed file of JSON lines.
///
/// # Errors
///
/// The file cannot be read or is not a recording.
pub fn read_lines(path: &Path) -> io::Result<Vec<Line>> {
    let bytes = fs::read(path)?;
    let lines = BufReader::new(GzDecoder::new(&bytes[..])).lines();
    lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// Writes a recording.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_lines(path: &Path, lines: &[Line]) -> io::Result<()> {
    let mut file = GzEncoder::new(File::create(path)?, Compression::best());
    for line in lines {
        writeln!(file, "{}", serde_json::to_string(line)?)?;
    }
    file.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let text = r#"{"n":3,"argv":["--a=b"],"ordered":true,"outcome":"refused","exit":2,"requests":[],"message":"no"}"#;
        let line: Line = serde_json::from_str(text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.jsonl.gz");
        write_lines(&path, &[line.clone(), line.clone()]).unwrap();
        assert_eq!(read_lines(&path).unwrap(), [line.clone(), line.clone()]);
        assert_eq!(serde_json::to_string(&line).unwrap(), text);
    }
}
