//! AISBench's two tables and the files of its performance mode.
//!
//! Tables, CSV and JSON match AISBench's output exactly. Notes and warnings for the reader stand on
//! separate lines beside them. The details file contains the time points of every request directly,
//! where AISBench stores a reference into a database.

mod details;
mod failures;
mod files;
mod life;
mod options;
mod part;
mod rows;
mod rps;
mod speculation;
mod table;

pub use details::{AisbenchDetails, AisbenchFailed, AisbenchInputs};
pub use failures::AisbenchFailures;
pub use files::{AisbenchCsv, AisbenchJson};
pub use life::AisbenchTimeline;
pub use options::{AisbenchOptions, PrefillRow};
pub use part::AisbenchPart;
pub use rps::{AisbenchRps, RateTarget};
pub use speculation::{AisbenchSpeculation, AisbenchSpeculationJson};
pub use table::AisbenchTable;
