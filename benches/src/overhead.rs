//! How far the client's numbers are from the truth, and what taking them costs.
//!
//! A [`Load`] is put on the ground-truth server, which runs as a process of its own on another
//! core, once by the client's own building blocks and once by a bare reader that is the floor of
//! what any client can do here. [`Figures`] are what came of one such run; a [`Study`] is all runs
//! of all loads.
//!
//! This module knows no command line and prints nothing.

mod bare;
mod client;
mod figures;
mod load;
mod machine;
mod options;
mod server;
mod study;
mod table;

pub use figures::{Comparison, Figures, Seen};
pub use load::{Load, Start};
pub use machine::{Cores, Machine};
pub use options::Options;
pub use server::{Account, Server, serve};
pub use study::{Case, Reader, Study, measure};
pub use table::{Style, write_report};
