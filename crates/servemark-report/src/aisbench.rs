//! AISBench's two tables and the files of its performance mode.
//!
//! Tables, CSV and JSON are AISBench's to the letter. What a reader must not miss is said in lines of
//! its own beside them; what was observed of a request is in the details, time by time, where
//! AISBench has a reference into a database.

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
