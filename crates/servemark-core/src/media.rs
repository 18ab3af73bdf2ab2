//! Pictures that a prompt shows.

use std::fmt;
use std::sync::Arc;

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

/// A picture; clones share what makes it.
#[derive(Clone, Debug)]
pub struct Image(Arc<dyn Media>);

impl Image {
    /// A picture that `media` makes.
    pub fn new(media: impl Media + 'static) -> Self {
        Self(Arc::new(media))
    }

    /// The picture as a `data:` URI, or as a link that the server follows.
    pub fn uri(&self) -> Result<String, RequestError> {
        self.0.uri()
    }
}

/// Two pictures are equal if they are made by the same thing.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
