//! Audio as vLLM's client sends it: unchanged, or decoded and encoded again as WAV.

#[cfg_attr(feature = "audio", path = "sound/decode.rs")]
#[cfg_attr(not(feature = "audio"), path = "sound/absent.rs")]
mod decode;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use servemark_core::{Audio, AudioSource, ErrorKind, JsonObject, RequestError, SoundFile};

use self::decode::decode;

/// Interleaved samples of all channels, as 32-bit fixed-point shares of full scale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples {
    /// Sample rate of each channel, in Hz.
    pub(crate) rate: u32,
    pub(crate) channels: u16,
    pub(crate) values: Vec<i32>,
}

/// Audio that is decoded and encoded again as a 16-bit WAV file.
pub(crate) struct Rewritten {
    source: SoundOrigin,
    duration: Duration,
}

/// Source of the audio data.
enum SoundOrigin {
    Bytes(Vec<u8>),
    Path(PathBuf),
    Samples(Samples),
}

impl Samples {
    /// Converts floats of one channel, in which 1 is full scale. Values beyond full scale are
    /// clipped.
    pub(crate) fn of_floats(floats: &[f64], rate: u32) -> Self {
        let value = |float: &f64| (float * FULL_SCALE).round_ties_even() as i32;
        Self { rate, channels: 1, values: floats.iter().map(value).collect() }
    }

    /// Returns the playing time.
    pub(crate) fn duration(&self) -> Duration {
        let frames = self.values.len() / usize::from(self.channels.max(1));
        Duration::from_secs_f64(frames as f64 / f64::from(self.rate.max(1)))
    }

    /// Returns the duration in seconds as vLLM computes it. With several channels, vLLM divides the
    /// number of channels, not of frames, by the rate.
    pub(crate) fn claimed_seconds(&self) -> f64 {
        let frames = match self.channels {
            1 => self.values.len(),
            channels => usize::from(channels),
        };
        frames as f64 / f64::from(self.rate.max(1))
    }

    /// Encodes a 16-bit WAV file from the upper half of each sample, as libsndfile does.
    fn wav(&self) -> Vec<u8> {
        let short = |value: &i32| ((value >> 16) as i16).to_le_bytes();
        let data = self.values.iter().flat_map(short);
        let data: Vec<u8> = data.collect();
        let frame = 2 * u32::from(self.channels);
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let shorts = |words: &[u16]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let length = data.len() as u32;
        let parts: [Vec<u8>; 9] = [
            b"RIFF".to_vec(),
            words(&[36 + length]),
            b"WAVEfmt ".to_vec(),
            words(&[16]),
            shorts(&[1, self.channels]),
            words(&[self.rate, self.rate * frame]),
            shorts(&[frame as u16, 16]),
            b"data".to_vec(),
            words(&[length]),
        ];
        [parts.concat(), data].concat()
    }
}

impl Rewritten {
    /// Decodes audio from a file's bytes. Returns the decoded samples too.
    pub(crate) fn bytes(bytes: Vec<u8>) -> Result<(Self, Samples), String> {
        let samples = decode(bytes.clone())?;
        let duration = samples.duration();
        Ok((Self { source: SoundOrigin::Bytes(bytes), duration }, samples))
    }

    /// Creates audio from a file that is read again when it is sent.
    pub(crate) fn path(path: &Path) -> Result<Self, String> {
        let duration = decode(read(path)?)?.duration();
        Ok(Self { source: SoundOrigin::Path(path.to_owned()), duration })
    }

    /// Creates audio from samples in memory.
    pub(crate) fn samples(samples: Samples) -> Self {
        let duration = samples.duration();
        Self { source: SoundOrigin::Samples(samples), duration }
    }

    fn wav(&self) -> Result<Vec<u8>, String> {
        let samples = match &self.source {
            SoundOrigin::Bytes(bytes) => &decode(bytes.clone())?,
            SoundOrigin::Path(path) => &decode(read(path)?)?,
            SoundOrigin::Samples(samples) => samples,
        };
        Ok(samples.wav())
    }
}

impl AudioSource for Rewritten {
    fn file(&self) -> Result<SoundFile, RequestError> {
        let wav = self.wav().map_err(|why| unreadable(&why))?;
        Ok(SoundFile::new("audio.wav", "audio/wav", wav))
    }

