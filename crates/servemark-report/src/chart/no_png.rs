//! Refuses PNG files in builds without the feature `png`.

use std::io;

use super::Figure;

impl Figure {
    /// Fails: this build cannot render PNG files.
    pub fn png(&self, _dots_per_inch: u32) -> io::Result<Vec<u8>> {
        let why = "this program was built without the feature png; the program servemark has it";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
}
