//! What a prompt shows and lets hear.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::RequestError;

/// Something large that a request carries besides its text, described by what makes it.
///
/// It is rendered when the request is prepared and forgotten when it is sent, so that a run of ten
/// thousand pictures never holds them all.
pub trait Media: fmt::Debug + Send + Sync {
    /// The whole of it as a `data:` URI, or as a link that the server follows.
    fn uri(&self) -> Result<String, RequestError>;
}

/// A link, or a `data:` URI that is there already.
impl Media for String {
    fn uri(&self) -> Result<String, RequestError> {
        Ok(self.clone())
    }
}

/// A picture or a video; clones share what makes it.
#[derive(Clone, Debug)]
pub struct Medium {
    kind: MediumKind,
    media: Arc<dyn Media>,
}

/// What is shown. Closed: it moves or it does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MediumKind {
    /// A picture.
    Image,
    /// A video.
    Video,
}

impl Medium {
    /// A picture that `media` makes.
    pub fn image(media: impl Media + 'static) -> Self {
        Self { kind: MediumKind::Image, media: Arc::new(media) }
    }

    /// A video that `media` makes.
    pub fn video(media: impl Media + 'static) -> Self {
        Self { kind: MediumKind::Video, media: Arc::new(media) }
    }

    /// What it is.
    pub fn kind(&self) -> MediumKind {
        self.kind
    }

    /// The whole of it as a `data:` URI, or as a link that the server follows.
    pub fn uri(&self) -> Result<String, RequestError> {
        self.media.uri()
    }
}

/// Two media are equal if they are made by the same thing.
impl PartialEq for Medium {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.media, &other.media)
    }
}

impl MediumKind {
    /// The name as it is written: `image` or `video`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Video => "video",
        }
    }
}

/// A recording that a request lets hear, described by what makes it.
pub trait Sound: fmt::Debug + Send + Sync {
    /// The recording as a file. Rendered when its request is prepared, as [`Media`] are.
    fn file(&self) -> Result<SoundFile, RequestError>;

    /// How long it plays.
    fn duration(&self) -> Duration;
}

/// A recording as a file.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SoundFile {
    /// Its name, without folders.
    pub name: String,
    /// Its media type, such as `audio/wav`.
    pub media_type: &'static str,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl SoundFile {
    /// A file of its parts.
    pub fn new(name: impl Into<String>, media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), media_type, bytes }
    }
}

/// A recording; clones share what makes it.
#[derive(Clone, Debug)]
pub struct Audio(Arc<dyn Sound>);

impl Audio {
    /// A recording that `sound` makes.
    pub fn new(sound: impl Sound + 'static) -> Self {
        Self(Arc::new(sound))
    }

    /// The recording as a file.
    pub fn file(&self) -> Result<SoundFile, RequestError> {
        self.0.file()
    }

    /// How long it plays.
    pub fn duration(&self) -> Duration {
        self.0.duration()
    }
}

/// Two recordings are equal if they are made by the same thing.
impl PartialEq for Audio {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
