//! What is sent to be transcribed: a form with a recording and its settings as texts.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use servemark_core::{ErrorKind, JsonObject, RequestError, Sample, SoundFile};
use servemark_pyjson::literal;

use crate::WireRequest;

/// The recording of a sample, which no request can be without.
pub(super) fn file(sample: &Sample) -> Result<SoundFile, RequestError> {
    let silent = "a transcription needs a recording: use a data set that has them";
    let audio = sample.audio.as_ref();
    audio.ok_or_else(|| RequestError::new(ErrorKind::Encode, silent))?.file()
}

/// A form with a file and, behind it, each setting as Python writes it into a text.
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

/// A form that is being written.
struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    /// A form whose boundary is made of what is in its file, so that it is not in there and the
    /// same request has the same body.
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

/// A setting as Python's `str` writes it.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| literal(value), str::to_owned)
}

/// A file's name with everything escaped that a URL has no place for.
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
