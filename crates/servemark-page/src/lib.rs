//! Self-contained HTML pages: one design for a run, a comparison, a sweep and repeated runs.
//!
//! A page is a function of scores and logs: equal input gives equal bytes. It asks no network for
//! anything, and its own security policy forbids that, as well as every script but the page's own.
//! Only the page that is served while its run goes on asks its server for the next page.
//! Text from servers is escaped wherever it enters a page. This crate knows neither terminals nor
//! files.

mod compared;
mod format;
mod frame;
mod glossary;
mod html;
mod live;
mod notice;
mod number;
mod pack;
mod plot;
mod run;
mod series;
mod sweep;
mod trace;

pub use compared::ComparisonPage;
pub use format::GridFormat;
pub use live::Served;
pub use notice::write_notice;
pub use run::RunPage;
pub use series::{SeriesLayer, SeriesPanel};
pub use sweep::{RepeatsPage, write_search, write_sweep};
pub use trace::RunTrace;
