//! Errors in a data set's settings, found before anything is drawn.

use thiserror::Error;

/// Error in the settings of a data set.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SpecError {
    /// The data set name is unknown.
    #[error("there is no data set {name:?}; known data sets: {known}")]
    UnknownName {
        /// The unknown name.
        name: String,
        /// All names that the peer accepts, comma-separated.
        known: String,
    },
    /// The range ratio is outside 0 to 1.
    #[error("a range ratio must lie in 0 to 1, not {0}; 1 makes every length the same")]
    RangeRatio(f64),
    /// The range ratio of a symmetric spread is negative, or 1 or more.
    #[error("a range ratio must be 0 or more and below 1, not {0}; 0 makes every length the same")]
    Spread(f64),
    /// A share is outside 0 to 1.
    #[error("a share must lie in 0 to 1, not {0}")]
    Share(f64),
    /// The Zipf exponent is not a finite number above 0.
    #[error("a Zipf exponent must be a finite number above 0, not {0}")]
    ZipfAlpha(f64),
    /// The image resolution is unknown; the message is SGLang's.
    #[error(
        "Unsupported image resolution: {0}. Choose from 4k, 1080p, 720p, 360p, or provide custom \
         'heightxwidth' (e.g., 1080x1920)."
    )]
    Resolution(String),
    /// The random image resolution lacks its two bounds.
    #[error(
        "Random image resolution must be 'random:<min_h>x<min_w>-<max_h>x<max_w>', for example \
         'random:256x256-1024x1024'."
    )]
    ResolutionBounds,
    /// The minimum of the random image resolution exceeds its maximum.
    #[error("Random image resolution minimum cannot exceed maximum.")]
    ResolutionOrder,
    /// The image content is unknown.
    #[error("unknown image content {0:?}; known are random and blank")]
    ImageContent(String),
    /// The image format is unknown.
    #[error("unknown image format {0:?}; known are jpeg and png")]
    ImageFormat(String),
    /// The fixed output length is below SGLang's minimum of 4 tokens.
    #[error("a fixed output of {0} tokens is too small; ask for 4 or more")]
    OutputTooSmall(u32),
}
