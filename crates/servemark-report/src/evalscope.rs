//! evalscope's tables, files and page, in the formats of three of its versions.

#[cfg(feature = "sqlite")]
mod database;
mod drawings;
mod field;
mod files;
mod heading;
mod mean;
mod newest;
mod number_format;
mod numbers;
mod older;
mod page;
mod percentiles;
mod points;
mod rates;
mod run;
mod speeds;
mod style;
mod summary;
mod sweep;
mod tables;

#[cfg(feature = "sqlite")]
pub use self::database::{EvalscopeDatabaseError, save_evalscope_database};
pub use self::files::EvalscopeSummary;
pub use self::rates::EvalscopeRates;
pub use self::run::EvalscopeRun;
pub use self::style::{EvalscopeOptions, EvalscopeStyle};
pub use self::sweep::{EvalscopeSubject, EvalscopeSweep};
pub use self::tables::EvalscopeTable;
