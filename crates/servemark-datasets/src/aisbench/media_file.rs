//! A media file of a row, and its place in a request.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use servemark_core::{DatasetError, ErrorKind, Media, Medium, RequestError};

/// An image, video or audio file of a row.
#[derive(Clone, Debug)]
pub(super) struct MediaFile {
    /// Kind of medium: `image`, `video` or `audio`.
    pub(super) kind: &'static str,
    pub(super) source: MediaContent,
}

/// Where the content of a [`MediaFile`] comes from.
#[derive(Clone, Debug)]
pub(super) enum MediaContent {
    /// Text put into the request: a path or base64 data.
    Text(String),
    /// File whose content is put into the request as base64.
    File(PathBuf),
}

impl MediaFile {
    /// Puts the file into its part of a template: as text, or as a medium that is read when its
    /// request is prepared.
    pub(super) fn placed(&self, mut part: Value) -> Result<(Value, Option<Medium>), DatasetError> {
        let key = format!("{}_url", self.kind);
        let template = part[&key]["url"].as_str().or(part[&key].as_str()).unwrap_or_default();
        let template = template.to_owned();
        let place = format!("{{{}}}", self.kind);
        let is_object = part[&key].is_object();
        let url = match &self.source {
            MediaContent::Text(text) => template.replace(&place, text),
            MediaContent::File(path) if self.kind != "audio" && is_object => {
                part[&key] = json!({});
                let file = Encoded { path: path.clone(), template, place };
                return Ok((part, Some(Medium::image(file))));
            }
            MediaContent::File(path) => {
                let encoded = encoded(path).map_err(DatasetError::Settings)?;
                template.replace(&place, &encoded)
            }
        };
        if is_object {
            part[&key]["url"] = url.into();
        } else {
            part[&key] = url.into();
        }
        Ok((part, None))
    }
}

/// A file that is read when its request is prepared and inserted into a URL.
#[derive(Debug)]
struct Encoded {
    path: PathBuf,
    template: String,
    place: String,
}

impl Media for Encoded {
    fn uri(&self) -> Result<String, RequestError> {
        let encoded =
            encoded(&self.path).map_err(|why| RequestError::new(ErrorKind::Encode, why))?;
        Ok(self.template.replace(&self.place, &encoded))
    }
}

fn encoded(path: &Path) -> Result<String, String> {
    let file = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(STANDARD.encode(file))
}
