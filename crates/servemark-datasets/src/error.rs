//! What can be wrong with a data set's settings before anything is drawn.

use thiserror::Error;

/// Why settings describe no data set.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// Nobody knows this name.
    #[error("there is no data set {name:?}; known are {known}")]
    UnknownName {
        /// What was asked for.
        name: String,
        /// Every name of the peer.
        known: String,
    },
    /// Lengths would not lie between nothing and the whole.
    #[error("a range ratio must lie in 0 to 1, not {0}; 1 makes every length the same")]
    RangeRatio(f64),
    /// Lengths would be negative, or nothing would lie below them.
    #[error("a range ratio must be 0 or more and below 1, not {0}; 0 makes every length the same")]
    Spread(f64),
    /// A part would be less than nothing or more than the whole.
    #[error("a share must lie in 0 to 1, not {0}")]
    Share(f64),
    /// No distribution has this exponent.
    #[error("a Zipf exponent must be a finite number above 0, not {0}")]
    ZipfAlpha(f64),
    /// Pictures have no such size; in SGLang's words.
    #[error(
        "Unsupported image resolution: {0}. Choose from 4k, 1080p, 720p, 360p, or provide custom \
         'heightxwidth' (e.g., 1080x1920)."
    )]
    Resolution(String),
    /// Sizes to draw from need two bounds.
    #[error(
        "Random image resolution must be 'random:<min_h>x<min_w>-<max_h>x<max_w>', for example \
         'random:256x256-1024x1024'."
    )]
    ResolutionBounds,
    /// The bounds are in the wrong order.
    #[error("Random image resolution minimum cannot exceed maximum.")]
    ResolutionOrder,
    /// Nothing draws such pictures.
    #[error("there are no {0:?} pictures; known are random and blank")]
    ImageContent(String),
    /// Nothing encodes pictures like that.
    #[error("pictures are not encoded as {0:?}; known are jpeg and png")]
    ImageFormat(String),
    /// SGLang refuses so short an output.
    #[error("a fixed output of {0} tokens is too small; ask for 4 or more")]
    OutputTooSmall(u32),
}
