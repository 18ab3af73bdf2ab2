//! Writes the result files of the peers' clients.

mod aisbench;
mod evalscope;
mod vllm;

pub use self::aisbench::AisbenchSaved;
pub use self::vllm::VllmSaved;
pub(crate) use self::vllm::append_vllm;
