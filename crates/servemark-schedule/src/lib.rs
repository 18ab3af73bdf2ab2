//! Turns arrival processes into absolute schedules.
//!
//! An [`ArrivalSpec`] describes how requests arrive. [`ArrivalSpec::schedule`] draws when each of
//! them is due, or takes the times from a trace, before the run begins. Offsets are absolute, so a
//! late request never delays the next one and errors do not add up.
//!
//! The crate reads no clock and never waits: it only computes offsets from a start, which the
//! runner sets.
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
pub use gamma::{Burstiness, Ramp, RampShape};
pub use rate::Rate;
pub use schedule::Schedule;
pub use slowdown::Slowdown;
