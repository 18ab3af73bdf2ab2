//! Stub of the audio decoder for builds without the feature `audio`.

use super::Samples;

pub(super) fn decode(_file: Vec<u8>) -> Result<Samples, String> {
    Err("this program was built without the feature audio; the program servemark has it".to_owned())
}
