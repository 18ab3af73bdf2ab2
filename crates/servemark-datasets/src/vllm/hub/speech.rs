//! Conversion of rows with audio to requests.

use std::path::Path;

use serde::{Deserialize, Serialize};
use servemark_core::{Audio, DatasetError, Sample, SpecialTokens};

use super::Asker;
use crate::sound::{AsIs, Bare, Rewritten};
use crate::table::{Cell, Record};

/// Initial text of a speech model's decoder. Its tokens are counted, but it is not sent.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeechPrompt {
    /// No initial text.
    #[default]
    None,
    /// Whisper's control tokens.
    Whisper,
    /// Control tokens of Cohere's models.
    Cohere,
}

impl SpeechPrompt {
    /// Returns the prompt that vLLM selects for a tokenizer name.
    pub fn of_tokenizer(name: &str) -> Self {
        if name.contains("openai") {
            Self::Whisper
        } else if name.to_lowercase().contains("cohere") {
            Self::Cohere
        } else {
            Self::None
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Whisper => "<|startoftranscript|><|en|><|transcribe|><|notimestamps|>",
            Self::Cohere => {
                "<|startofcontext|><|startoftranscript|><|emo:undefined|><|en|><|en|><|pnc|>\
                 <|noitn|><|notimestamp|><|nodiarize|>"
            }
        }
    }
}

/// Builds a row's request, or returns `None` if its audio is too short or too long.
pub(super) fn ask(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    let heard = timed_audio(asker, row).map_err(|why| row.malformed(why))?;
    if !asker.spec.audio_seconds.hold(heard.seconds) {
        return Ok(None);
    }
    let prompt = asker.spec.speech_prompt.text();
    let tokens = asker.tokenizer.count(prompt, SpecialTokens::Add)?;
    let sample = Sample::new(prompt, tokens, asker.output_tokens());
    Ok(Some(sample.with_audio(heard.audio)))
}

/// Audio with the duration that vLLM computes for it.
struct TimedAudio {
    audio: Audio,
    seconds: f64,
}

fn timed_audio(asker: &Asker<'_>, row: &Record) -> Result<TimedAudio, String> {
    if let Some(bytes) = row.cell.at("audio.bytes").and_then(Cell::bytes) {
        let (sound, samples) = Rewritten::bytes(bytes.to_vec())?;
        let audio = Bare::without_part(Audio::new(sound));
        return Ok(TimedAudio { audio, seconds: samples.claimed_seconds() });
    }
    let audio = row.cell.get("audio");
    let place = audio.and_then(|audio| audio.text().or_else(|| audio.get("path")?.text()));
    let place = match (place, row.cell.get("url").and_then(Cell::text)) {
        (Some(place), _) => place.into(),
        (None, Some(file)) => asker.folder.join(file),
        (None, None) => return Err("it has neither the bytes nor the path of an audio file".into()),
    };
    as_is(&place)
}

fn as_is(path: &Path) -> Result<TimedAudio, String> {
    let audio = Audio::new(AsIs::path(path)?);
    let seconds = audio.duration().as_secs_f64();
    let audio = Bare::with_part(audio, "audio_path", path.to_string_lossy().into());
    Ok(TimedAudio { audio, seconds })
}
