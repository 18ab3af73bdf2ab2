//! Pictures, videos and audio attached to a prompt.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{JsonObject, RequestError};

/// Media that a request carries besides its text, described by what renders it.
///
/// It is rendered when the request is prepared and dropped when the request is sent, so a run of
/// ten thousand pictures never holds all of them in memory.
///
/// ```
/// use servemark_core::{Medium, MediumKind, Sample};
///
/// let mut sample = Sample::new("What does it show?", 5, 32);
/// sample.media.push(Medium::image("https://example.com/cat.png".to_owned()));
/// assert_eq!(sample.media[0].kind(), MediumKind::Image);
/// assert_eq!(sample.media[0].uri()?, "https://example.com/cat.png");
/// # Ok::<(), servemark_core::RequestError>(())
/// ```
pub trait Media: fmt::Debug + Send + Sync {
    /// Returns the whole medium as a `data:` URI, or a link for the server to fetch.
    fn uri(&self) -> Result<String, RequestError>;
}

/// A link, or a finished `data:` URI.
impl Media for String {
    fn uri(&self) -> Result<String, RequestError> {
        Ok(self.clone())
    }
}

/// A picture or a video; clones share what renders it.
#[derive(Clone, Debug)]
pub struct Medium {
    kind: MediumKind,
    media: Arc<dyn Media>,
}

/// The kind of a medium. Closed: a picture or a video.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MediumKind {
    /// A picture.
    Image,
    /// A video.
    Video,
}

impl Medium {
    /// Creates a picture that `media` renders.
    pub fn image(media: impl Media + 'static) -> Self {
        Self { kind: MediumKind::Image, media: Arc::new(media) }
    }

    /// Creates a video that `media` renders.
    pub fn video(media: impl Media + 'static) -> Self {
        Self { kind: MediumKind::Video, media: Arc::new(media) }
    }

    /// Returns whether it is a picture or a video.
    pub fn kind(&self) -> MediumKind {
        self.kind
    }

    /// Returns the whole medium as a `data:` URI, or a link for the server to fetch.
    pub fn uri(&self) -> Result<String, RequestError> {
        self.media.uri()
    }
}

/// Two media are equal if they share what renders them.
impl PartialEq for Medium {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.media, &other.media)
    }
}

impl MediumKind {
    /// Returns the name as it is written: `image` or `video`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Video => "video",
        }
    }
}

/// Audio attached to a prompt, described by what renders it.
///
/// ```
/// use std::time::Duration;
///
/// use servemark_core::{Audio, AudioSource, RequestError, Sample, SoundFile};
///
/// /// A recording in memory.
/// #[derive(Debug)]
/// struct Recording(Vec<u8>);
///
/// impl AudioSource for Recording {
///     fn file(&self) -> Result<SoundFile, RequestError> {
///         Ok(SoundFile::new("hello.wav", "audio/wav", self.0.clone()))
///     }
///
///     fn duration(&self) -> Duration {
///         Duration::from_secs(2)
///     }
/// }
///
/// let sample = Sample::new("", 0, 64).with_audio(Audio::new(Recording(vec![0; 4])));
/// assert_eq!(sample.audio_ns, 2_000_000_000);
/// ```
pub trait AudioSource: fmt::Debug + Send + Sync {
    /// Returns the audio as a file. It is rendered when its request is prepared, as [`Media`] are.
    fn file(&self) -> Result<SoundFile, RequestError>;

    /// Returns the playing time.
    fn duration(&self) -> Duration;

    /// Returns the part of a chat message that holds the audio in a form other than an encoded
    /// file; `None`, which is the default, if the encoded file is sent.
    fn chat_part(&self) -> Result<Option<JsonObject>, RequestError> {
        Ok(None)
    }
}

/// Audio as a file.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SoundFile {
    /// File name without folders.
    pub name: String,
    /// Media type, such as `audio/wav`.
    pub media_type: &'static str,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

impl SoundFile {
    /// Creates a file from its parts.
    pub fn new(name: impl Into<String>, media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), media_type, bytes }
    }
}

/// Audio attached to a prompt; clones share what renders it.
#[derive(Clone, Debug)]
pub struct Audio(Arc<dyn AudioSource>);

impl Audio {
    /// Creates audio that `sound` renders.
    pub fn new(sound: impl AudioSource + 'static) -> Self {
        Self(Arc::new(sound))
    }

    /// Returns the audio as a file.
    pub fn file(&self) -> Result<SoundFile, RequestError> {
        self.0.file()
    }

    /// Returns the playing time.
    pub fn duration(&self) -> Duration {
        self.0.duration()
    }

    /// Returns the part of a chat message that holds the audio, if it is not an encoded file.
    pub fn chat_part(&self) -> Result<Option<JsonObject>, RequestError> {
        self.0.chat_part()
    }
}

/// Compares identities: clones of one value are equal, and two values from separate calls of
/// [`Audio::new`] are not.
impl PartialEq for Audio {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
