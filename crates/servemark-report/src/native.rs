//! Our own table and document.

mod document;
mod table;

pub use document::NativeJson;
pub use table::NativeTable;
