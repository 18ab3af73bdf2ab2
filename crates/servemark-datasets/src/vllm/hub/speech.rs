//! Rows that let recordings be heard.

use std::path::Path;

use serde::{Deserialize, Serialize};
use servemark_core::{Audio, DatasetError, Sample, SpecialTokens};

use super::Asker;
use crate::sound::{AsIs, Rewritten};
use crate::table::{Cell, Record};

/// What the decoder of a speech model begins with; it is counted and not sent.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SpeechPrompt {
    /// Nothing.
    #[default]
    None,
    /// Whisper's marks.
    Whisper,
    /// Those of Cohere's models.
    Cohere,
}

impl SpeechPrompt {
    /// What vLLM takes for a tokenizer of this name.
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

/// A row's request, unless its recording is too short or too long.
pub(super) fn ask(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    let heard = heard(asker, row).map_err(|why| row.malformed(why))?;
    if !asker.spec.audio_seconds.hold(heard.seconds) {
        return Ok(None);
    }
    let prompt = asker.spec.speech_prompt.text();
    let tokens = asker.tokenizer.count(prompt, SpecialTokens::Add)?;
    let sample = Sample::new(prompt, tokens, asker.output_tokens());
    Ok(Some(sample.with_audio(heard.audio)))
}

/// A recording, and what vLLM takes for its length.
struct Heard {
    audio: Audio,
    seconds: f64,
}

fn heard(asker: &Asker<'_>, row: &Record) -> Result<Heard, String> {
    if let Some(bytes) = row.cell.at("audio.bytes").and_then(Cell::bytes) {
        let (sound, samples) = Rewritten::bytes(bytes.to_vec())?;
        return Ok(Heard { audio: Audio::new(sound), seconds: samples.claimed_seconds() });
    }
    let audio = row.cell.get("audio");
    let place = audio.and_then(|audio| audio.text().or_else(|| audio.get("path")?.text()));
    let place = match (place, row.cell.get("url").and_then(Cell::text)) {
        (Some(place), _) => place.into(),
        (None, Some(file)) => asker.folder.join(file),
        (None, None) => return Err("it has neither the bytes nor the path of a recording".into()),
    };
    as_is(&place)
}

fn as_is(path: &Path) -> Result<Heard, String> {
    let audio = Audio::new(AsIs::path(path)?);
    Ok(Heard { seconds: audio.duration().as_secs_f64(), audio })
}
