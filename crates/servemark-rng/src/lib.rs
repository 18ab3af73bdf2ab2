//! `CPython`'s `random` and `NumPy`'s generators, draw for draw.
//!
//! The Python benchmarking clients draw their workloads from these generators, so a workload can
//! only be reproduced by making the same draws in the same order. Every method consumes exactly the
//! words that its Python original consumes, and rounds as it does.
//!
//! The crate knows no workloads and no distributions that those clients do not draw from, and it
//! never takes entropy from the machine: every generator starts from a seed. Where Python would
//! raise, for an empty range or an empty population, a method returns `None` and draws nothing.
//!
//! Logarithms and powers come from the platform's C library, as `NumPy`'s do; `exponential`,
//! `gamma` and `normal` are bit-exact where both are linked to the same one.

mod interval;
mod leap;
mod mt19937;
mod numpy;
mod pcg64;
mod python;
mod seed_sequence;
mod state;
mod string_hash;
mod weights;

pub use crate::leap::Leap;
pub use crate::mt19937::Mt19937;
pub use crate::numpy::NumpyRandom;
pub use crate::pcg64::Pcg64;
pub use crate::python::PythonRandom;
pub use crate::seed_sequence::SeedSequence;
pub use crate::state::RandomState;
pub use crate::string_hash::string_hash;