    fn duration(&self) -> Duration {
        self.duration
    }
}

impl fmt::Debug for Rewritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewritten").field("duration", &self.duration).finish_non_exhaustive()
    }
}

/// Audio that is sent unchanged from its file.
#[derive(Debug)]
pub(crate) struct AsIs {
    path: PathBuf,
    duration: Duration,
}

impl AsIs {
    /// Creates audio from the file at `path`.
    pub(crate) fn path(path: &Path) -> Result<Self, String> {
        let duration = decode(read(path)?)?.duration();
        Ok(Self { path: path.to_owned(), duration })
    }
}

impl AudioSource for AsIs {
    fn file(&self) -> Result<SoundFile, RequestError> {
        let bytes = read(&self.path).map_err(|why| unreadable(&why))?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Ok(SoundFile::new(name, media_type(&self.path), bytes))
    }

    fn duration(&self) -> Duration {
        self.duration
    }
}

/// Audio that vLLM's client does not encode for a chat message: it puts in the path or the numbers
/// of the data set, or fails.
#[derive(Debug)]
pub(crate) struct Bare {
    audio: Audio,
    part: Option<JsonObject>,
}

impl Bare {
    /// Creates audio whose part of a chat message has one key.
    pub(crate) fn with_part(audio: Audio, key: &str, value: Value) -> Audio {
        let part = Some([(key.to_owned(), value)].into_iter().collect());
        Audio::new(Self { audio, part })
    }

    /// Creates audio that cannot be put into a chat message: vLLM's client holds an array that its
    /// JSON encoder refuses.
    pub(crate) fn without_part(audio: Audio) -> Audio {
        Audio::new(Self { audio, part: None })
    }
}

impl AudioSource for Bare {
    fn file(&self) -> Result<SoundFile, RequestError> {
        self.audio.file()
    }

    fn duration(&self) -> Duration {
        self.audio.duration()
    }

    fn chat_part(&self) -> Result<Option<JsonObject>, RequestError> {
        match &self.part {
            Some(part) => Ok(Some(part.clone())),
            None => Err(RequestError::new(ErrorKind::Encode, NOT_ENCODED)),
        }
    }
}

const NOT_ENCODED: &str = "vLLM's client cannot put the samples of an audio file into a message; with \
                           custom_audio, a prompt format of chats sends the file";

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn unreadable(why: &str) -> RequestError {
    RequestError::new(ErrorKind::Encode, format!("an audio file cannot be read: {why}"))
}

/// Returns the media type that Python's `mimetypes` guesses from the file name.
fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("wav") => "audio/x-wav",
        Some("mp2" | "mp3") => "audio/mpeg",
        Some("opus") => "audio/opus",
        _ => "application/octet-stream",
    }
}

/// The 32-bit value of a float sample of 1; it is one above the largest `i32`.
const FULL_SCALE: f64 = 2_147_483_648.0;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bare_audio_is_a_part_of_its_own_or_none() {
        let sound = || Audio::new(Rewritten::samples(Samples::of_floats(&[0.5], 8_000)));
        assert_eq!(sound().chat_part(), Ok(None));
        let part = Bare::with_part(sound(), "audio", json!([[0.5], 8_000])).chat_part();
        assert_eq!(json!(part.unwrap()), json!({"audio": [[0.5], 8_000]}));
        let bare = Bare::without_part(sound());
        assert_eq!(bare.chat_part().unwrap_err().kind, ErrorKind::Encode);
        assert_eq!(bare.file(), sound().file());
    }

    #[test]
    fn floats_beyond_full_scale_are_clipped() {
        let samples = Samples::of_floats(&[0.5, -1.0, 1.0, 1.5, -1.5], 16_000);
        let shorts: Vec<i32> = samples.values.iter().map(|value| value >> 16).collect();
        assert_eq!(shorts, [16_384, -32_768, 32_767, 32_767, -32_768]);
    }

    #[test]
    fn several_channels_confuse_the_peer() {
        let samples = Samples { rate: 8000, channels: 2, values: vec![0; 32_000] };
        assert_eq!(samples.duration(), Duration::from_secs(2));
        assert!((samples.claimed_seconds() - 0.000_25).abs() < 1e-9);
    }
}
