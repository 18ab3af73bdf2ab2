//! Requests for transcriptions: a form with an audio file, and its settings as text fields.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use servemark_core::{ErrorKind, JsonObject, RequestError, Sample, SoundFile};
use servemark_pyjson::literal;

use crate::WireRequest;

/// Returns the audio file of a sample. A sample without audio is an error.
pub(super) fn file(sample: &Sample) -> Result<SoundFile, RequestError> {
    let silent = "a transcription needs a recording: use a data set that has them";
    let audio = sample.audio.as_ref();
    audio.ok_or_else(|| RequestError::new(ErrorKind::Encode, silent))?.file()
}

/// Returns a form with a file, followed by each setting as Python formats it.
pub(super) fn form(
    path: impl Into<Cow<'static, str>>,
    file: &SoundFile,
    settings: &JsonObject,
) -> WireRequest {
    let mut form = Form::around(&file.bytes);
    form.field(
        file.media_type,
        &format!("file\"; filename=\"{}", escaped(&file.name)),
        &file.bytes,
    );
    for (name, value) in settings {
        form.field("text/plain; charset=utf-8", name, text_of(value).as_bytes());
    }
    form.finish(path.into())
}

/// A form under construction.
struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    /// Returns a form whose boundary is a hash of its file, so that the file does not contain it
    /// and equal requests have equal bodies.
    fn around(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let half = hasher.finish();
        half.hash(&mut hasher);
        Self { boundary: format!("{half:016x}{:016x}", hasher.finish()), body: Vec::new() }
    }

    fn field(&mut self, media_type: &str, name: &str, content: &[u8]) {
        let boundary = &self.boundary;
        let head = format!(
            "--{boundary}\r\nContent-Type: {media_type}\r\n\
             Content-Disposition: form-data; name=\"{name}\"\r\n\r\n"
        );
        self.body.extend([head.as_bytes(), content, b"\r\n"].concat());
    }

    fn finish(mut self, path: Cow<'static, str>) -> WireRequest {
        let boundary = self.boundary;
        self.body.extend(format!("--{boundary}--\r\n").into_bytes());
        let kind = HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}"));
        let kind = kind.expect("a boundary is made of digits and letters");
        let headers = [(CONTENT_TYPE, kind)].into_iter().collect();
        WireRequest { path, headers, body: self.body.into() }
    }
}

/// Formats a setting like Python's `str`.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| literal(value), str::to_owned)
}

/// Percent-encodes all characters of a file's name that are not unreserved in a URL.
fn escaped(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte);
    let escape = |byte: u8| match byte {
        plain if is_plain(plain) => char::from(plain).to_string(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_quotation_marks() {
        assert_eq!(escaped("a b\"é.wav"), "a%20b%22%C3%A9.wav");
    }

    #[test]
    fn the_same_recording_has_the_same_form() {
        let file = SoundFile::new("a.wav", "audio/wav", b"RIFF".to_vec());
        let form = || form("/v1/audio/transcriptions", &file, &JsonObject::new());
        assert_eq!(form(), form());
    }
}
