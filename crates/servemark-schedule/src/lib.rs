//! Arrival processes turned into absolute schedules.
//!
//! An [`ArrivalSpec`] says how requests arrive; [`ArrivalSpec::schedule`] draws when each of them
//! is due, or takes it from a trace, before the run begins. Offsets are absolute, so a late request never delays the next
//! one and errors do not add up.
//!
//! This crate reads no clock and waits for nothing: it knows offsets from a start, and the runner
//! knows when that is.
//!
//! ```
//! use servemark_rng::RandomState;
//! use servemark_schedule::ArrivalSpec;
//!
//! let arrivals = ArrivalSpec::at_rate(10.0)?;
//! let schedule = arrivals.schedule(&[None; 100], &mut RandomState::seeded(42))?;
//! assert!(schedule.iter().is_sorted());
//! # Ok::<(), servemark_schedule::ScheduleError>(())
//! ```

mod adapters;
mod arrivals;
mod error;
mod gamma;
mod rate;
mod schedule;
mod slowdown;

pub use adapters::{AdapterChoice, AdapterChooser, AdapterSpec};
pub use arrivals::ArrivalSpec;
pub use error::ScheduleError;
pub use gamma::{Burstiness, Growth, Ramp};
pub use rate::Rate;
pub use schedule::Schedule;
pub use slowdown::Slowdown;
