//! Decoding of audio files with an external library.

use std::io::{self, Cursor};
use std::panic::catch_unwind;

use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;

use super::Samples;

/// Decodes an audio file of any supported format.
pub(super) fn decode(file: Vec<u8>) -> Result<Samples, String> {
    // A damaged file makes some arithmetic in the library overflow, which is a panic in a debug
    // build.
    match catch_unwind(|| try_decode(file)) {
        Ok(decoded) => decoded.map_err(|error| error.to_string()),
        Err(_) => Err("the decoder failed; the file may be damaged".to_owned()),
    }
}

fn try_decode(file: Vec<u8>) -> Result<Samples, Error> {
    let stream =
        MediaSourceStream::new(Box::new(Cursor::new(file)), MediaSourceStreamOptions::default());
    let (format, metadata) = (FormatOptions::default(), MetadataOptions::default());
    let probe = symphonia::default::get_probe();
    let mut reader = probe.probe(&Hint::new(), stream, format, metadata)?;
    let track = reader.default_track(TrackType::Audio).ok_or(NO_SOUND)?;
    let (id, parameters) = (track.id, track.codec_params.as_ref());
    let parameters = parameters.and_then(|parameters| parameters.audio()).ok_or(NO_SOUND)?;
    let codecs = symphonia::default::get_codecs();
    let mut decoder = codecs.make_audio_decoder(parameters, &AudioDecoderOptions::default())?;
    let mut samples = Samples { rate: 0, channels: 1, values: Vec::new() };
    let mut piece: Vec<i32> = Vec::new();
    while let Some(packet) = reader.next_packet()? {
        if packet.track_id == id {
            let decoded = decoder.decode(&packet)?;
            samples.rate = decoded.spec().rate();
            samples.channels = decoded.spec().channels().count() as u16;
            decoded.copy_to_vec_interleaved(&mut piece);
            if samples.values.len() + piece.len() > MOST_SAMPLES {
                return Err(Error::IoError(io::Error::other(format!(
                    "the audio has more than {MOST_SAMPLES} samples, which is the limit"
                ))));
            }
            samples.values.extend_from_slice(&piece);
        }
    }
    Ok(samples)
}

/// Maximum number of samples: half an hour of stereo at 48 kHz, or three hours of mono at 16 kHz.
const MOST_SAMPLES: usize = 2 * 48_000 * 60 * 30;

const NO_SOUND: Error = Error::Unsupported("it has no audio track");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_with_64512_channels_is_refused() {
        let mut file = b"RIFF\x34\0\0\0WAVEfmt \x10\0\0\0\x01\0".to_vec();
        file.extend(64_512_u16.to_le_bytes());
        file.extend(16_000_u32.to_le_bytes());
        file.extend([0, 0, 0, 0, 0, 0]);
        file.extend(16_u16.to_le_bytes());
        file.extend(b"data\x10\0\0\x000123456789abcdef");
        assert!(decode(file).is_err());
    }
}
