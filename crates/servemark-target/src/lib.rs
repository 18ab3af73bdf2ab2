//! The server that is measured, as plain values: its address and how it is reached, or the settings
//! of the simulator.
//!
//! A plan contains these values. The crates that act on them are `servemark-client` and
//! `servemark-mock`, which this crate does not need.
//!
//! ```
//! use servemark_target::{BaseUrl, TargetSpec};
//!
//! let spec = TargetSpec::new(BaseUrl::at_host("::1", 30000)?);
//! assert_eq!(spec.base_url.to_string(), "http://[::1]:30000");
//! assert!(spec.reuse.keep_alive);
//! # Ok::<(), servemark_target::BaseUrlError>(())
//! ```

mod answer_limits;
mod base_url;
mod metrics_url;
mod mock_spec;
mod opening;
mod reuse;
mod target_spec;
mod timeouts;

pub use answer_limits::AnswerLimits;
pub use base_url::{BaseUrl, BaseUrlError};
pub use metrics_url::{MetricsUrl, MetricsUrlError};
pub use mock_spec::{
    ErrorShape, Fault, FaultKind, ImitatedEngine, MockSpec, MockSpecError, ReportedTimes,
    parse_duration,
};
pub use opening::OpeningSpec;
pub use reuse::ReuseSpec;
pub use target_spec::{Http1Stack, HttpVersion, NotPrecise, TargetSpec};
pub use timeouts::Timeouts;
