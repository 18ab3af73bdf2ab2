//! Measures the error of the client's figures and the cost of taking them.
//!
//! The ground-truth server runs as a process of its own on another core. The load comes from the
//! client's own building blocks, from a bare reader that is the lower bound for any client on this
//! machine, and from whole programs: Servemark's and, where installed, its peers'. A [`Study`]
//! contains all runs of all of them.
//!
//! This module knows no command line but its own and prints nothing.

mod bare;
mod client;
mod document;
mod exchanges;
mod experiment;
mod figures;
mod hog;
mod ks;
mod load;
mod machine;
mod noise;
mod open_loop;
mod options;
mod plots;
pub(crate) mod proc;
mod program;
mod reader;
mod server;
mod start_up;
mod study;
mod table;
mod test_bed;

pub use document::document;
pub use exchanges::{Exchange, ExchangeFigures, ExchangeLoad};
pub use figures::{Comparison, StreamFigures};
pub use hog::hog;
pub use ks::KolmogorovSmirnov;
pub use load::{Start, StreamLoad};
pub use machine::{Cores, Machine};
pub use noise::Noise;
pub use open_loop::{OpenFigures, OpenLoad};
pub use options::Options;
pub use plots::draw;
pub use program::{Installed, Program, ProgramPaths};
pub use reader::Reader;
pub(crate) use server::Server;
pub use server::serve;
pub use start_up::{StartUp, StartUpFigures};
pub use study::{Case, Run, Study, measure};
pub use table::{Style, write_plan, write_report};
