//! vLLM 0.33.0's console table and result files.
//!
//! The table is its own label for label, the result key for key. What a reader must not miss is
//! added under names that it does not have: numbers by our own definitions beside its own, and what
//! its server says of the prefix cache. Where Python would write a number that is no JSON, there is
//! null.

mod families;
mod file_name;
mod lists;
mod local_time;
mod options;
mod own;
mod pytorch;
mod ramp;
mod result;
mod table;

pub use file_name::vllm_file_name;
pub use options::{VllmMetric, VllmOptions};
pub use pytorch::vllm_pytorch_records;
pub use result::{VllmDetails, VllmResult};
pub use table::VllmTable;
