//! evalscope's tables, files and page, in the words of three of its versions.

mod field;
mod files;
mod newest;
mod numbers;
mod older;
mod percentiles;
mod run;
mod shown;
mod speeds;
mod style;
mod sweep;
mod tables;

pub use self::files::EvalscopeSummary;
pub use self::run::EvalscopeRun;
pub use self::style::{EvalscopeOptions, EvalscopeStyle};
pub use self::sweep::{EvalscopeSubject, EvalscopeSweep};
pub use self::tables::EvalscopeTable;
