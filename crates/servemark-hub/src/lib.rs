//! Models, their tokenizers and data sets by name: downloaded once, then read from a cache.
//!
//! [`Hub`] turns a name into the path of a file or folder on this machine. It shares the cache of
//! the hub's Python tools in both directions. Interrupted downloads are continued and the results
//! are compared with the hub's checksums; two processes never write the same file.
//!
//! This crate knows which files belong to models and data sets, but not what they contain, and uses
//! HTTP through [`servemark_client`]. It does not read the environment: the caller passes
//! [`HubSettings`].
//!
//! ```no_run
//! use servemark_core::{MonotonicClock, NoProgress};
//! use servemark_hub::{DatasetSource, Hub, HubSettings, ModelPart};
//!
//! # async fn example() -> Result<(), servemark_hub::HubError> {
//! let settings = HubSettings::from_variables(|name| (name == "HOME").then(|| "/home/me".into()));
//! let hub = Hub::new(&settings, MonotonicClock::start(), &NoProgress);
//! let folder = hub.model("Qwen/Qwen2.5-7B-Instruct", ModelPart::Tokenizer).await?.path;
//! if let Some(source) = DatasetSource::of("sharegpt") {
//!     let file = hub.dataset(&source).await?.path;
//! }
//! # Ok(())
//! # }
//! ```

mod cache;
mod checksum;
mod download;
mod error;
mod hub;
mod hub_request;
mod huggingface;
mod model_part;
mod modelscope;
mod settings;
mod sources;
mod table;
mod tokenizer_files;
mod url;
mod web;

pub use error::HubError;
pub use hub::{FoundFile, Hub};
pub use huggingface::listed_files;
pub use model_part::ModelPart;
pub use settings::HubSettings;
pub use sources::DatasetSource;
